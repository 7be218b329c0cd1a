using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Host;

/// <summary>kv-server --health [--ready] [--host name] [options]: asks a running server how it is, for HEALTHCHECK
/// of containers and the like.</summary>
/// <remarks>
/// The options are those of the server (port, tls-port, unixsocket, requirepass; from a file or the environment, too),
/// so that the same ones find it. TLS is spoken where there is nothing else: the server's certificate, which is not
/// judged, as the server asks itself, is also what is shown to it. Alive is who replies to PING, be it that a password
/// or a right is missing or data is loaded; ready is who has loaded its data and runs commands.
/// </remarks>
internal sealed class HealthProbe(ServerOptions options, string? host, bool mustBeReady)
{
    private const int TimeoutMs = 5000;

    private const int ReplyBytesMax = 64 << 10;

    /// <summary>Takes the probe's own words out of the arguments.</summary>
    /// <returns>The other arguments; null when no probe is asked for.</returns>
    public static List<string>? OptionsOf(string[] args, out string? host, out bool mustBeReady)
    {
        host = null;
        mustBeReady = false;
        if (!args.Contains("--health")) return null;
        var rest = new List<string>();
        for (int i = 0; i < args.Length; i++)
        {
            if (args[i] == "--ready") mustBeReady = true;
            else if (args[i] == "--host" && i + 1 < args.Length) host = args[++i];
            else if (args[i] != "--health") rest.Add(args[i]);
        }

        return rest;
    }

    private bool IsUnix => options.Port == 0 && options.UnixSocket.Length > 0;

    private bool IsTls => options.Port == 0 && !IsUnix && options.Tls.Port > 0;

    private int Port => IsTls ? options.Tls.Port : options.Port;

    /// <returns>The exit code: 0 for well, 1 for not. One line says why.</returns>
    public int Run()
    {
        string where = IsUnix ? options.UnixSocket : $"{host ?? DefaultHost()}:{Port}";
        string? reason;
        try
        {
            using var timeout = new CancellationTokenSource(TimeoutMs);
            reason = WhyNotAsync(timeout.Token).GetAwaiter().GetResult();
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException or IOException
            or AuthenticationException)
        {
            reason = exception is OperationCanceledException ? $"no reply within {TimeoutMs} ms" : exception.Message;
        }

        if (reason == null) Console.Out.WriteLine($"{where}: {(mustBeReady ? "ready" : "alive")}");
        else Console.Error.WriteLine($"{where}: {reason}");
        return reason == null ? 0 : 1;
    }

    private async Task<string?> WhyNotAsync(CancellationToken cancellation)
    {
        using var stream = await OpenAsync(cancellation).ConfigureAwait(false);
        if (options.RequirePass.Length > 0)
        {
            string refusal = await AskAsync(stream, ["AUTH", options.RequirePass], cancellation).ConfigureAwait(false);
            // A server without a password says so, and is as well as one that takes ours.
            if (refusal.StartsWith("-WRONGPASS", StringComparison.Ordinal)) return "the password is wrong";
        }

        string reply = await AskAsync(stream, ["PING"], cancellation).ConfigureAwait(false);
        if (!mustBeReady) return IsAlive(reply) ? null : Said(reply);
        if (reply.StartsWith("-NOAUTH", StringComparison.Ordinal))
            return "alive, and asks for a password before it says whether it is ready (requirepass)";
        if (reply != "+PONG") return Said(reply);
        string info = await AskAsync(stream, ["INFO", "persistence"], cancellation).ConfigureAwait(false);
        return info.Contains("\nloading:0", StringComparison.Ordinal) ? null : "alive, and loads its data";
    }

    private static bool IsAlive(string reply) =>
        reply == "+PONG" || Array.Exists(
            (string[])["-NOAUTH ", "-NOPERM ", "-LOADING ", "-BUSY ", "-MISCONF ", "-MASTERDOWN "],
            start => reply.StartsWith(start, StringComparison.Ordinal));

    private static string Said(string reply) => $"it says {reply.TrimStart('-')}";

    /// <summary>Where a server with these options can be reached from here.</summary>
    private string DefaultHost()
    {
        foreach (string word in options.Bind)
        {
            string address = word.TrimStart('-');
            if (IPAddress.TryParse(address, out var parsed) && !parsed.Equals(IPAddress.Any)
                && !parsed.Equals(IPAddress.IPv6Any)) return address;
            if (address == "::*" || address == "::") return "::1";
        }

        return "127.0.0.1";
    }

    private async Task<Stream> OpenAsync(CancellationToken cancellation)
    {
        var stream = new NetworkStream(await ConnectAsync(cancellation).ConfigureAwait(false), ownsSocket: true);
        if (!IsTls) return stream;
        var tls = new SslStream(stream);
        try
        {
            var own = new SslClientAuthenticationOptions
            {
                TargetHost = host ?? DefaultHost(),
                RemoteCertificateValidationCallback = (_, _, _, _) => true,
            };
            if (options.Tls.AuthClients == TlsAuthClients.Yes)
                own.ClientCertificates = [OwnCertificate.Read(options.Tls)];
            await tls.AuthenticateAsClientAsync(own, cancellation).ConfigureAwait(false);
            return tls;
        }
        catch
        {
            await tls.DisposeAsync().ConfigureAwait(false);
            throw;
        }
    }

    private async Task<Socket> ConnectAsync(CancellationToken cancellation)
    {
        var socket = IsUnix ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (IsUnix)
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(options.UnixSocket), cancellation)
                    .ConfigureAwait(false);
            else await socket.ConnectAsync(host ?? DefaultHost(), Port, cancellation).ConfigureAwait(false);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Sends a command, and reads its reply: a line, or the text of a bulk string.</summary>
    private static async Task<string> AskAsync(Stream stream, string[] words, CancellationToken cancellation)
    {
        var command = new StringBuilder($"*{words.Length}\r\n");
        foreach (string word in words) command.Append($"${Encoding.UTF8.GetByteCount(word)}\r\n{word}\r\n");
        await stream.WriteAsync(Encoding.UTF8.GetBytes(command.ToString()), cancellation).ConfigureAwait(false);
        byte[] reply = new byte[ReplyBytesMax];
        int length = 0;
        while (length < reply.Length)
        {
            int count = await stream.ReadAsync(reply.AsMemory(length), cancellation).ConfigureAwait(false);
            if (count == 0) throw new IOException("it closed the connection");
            length += count;
            string text = Encoding.UTF8.GetString(reply, 0, length);
            int line = text.IndexOf("\r\n", StringComparison.Ordinal);
            if (line < 0) continue;
            if (text[0] != '$') return text[..line];
            if (int.TryParse(text.AsSpan(1, line - 1), out int bytes) && length >= line + 2 + bytes + 2)
                return "\n" + text[(line + 2)..];
        }

        throw new IOException("its reply has no end");
    }
}
