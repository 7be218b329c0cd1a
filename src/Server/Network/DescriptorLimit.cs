namespace Kv.Server.Network;

/// <summary>How many connections the process' limit of open files leaves room for.</summary>
internal static class DescriptorLimit
{
    /// <summary>Descriptors for everything that is no client: listeners, epolls, files, the runtime.</summary>
    private const int Reserved = 64;

    /// <summary>Clients that fit; the system does not change it under a running process.</summary>
    public static int ClientsMax { get; } = Read();

    private static unsafe int Read()
    {
        if (!OperatingSystem.IsLinux()) return int.MaxValue;
        ulong* limits = stackalloc ulong[2];
        if (Libc.getrlimit(Libc.RlimitNoFile, limits) != 0 || limits[0] > int.MaxValue) return int.MaxValue;
        return (int)Math.Max((long)limits[0] - Reserved, 1);
    }
}
