using System.Text;

namespace RespBenchmark.Network;

/// <summary>The requests that a connection to a target begins with, before its first measured one.</summary>
internal sealed class Handshake
{
    private readonly List<string[]> _requests = [];

    public Handshake(Target target)
    {
        if (target.Password is { } password)
            _requests.Add(target.User is { } user ? ["AUTH", user, password] : ["AUTH", password]);
        if (target.RespVersion == 3) _requests.Add(["HELLO", "3"]);
        if (target.Database != 0) _requests.Add(["SELECT", target.Database.ToString()]);
        if (target.Tracking) _requests.Add(["CLIENT", "TRACKING", "ON"]);
        Bytes = _requests.SelectMany(request => Encode(request)).ToArray();
    }

    /// <summary>All requests as they are sent, in one piece.</summary>
    public byte[] Bytes { get; }

    /// <summary>How many replies come back.</summary>
    public int Replies => _requests.Count;

    /// <summary>A request as an array of bulk strings.</summary>
    public static byte[] Encode(params ReadOnlySpan<string> arguments)
    {
        var bytes = new MemoryStream();
        bytes.Write(Encoding.ASCII.GetBytes($"*{arguments.Length}\r\n"));
        foreach (string argument in arguments)
        {
            byte[] text = Encoding.UTF8.GetBytes(argument);
            bytes.Write(Encoding.ASCII.GetBytes($"${text.Length}\r\n"));
            bytes.Write(text);
            bytes.Write("\r\n"u8);
        }

        return bytes.ToArray();
    }
}
