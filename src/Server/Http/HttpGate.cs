using System.Buffers.Text;
using System.Net;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Reports;
using Kv.Server.Users;

namespace Kv.Server.Http;

/// <summary>Decides who is shown the web page, and what is on it: a user who may call INFO sees what that user may ask
/// for by commands.</summary>
/// <remarks>
/// Who needs a password gives it in the head of the request (Basic). Where none is needed, a page of the web whose name
/// was made to lead to this machine could have a browser here read the page for it: so it is shown under names that
/// nobody else can own only.
/// Threads: any.
/// </remarks>
internal sealed class HttpGate(KvServer server)
{
    private const string Basic = "Basic ";

    private readonly Command _info = Find(server, "INFO"u8), _slowLog = Find(server, "SLOWLOG"u8, "GET"u8),
        _clients = Find(server, "CLIENT"u8, "LIST"u8), _options = Find(server, "CONFIG"u8, "GET"u8),
        _origins = Find(server, "CONFIG"u8, "EXPLAIN"u8);

    /// <summary>The command that shows the same figures, by whatever name.</summary>
    public Command Info => _info;

    /// <summary>Lets a caller in, or not.</summary>
    /// <param name="parts">What the caller may see.</param>
    /// <returns>Null, or the reply that refuses.</returns>
    public HttpAnswer? Admit(in HttpCaller caller, bool isHead, out StatusParts parts)
    {
        parts = default;
        var rules = caller.Rules;
        if (!caller.Head.IsWhole)
            return Refuse("400 Bad Request", "The lines of the request have to come at once.\n", isHead);
        if (caller.Head.Authorization.Length > 0)
        {
            rules = Authenticate(caller.Head.Authorization, out byte[] name);
            if (rules == null)
                return AskForPassword(isHead) with { DelayMs = server.AuthFailures.Add(caller.Address, name) };
            if (!rules.NeedsNoPassword) server.AuthFailures.Clear(caller.Address, name);
        }

        // A password that nobody asks for says nothing: a script may give one, too.
        bool hasSaid = caller.Head.Authorization.Length > 0 && rules is { NeedsNoPassword: false };
        if (rules == null || (!hasSaid && caller.Rules == null)) return AskForPassword(isHead);
        if (!hasSaid && !IsOwnName(caller.Head.Host))
            return Refuse("403 Forbidden", "Without a password this is shown to those who ask for localhost, for an "
                + "address or for the machine's own name only.\n", isHead);
        if (!rules.MayCall(_info)) return Refuse("403 Forbidden", "This user may not call INFO.\n", isHead);
        parts = new StatusParts(rules, rules.MayCall(_slowLog), rules.MayCall(_clients), rules.MayCall(_options),
            rules.MayCall(_origins));
        return null;
    }

    private static HttpAnswer AskForPassword(bool isHead) => Refuse("401 Unauthorized",
        "This is for users with a password who may call INFO.\n", isHead,
        "WWW-Authenticate: Basic realm=\"Kv\", charset=\"UTF-8\"");

    private static HttpAnswer Refuse(string status, string text, bool isHead, string header = "") =>
        new(HttpReply.Text(status, text, isHead, header));

    /// <summary>The user whose name and password a header has; null for a wrong one.</summary>
    /// <param name="name">Of the user; empty where there is none.</param>
    private UserRules? Authenticate(string header, out byte[] name)
    {
        name = [];
        if (!header.StartsWith(Basic, StringComparison.OrdinalIgnoreCase)) return null;
        byte[] bytes = Encoding.ASCII.GetBytes(header[Basic.Length..].Trim());
        if (!Base64.IsValid(bytes)) return null;
        byte[] said = new byte[Base64.GetMaxDecodedFromUtf8Length(bytes.Length)];
        Base64.DecodeFromUtf8(bytes, said, out _, out int length);
        int colon = said.AsSpan(0, length).IndexOf((byte)':');
        if (colon < 0) return null;
        name = colon == 0 ? "default"u8.ToArray() : said[..colon];
        return server.Users.Authenticate(name, said.AsSpan((colon + 1)..length))?.Rules;
    }

    /// <summary>Whether a name leads nowhere but to this machine, whoever it is that says so.</summary>
    private static bool IsOwnName(string host)
    {
        if (host.Length == 0) return true;      // no browser
        int colon = host.LastIndexOf(':');
        string name = colon > host.LastIndexOf(']') ? host[..colon] : host;
        return IPAddress.TryParse(name, out _) || name.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || name.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
            || name.Equals(Environment.MachineName, StringComparison.OrdinalIgnoreCase);
    }

    private static Command Find(KvServer server, ReadOnlySpan<byte> name, ReadOnlySpan<byte> subcommand = default)
    {
        var command = server.OwnCommands.Find(name)!;
        return subcommand.IsEmpty ? command : command.FindSubcommand(subcommand)!;
    }
}
