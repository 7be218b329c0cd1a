using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Users;

/// <summary>The users of a server, by name.</summary>
/// <remarks>
/// Threads: any. Changes are made under a lock and replace whole snapshots (<see cref="UserRules"/>); who checks a
/// command reads one without it. A session sees that something has changed by <see cref="Version"/>, at the top of its
/// turn.
/// </remarks>
internal sealed class UserTable
{
    public const string DefaultName = "default";

    /// <summary>The longest name: each denial and failed login keeps one, and each line of CLIENT LIST shows
    /// one.</summary>
    public const int NameBytesMax = 1024;

    private readonly KvServer _server;
    private readonly CommandTable _commands;
    private readonly Lock _guard = new();
    private readonly Dictionary<string, User> _users = new(StringComparer.Ordinal);
    private readonly UserRules _noRights;
    private int _version = 1;

    /// <param name="commands">By the names that rules have for them.</param>
    public UserTable(KvServer server, CommandTable commands)
    {
        _server = server;
        _commands = commands;
        _noRights = Build(["off", "resetchannels"]);
        Default = new User(DefaultName, Build(["on", "nopass", "allkeys", "allchannels", "allcommands"]));
    }

    /// <summary>The user of clients that have not said who they are.</summary>
    public User Default { get; }

    /// <summary>Another number after each change of a user.</summary>
    // Volatile: written after the rules, so whoever reads the new number reads the new rules.
    public int Version => Volatile.Read(ref _version);

    private bool HasAllChannels => _server.Options.AclPubSubDefault == ChannelDefault.AllChannels;

    /// <summary>The users, in the order of their names.</summary>
    public User[] All
    {
        get
        {
            lock (_guard) return [.. _users.Values.OrderBy(user => user.Name, StringComparer.Ordinal)];
        }
    }

    /// <summary>Bytes as a text that has a char for each of them.</summary>
    public static string Decode(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    /// <summary>A name that a client has given, cut to the longest that there can be.</summary>
    public static string DecodeName(ReadOnlySpan<byte> name) => Decode(name[..Math.Min(name.Length, NameBytesMax)]);

    /// <summary>What stands in a configuration, in the form in which rules are read.</summary>
    public static string FromOption(string text) => Decode(Encoding.UTF8.GetBytes(text));

    /// <summary>Reads users as they are configured, at the start of the server.</summary>
    /// <returns>Null, or what is wrong.</returns>
    public string? Begin()
    {
        var options = _server.Options;
        var lines = options.Users;
        _users.Add(DefaultName, Default);
        FollowPassword(options);
        if (options.AclFile.Length == 0)
        {
            string? error = TakeLines(lines);
            FillOptions();      // which have no passwords from now on, but their hashes
            return error;
        }

        return lines.Count == 0 ? LoadFile()
            : "Users are defined both in the configuration and, by aclfile, in a file of their own: use one of them";
    }

    public User? Find(string name)
    {
        lock (_guard) return _users.GetValueOrDefault(name);
    }

    /// <summary>Makes or changes a user: all rules, or none and the reason.</summary>
    /// <param name="words">The rules as they were given; those in parentheses may be several words.</param>
    /// <param name="client">Who asks, and is to get the reply even if it is closed; null at the start.</param>
    public string? Set(string name, IReadOnlyList<string> words, Session? client = null)
    {
        if (name.Length == 0) return "ERR Usernames can't be empty";
        if (!IsName(name)) return "ERR Usernames can't contain spaces or null characters";
        if (name.Length > NameBytesMax)
            return string.Create(CultureInfo.InvariantCulture,
                $"ERR Usernames can't be longer than {NameBytesMax} bytes");
        if (UserBuilder.Join(words, out string unmatched) is not { } rules)
            return $"ERR Unmatched parenthesis in acl selector starting at '{Shown(unmatched)}'.";
        User changed;
        lock (_guard)
        {
            var old = _users.GetValueOrDefault(name);
            var builder = old == null ? new UserBuilder(_commands, HasAllChannels)
                : new UserBuilder(_commands, HasAllChannels, old.Rules);
            if (!builder.TryApply(rules, out string? rule, out string? error))
                return $"ERR Error in ACL SETUSER modifier '{Shown(rule)}': {error}";
            ReplaceLatched(name, builder.Build());
            PublishLatched();
            changed = _users[name];
        }

        TellClients(client, changed);
        return null;

        // A client reads what it has sent; the reason why a server does not start gets into its log.
        string Shown(string rule) => client == null ? UserBuilder.Shown(rule) : rule;
    }

    /// <summary>Removes users, and closes their clients.</summary>
    /// <returns>How many there were.</returns>
    public int Delete(IEnumerable<string> names, Session client)
    {
        int count = 0;
        lock (_guard)
        {
            foreach (string name in names)
                if (name != DefaultName && TryRemoveLatched(name)) count++;
            PublishLatched();
        }

        TellClients(client);
        return count;
    }

    /// <summary>Takes over requirepass: the one password of the default user, or none.</summary>
    public string? FollowPassword(ServerOptions options)
    {
        lock (_guard)
        {
            var builder = new UserBuilder(_commands, HasAllChannels, Default.Rules);
            bool areRules = builder.TryApply(PasswordRules(options), out _, out _);
            Debug.Assert(areRules, "any text may be a password");
            Default.Rules = builder.Build();
            PublishLatched();
        }

        return null;
    }

    /// <summary>Replaces all users by those of the file: all, or none and the reason. Clients whose user is no longer
    /// there are closed.</summary>
    public string? LoadFile(Session? client = null)
    {
        string path = _server.Options.AclFile;
        string text;
        try
        {
            text = Decode(RegularFile.ReadAll(path, UserFile.BytesMax));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return $"Error loading ACLs, opening file '{path}': {exception.Message}";
        }

        if (UserFile.TryRead(path, text, _commands, HasAllChannels, out var read, out string errors))
        {
            lock (_guard)
            {
                foreach (string name in _users.Keys.Except(read.Keys).ToArray())
                    if (name != DefaultName) TryRemoveLatched(name);
                // Who is not in the file is as without one.
                read.TryAdd(DefaultName, DefaultRules());
                foreach (var (name, rules) in read) ReplaceLatched(name, rules);
                PublishLatched();
            }

            TellClients(client);
            return null;
        }

        return errors + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed";
    }

    /// <summary>Writes all users to the file.</summary>
    /// <returns>Null, or what went wrong; then the file is as it was.</returns>
    public string? SaveFile()
    {
        // Held until the file is there, so that of two it has the later users.
        lock (_server.Options.RewriteLock) return WriteFile();
    }

    private string? WriteFile()
    {
        var text = new StringBuilder();
        foreach (var user in All) text.Append(Line(user)).Append('\n');
        if (text.Length > UserFile.BytesMax)
            return string.Create(CultureInfo.InvariantCulture,
                $"the file would be longer than {UserFile.BytesMax} bytes, and nobody could load it");
        try
        {
            ConfigRewrite.Replace(_server.Options.AclFile, Encoding.Latin1.GetBytes(text.ToString()));
            return null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return exception.Message;
        }
    }

    /// <summary>Sets the option of the users to those of now, for CONFIG REWRITE. Of two calls the later one sets the
    /// later users.</summary>
    public void FillOptions()
    {
        if (_server.Options.AclFile.Length > 0) return;
        // Without the options' lock, which CONFIG SET holds while it calls this class: it is one reference.
        lock (_guard) _server.Options.Users = LinesLatched();
    }

    /// <summary>A user as ACL LIST shows it, and a file has it.</summary>
    public static string Line(User user) => $"user {user.Name} {user.Rules.Text}";

    /// <summary>Whether a name may be a user's.</summary>
    public static bool IsName(string name) => name.AsSpan().IndexOfAny(" \t\n\v\f\r\0") < 0;

    /// <summary>Finds out who somebody is.</summary>
    /// <returns>Null when there is no such user, or not with this password.</returns>
    public User? Authenticate(ReadOnlySpan<byte> name, ReadOnlySpan<byte> password)
    {
        var user = name.Length <= NameBytesMax ? Find(Decode(name)) : null;
        var rules = (user ?? Default).Rules;
        // Compared also where it cannot be right, so that the time does not tell which users there are.
        bool isRight = rules.IsPassword(password) || rules.NeedsNoPassword;
        return user != null && rules.IsOn && isRight ? user : null;
    }

    private UserRules Build(IEnumerable<string> rules)
    {
        var builder = new UserBuilder(_commands, hasAllChannels: true);
        bool areRules = builder.TryApply(rules, out _, out _);
        Debug.Assert(areRules, "the server's own rules are right");
        return builder.Build();
    }

    private static string[] PasswordRules(ServerOptions options) =>
        options.RequirePass.Length == 0 ? ["nopass"] : ["resetpass", ">" + FromOption(options.RequirePass)];

    private UserRules DefaultRules() => Build(
        ["on", "allkeys", "allchannels", "allcommands", .. PasswordRules(_server.Options)]);

    private string? TakeLines(IReadOnlyList<string> lines)
    {
        foreach (string line in lines)
        {
            string[] words = UserBuilder.Words(FromOption(line));
            string name = words.Length == 0 ? "" : words[0];
            // As in Redis the default user's line says all of it.
            string[] rules = name == DefaultName ? ["reset", .. words[1..]] : words[1..];
            if (Set(name, rules) is { } error) return $"user {name}: {error["ERR ".Length..]}";
        }

        return null;
    }

    /// <summary>Whoever still is the user until its connection is closed may do nothing.</summary>
    private bool TryRemoveLatched(string name)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && name != DefaultName, "the default user stays");
        if (!_users.Remove(name, out var user)) return false;
        user.Rules = _noRights;
        user.IsRemoved = true;
        return true;
    }

    private void ReplaceLatched(string name, UserRules rules)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the users are the lock's");
        if (_users.TryGetValue(name, out var user)) user.Rules = rules;
        else _users.Add(name, new User(name, rules));
    }

    private void PublishLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && _users.ContainsKey(DefaultName), "the default user stays");
        Interlocked.Increment(ref _version);
    }

    /// <summary>What a configuration has to say to make these users; nothing of a default user that requirepass
    /// makes.</summary>
    private string[] LinesLatched() =>
    [
        .. _users.Values.Where(user => user != Default || user.Rules != DefaultRules())
            .OrderBy(user => user.Name, StringComparer.Ordinal)
            .Select(user => $"{user.Name} {user.Rules.Text}"),
    ];

    /// <summary>Closes clients whose user is gone, and has the others look whether they may keep their
    /// channels.</summary>
    /// <param name="changed">The only user that has changed, if it is one that was not removed.</param>
    private void TellClients(Session? self, User? changed = null)
    {
        foreach (var session in _server.Connections.Snapshot())
        {
            var user = session.User;
            if (changed != null && user != changed) continue;
            if (user.IsRemoved)
            {
                if (session == self) self.CloseAfterReply = true;
                else session.Kill();
            }
            else if (session.Monitoring != null
                || !Array.Exists(user.Rules.Selectors, selector => selector.HasAllChannels))
                session.LookAtChannels();
        }
    }
}
