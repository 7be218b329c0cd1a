using System.Globalization;
using System.Net.Sockets;

namespace Kv.Host;

/// <summary>Sockets that listen already, which systemd hands over to whom it starts (socket activation).</summary>
internal static class InheritedSockets
{
    private const int FirstDescriptor = 3, CountMax = 64;

    /// <summary>The sockets that LISTEN_FDS counts, if LISTEN_PID is this process.</summary>
    /// <exception cref="SocketException">A descriptor is no socket.</exception>
    public static IReadOnlyList<Socket> Take()
    {
        if (!OperatingSystem.IsLinux() || Number("LISTEN_PID") != Environment.ProcessId) return [];
        var sockets = new List<Socket>();
        int count = Math.Min(Number("LISTEN_FDS"), CountMax);
        for (int i = 0; i < count; i++)
            sockets.Add(new Socket(new SafeSocketHandle(FirstDescriptor + i, ownsHandle: true)));
        return sockets;
    }

    private static int Number(string variable) => int.TryParse(Environment.GetEnvironmentVariable(variable),
        NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : 0;
}
