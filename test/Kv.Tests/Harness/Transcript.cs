using System.Globalization;
using System.Net.Sockets;

namespace Kv.Tests.Harness;

/// <summary>How a transcript's bytes go out.</summary>
public enum Framing
{
    Whole,
    ByteByByte,

    /// <summary>Everything of the transcript in one write, before the first reply is read.</summary>
    OneWrite,
}

/// <summary>A conversation that is a specification: what is sent, what must come back, on any RESP server.</summary>
/// <remarks>
/// <code>
/// > SET k "a b"          a command in redis-cli's quoting ("x"*1000 repeats)
/// &lt; +OK                  its reply, see ReplyPattern; an open bracket goes on in the next "&lt;" line
/// &lt;7.0 -ERR old text     in place of the line before, on a server that says it is older than 7.2
/// b> GET k               a connection of its own for each letter     b&lt; "a b"
/// b! close               ours is closed                              b&lt; close   the server has closed it
/// ~ "*1\r\n$4\r\nPI"     bytes as they are (b~ for connection b)
/// # resp2, # resp3       only in that protocol                       # redis>=7.2, # kv, # not kv   only there, from here on
/// # now resp3            the connection has switched: replies from here on are RESP3's
/// # anything else        a comment
/// </code>
/// Without a marker a transcript is run twice, in RESP2 and in RESP3, each time on an empty server.
/// </remarks>
public sealed class Transcript
{
    private readonly TestServer _server;
    private int _resp;
    private readonly Dictionary<char, RespClient> _clients = [];
    private readonly List<string> _log = [];

    private readonly Framing _framing;

    private Transcript(TestServer server, int resp, Framing framing) =>
        (_server, _resp, _framing) = (server, resp, framing);

    /// <summary>Runs a transcript against Kv, or the server of KV_TEST_SERVER.</summary>
    public static void Check(string text)
    {
        using var borrowed = SharedServers.Kv();
        Check(borrowed.Server, text);
    }

    public static void Check(TestServer server, string text)
    {
        for (int resp = 2; resp <= 3; resp++)
        {
            if (resp == 3) server.Clear();
            Run(server, text, resp);
        }
    }

    /// <summary>Runs it in one protocol; nothing to do when it is marked for the other.</summary>
    public static void Run(TestServer server, string text, int resp, Framing framing = Framing.Whole)
    {
        var lines = text.Split('\n').Select(line => line.Trim()).ToArray();
        if (lines.Contains(resp == 2 ? "# resp3" : "# resp2")) return;
        var run = new Transcript(server, resp, framing);
        try
        {
            run.Play(lines);
        }
        catch (Exception e) when (e is IOException or TimeoutException or FormatException)
        {
            run.Fail($"{e.GetType().Name}: {e.Message}");
        }
        finally
        {
            foreach (var client in run._clients.Values) client.Dispose();
        }
    }

    private void Play(string[] lines)
    {
        if (_framing == Framing.OneWrite) SendAll(lines);
        for (int i = 0; i < lines.Length; i++)
        {
            string line = lines[i];
            if (line.Length == 0) continue;
            _log.Add(line);
            if (line[0] == '#')
            {
                if (IsElsewhere(line)) return;
                continue;
            }

            char name = char.IsAsciiLetter(line[0]) ? line[0] : ' ';
            if (name != ' ') line = line[1..];
            char sign = line[0];
            line = line[1..].TrimStart();
            switch (sign)
            {
                case '>' or '~' when _framing == Framing.OneWrite: break;
                case '>': Send(Client(name), RespText.Encode(line)); break;
                case '~': SendRaw(Client(name), line); break;
                case '!': Close(name, line); break;
                case '<': Expect(name, Alternative(lines, ref i, WholeReply(lines, ref i, line))); break;
                default: throw new FormatException($"no line of a transcript begins so: {lines[i]}");
            }
        }

        CheckNothingIsLeft();
    }

    private bool IsElsewhere(string line)
    {
        string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (words.Length < 2) return false;
        if (words is ["#", "now", "resp3"]) _resp = 3;
        if (words[1].StartsWith("redis>=", StringComparison.Ordinal))
            return _server.RedisVersion < Version.Parse(words[1][7..]);
        if (words[1].StartsWith("redis<", StringComparison.Ordinal))
            return _server.RedisVersion >= Version.Parse(words[1][6..]);
        if (words is ["#", "kv"]) return !_server.IsKv;
        return words is ["#", "not", "kv"] && _server.IsKv;
    }

    private string WholeReply(string[] lines, ref int i, string reply)
    {
        while (ReplyPattern.IsOpen(reply) && i + 1 < lines.Length)
        {
            string next = lines[++i];
            int sign = next.IndexOf('<');
            _log.Add(next);
            reply += " " + next[(sign + 1)..].Trim();
        }

        return reply;
    }

    private string Alternative(string[] lines, ref int i, string reply)
    {
        if (i + 1 == lines.Length || !lines[i + 1].StartsWith("<7.0 ", StringComparison.Ordinal)) return reply;
        string older = WholeReply(lines, ref i, lines[++i][5..].Trim());
        return _server.RedisVersion < new Version(7, 2) ? older : reply;
    }

    private void Expect(char name, string expected)
    {
        if (expected == "close")
        {
            if (Client(name).TryRead() is { } unexpected) Fail($"expected the connection to close, got {unexpected}");
            Client(name).Dispose();
            _clients.Remove(name);
            return;
        }

        var reply = Client(name).TryRead();
        if (reply is null) Fail($"expected {expected}, but the server closed");
        else if (!ReplyPattern.Parse(expected).Matches(reply, _resp)) Fail($"expected {expected}\n     got {reply}");
    }

    /// <summary>A reply too many shows here: each connection's next reply must be that of an ECHO.</summary>
    private void CheckNothingIsLeft()
    {
        foreach (var (name, client) in _clients)
        {
            if (client.HasInput)
                Fail($"connection '{name}' had a reply too many: {client.TryRead()?.ToString() ?? "close"}");
        }
    }

    private RespClient Client(char name)
    {
        if (_clients.TryGetValue(name, out var client)) return client;
        return _clients[name] = _server.Connect(_resp);
    }

    private void SendAll(string[] lines)
    {
        var wire = new MemoryStream();
        foreach (string line in lines)
        {
            if (line.StartsWith('>')) wire.Write(RespText.Encode(line[1..].TrimStart()));
            else if (line.StartsWith('~')) wire.Write(RespText.Split(line[1..].TrimStart())[0]);
        }

        Send(Client(' '), wire.ToArray());
    }

    private void SendRaw(RespClient client, string line)
    {
        foreach (byte[] bytes in RespText.Split(line)) Send(client, bytes);
    }

    private void Send(RespClient client, byte[] bytes)
    {
        // A long value byte by byte shows nothing that its first kilobytes do not.
        int step = _framing != Framing.ByteByByte ? bytes.Length : bytes.Length > 2000 ? 997 : 1;
        try
        {
            for (int at = 0; at < bytes.Length; at += step)
                client.Send(bytes.AsSpan(at, Math.Min(step, bytes.Length - at)));
        }
        catch (SocketException)
        {
            // The server refused what came first and closed: its reply is there to be read.
        }
    }

    private void Close(char name, string line)
    {
        if (line != "close") throw new FormatException($"a connection can only close, not {line}");
        Client(name).Dispose();
        _clients.Remove(name);
    }

    private void Fail(string message) => Assert.Fail(string.Create(CultureInfo.InvariantCulture,
        $"{_server.Name}, RESP{_resp}: {message}\n  {string.Join("\n  ", _log.TakeLast(40))}"));
}
