using System.Globalization;
using System.Net.Sockets;

namespace Kv.Host;

/// <summary>Sockets that listen already, which systemd hands over to whom it starts (socket activation).</summary>
internal static class InheritedSockets
{
    private const int FirstDescriptor = 3, CountMax = 64;

    /// <summary>The sockets that LISTEN_FDS counts, if LISTEN_PID is this process.</summary>
    /// <exception cref="IOException">It does not count sockets.</exception>
    public static IReadOnlyList<Socket> Take()
    {
        if (!OperatingSystem.IsLinux() || Number("LISTEN_PID") != Environment.ProcessId) return [];
        int count = Number("LISTEN_FDS") ?? throw Wrong("which is no number");
        if (count > CountMax) throw Wrong($"and at most {CountMax} sockets are taken");
        var sockets = new List<Socket>();
        for (int i = 0; i < count; i++)
        {
            int descriptor = FirstDescriptor + i;
            try
            {
                sockets.Add(new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)));
            }
            catch (SocketException exception)
            {
                throw Wrong($"but descriptor {descriptor} is no socket ({exception.Message})");
            }
        }

        return sockets;
    }

    private static IOException Wrong(string why) =>
        new($"LISTEN_FDS is '{Environment.GetEnvironmentVariable("LISTEN_FDS")}', {why}: it has to be the number of "
            + $"sockets that are handed over, from descriptor {FirstDescriptor} on. Unset it and LISTEN_PID to have "
            + "the server open its own");

    private static int? Number(string variable) => int.TryParse(Environment.GetEnvironmentVariable(variable),
        NumberStyles.None, CultureInfo.InvariantCulture, out int number) ? number : null;
}
