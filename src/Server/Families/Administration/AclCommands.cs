using System.Diagnostics;
using System.Security.Cryptography;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Users;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Families;

/// <summary>ACL: who the users are, and what each may do.</summary>
internal static class AclCommands
{
    private const int LogCountByDefault = 10, PasswordBits = 256, PasswordBitsMax = 4096;

    /// <summary>Rules of one SETUSER, and names of one DELUSER.</summary>
    private const int WordsMax = 100_000;

    private const CommandFlags Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading
        | CommandFlags.Stale | CommandFlags.Sentinel;

    private const CommandFlags PlainFlags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale
        | CommandFlags.Sentinel;

    private static ReadOnlySpan<byte> NoFile =>
        "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL "u8
        + "SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in "u8
        + "order to store users in the Redis configuration."u8;

    private static ReadOnlySpan<byte> TooLong => "ERR A rule or name is longer than 1048576 bytes"u8;

    internal static readonly Command[] Table =
    [
        new("ACL", arity: -2, handler: null)
        {
            Summary = "Holds the commands for users and what they may do.",
            Complexity = "Depends on the subcommand.", Since = "6.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Sentinel,
            Subcommands =
            [
                new("CAT", arity: -2, Categories)
                {
                    Usage = "[category]",
                    Summary = "Lists the categories of commands, or the commands of a category.",
                    Complexity = "O(1), as there are no more categories and commands than these.", Since = "6.0.0",
                    Group = CommandGroup.Server, Flags = PlainFlags,
                },
                new("DELUSER", arity: -3, DelUser)
                {
                    Usage = "username [username ...]",
                    Summary = "Removes users, and closes their connections.",
                    Complexity = "O(1) for each user, and O(N), N the clients that are connected.", Since = "6.0.0",
                    Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("DRYRUN", arity: -4, DryRun)
                {
                    Usage = "username command [arg [arg ...]]",
                    Summary = "Says whether a user might run a command, without running it.",
                    Complexity = "O(1).", Since = "7.0.0", Group = CommandGroup.Server, InnerCall = 3,
                    Flags = Flags,
                },
                new("GENPASS", arity: -2, GenPass)
                {
                    Usage = "[bits]",
                    Summary = "Makes a password out of random bits, 256 or as many as given.",
                    Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Server, Flags = PlainFlags,
                },
                new("GETUSER", arity: 3, GetUser)
                {
                    Usage = "username",
                    Summary = "Returns the rules of a user, one by one.",
                    Complexity = "O(N), N the passwords, rules and patterns of the user.", Since = "6.0.0",
                    Group = CommandGroup.Server, Flags = Flags,
                },
                HelpReply.Row("6.0.0", CommandGroup.Server,
                    CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel),
                new("LIST", arity: 2, List)
                {
                    Summary = "Lists the users with their rules, as a file has them.",
                    Complexity = "O(N), N the users.", Since = "6.0.0", Group = CommandGroup.Server, Flags = Flags,
                },
                new("LOAD", arity: 2, Load)
                {
                    Summary = "Replaces all users by those of the ACL file; none if one of its lines is wrong.",
                    Complexity = "O(N), N the users.", Since = "6.0.0", Group = CommandGroup.Server, Flags = Flags,
                },
                new("LOG", arity: -2, Log)
                {
                    Usage = "[count | RESET]",
                    Summary = "Returns what users were denied and who failed to log in, or forgets it.",
                    Complexity = "O(N), N the entries.", Since = "6.0.0", Group = CommandGroup.Server, Flags = Flags,
                },
                new("SAVE", arity: 2, Save)
                {
                    Summary = "Writes all users to the ACL file.",
                    Complexity = "O(N), N the users.", Since = "6.0.0", Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("SETUSER", arity: -3, SetUser)
                {
                    Usage = "username [rule [rule ...]]",
                    Summary = "Makes a user, or changes one, by rules: all of them, or none if one is wrong.",
                    Complexity = "O(N), N the rules, and the clients that are connected.", Since = "6.0.0",
                    Group = CommandGroup.Server, Flags = Flags,
                    Secrets = static (in _, index) => index > 1,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("USERS", arity: 2, Names)
                {
                    Summary = "Lists the names of the users.",
                    Complexity = "O(N), N the users", Since = "6.0.0", Group = CommandGroup.Server, Flags = Flags,
                },
                new("WHOAMI", arity: 2, WhoAmI)
                {
                    Summary = "Returns the name of the client's user.",
                    Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Server, Flags = PlainFlags,
                },
            ],
        },
    ];

    private static void Categories(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        string? name = context.Args.Remaining == 0 ? null : UserTable.Decode(context.Args.NextBytes());
        if (!context.Args.Finish(context.Reply)) return;
        if (name == null)
        {
            context.Reply.WriteArray(AclCategoryRules.All.Length);
            foreach (var each in AclCategoryRules.All) context.Reply.WriteBulk(AclCategoryRules.Name(each));
            return;
        }

        if (!AclCategoryRules.TryFind(name, out var category))
        {
            Fail(ref context, $"ERR Unknown category '{name}'");
            return;
        }

        string[] names = [.. context.Server.OwnCommands.All
            .SelectMany(command => command.Subcommands.Prepend(command))
            .Where(command => (AclCategoryRules.Of(command) & category) != 0)
            .Select(command => command.FullName)];
        context.Reply.WriteArray(names.Length);
        foreach (string each in names) context.Reply.WriteBulk(each);
    }

    private static void DelUser(ref CommandContext context)
    {
        var names = ReadWords(ref context, "names for ACL DELUSER");
        if (!context.Args.Finish(context.Reply)) return;
        if (names.Contains(UserTable.DefaultName)) context.Fail("ERR The 'default' user cannot be removed"u8);
        else context.Reply.WriteInteger(context.Server.Users.Delete(names, context.Session));
    }

    private static void DryRun(ref CommandContext context)
    {
        ref readonly var args = ref context.Args;
        int from = args.Position + 1, count = args.Count - from;
        Debug.Assert(count > 0, "the arity leaves a command to be tried");
        string name = UserTable.Decode(args[from - 1].Span), what = UserTable.Decode(args[from].Span);
        var command = context.Server.Commands.Find(args[from].Span);
        if (command is { Subcommands.Length: > 0 } && count > 1) command = command.FindSubcommand(args[from + 1].Span);
        if (context.Server.Users.Find(name) is not { } user) Fail(ref context, $"ERR User '{name}' not found");
        else if (command == null) Fail(ref context, $"ERR Command '{what}' not found");
        else if (!command.Takes(count) || command.Handler == null)
            Fail(ref context, $"ERR wrong number of arguments for '{command.FullName}' command");
        else if (user.Rules.Check(command, args, from) is { IsAllowed: false } verdict)
            context.Reply.WriteBulk(Encoding.Latin1.GetBytes(AccessDenial.FullReason(verdict, user, command,
                UserTable.Decode(args[from + verdict.Index].Span))));
        else context.Reply.WriteOk();
    }

    private static void GenPass(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        long bits = context.Args.Remaining == 0 ? PasswordBits : context.Args.NextInt64();
        if (bits is <= 0 or > PasswordBitsMax)
            context.Args.Fail("ERR ACL GENPASS argument must be the number of bits for the output password, a "u8
                + "positive number up to 4096"u8);
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteBulk(RandomNumberGenerator.GetHexString(((int)bits + 3) / 4, lowercase: true));
    }

    private static void GetUser(ref CommandContext context)
    {
        string name = UserTable.Decode(context.Args.NextBytes());
        if (!context.Args.Finish(context.Reply)) return;
        var reply = context.Reply;
        if (context.Server.Users.Find(name)?.Rules is not { } rules)
        {
            reply.WriteNull();
            return;
        }

        Debug.Assert(rules.Selectors.Length > 0, "a user has the rules that are not in parentheses");
        reply.WriteMap(6);
        reply.WriteBulk("flags"u8);
        string[] flags = [.. rules.Flags];
        reply.WriteSet(flags.Length);
        foreach (string flag in flags) reply.WriteBulk(flag);
        reply.WriteBulk("passwords"u8);
        reply.WriteArray(rules.PasswordHashes.Length);
        foreach (byte[] hash in rules.PasswordHashes) reply.WriteBulk(Convert.ToHexStringLower(hash));
        WriteSelector(reply, rules.Selectors[0]);
        reply.WriteBulk("selectors"u8);
        reply.WriteArray(rules.Selectors.Length - 1);
        foreach (var selector in rules.Selectors.AsSpan(1))
        {
            reply.WriteMap(3);
            WriteSelector(reply, selector);
        }
    }

    private static void WriteSelector(ReplyWriter reply, Selector selector)
    {
        Write(reply, "commands", selector.CommandText);
        Write(reply, "keys", selector.KeyText);
        Write(reply, "channels", selector.ChannelText);
    }

    private static void List(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var users = context.Server.Users.All;
        context.Reply.WriteArray(users.Length);
        foreach (var user in users) context.Reply.WriteBulk(Encoding.Latin1.GetBytes(UserTable.Line(user)));
    }

    private static void Load(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        if (context.Server.Options.AclFile.Length == 0) context.Fail(NoFile);
        else if (context.Server.Users.LoadFile(context.Session) is { } error) Fail(ref context, "ERR " + error);
        else context.Reply.WriteOk();
        context.Session.FollowUser();
    }

    private static void Log(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        if (context.Args.TryKeyword("RESET"u8))
        {
            context.Server.AccessLog.Clear();
            context.Reply.WriteOk();
            return;
        }

        long count = context.Args.Remaining == 0 ? LogCountByDefault : context.Args.NextInt64();
        if (!context.Args.Finish(context.Reply)) return;
        var entries = context.Server.AccessLog.Newest(count);
        long now = context.Server.Time.GetUtcNow().ToUnixTimeMilliseconds();
        var reply = context.Reply;
        reply.WriteArray(entries.Length);
        foreach (var entry in entries) Write(reply, entry, now);
    }

    private static void Write(ReplyWriter reply, AccessLogEntry entry, long now)
    {
        reply.WriteMap(10);
        reply.WriteBulk("count"u8);
        reply.WriteInteger(entry.Count);
        Write(reply, "reason", entry.Denial.ToString().ToLowerInvariant());
        Write(reply, "context", entry.Context.ToString().ToLowerInvariant());
        reply.WriteBulk("object"u8);
        reply.WriteBulk(entry.Object);
        Write(reply, "username", entry.UserName);
        reply.WriteBulk("age-seconds"u8);
        reply.WriteDouble((now - entry.UpdatedUnixMs) / 1000.0);
        Write(reply, "client-info", entry.ClientInfo);
        reply.WriteBulk("entry-id"u8);
        reply.WriteInteger(entry.Id);
        reply.WriteBulk("timestamp-created"u8);
        reply.WriteInteger(entry.CreatedUnixMs);
        reply.WriteBulk("timestamp-last-updated"u8);
        reply.WriteInteger(entry.UpdatedUnixMs);
    }

    private static void Save(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        if (context.Server.Options.AclFile.Length == 0)
        {
            context.Fail(NoFile);
            return;
        }

        string? error = context.Server.Users.SaveFile();
        if (error == null)
        {
            context.Reply.WriteOk();
            return;
        }

        context.Server.Log.LogWarning("ACL SAVE failed: {Error}", error);
        context.Fail("ERR There was an error trying to save the ACLs. Please check the server logs for more "u8
            + "information"u8);
    }

    private static void SetUser(ref CommandContext context)
    {
        string name = UserTable.Decode(context.Args.NextBytes());
        var rules = ReadWords(ref context, "rules for ACL SETUSER");
        if (!context.Args.Finish(context.Reply)) return;
        if (context.Server.Users.Set(name, rules, context.Session) is { } error) Fail(ref context, error);
        else context.Reply.WriteOk();
        context.Session.FollowUser();       // what comes next in this turn is checked by the new rules
    }

    private static void Names(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var users = context.Server.Users.All;
        context.Reply.WriteArray(users.Length);
        foreach (var user in users) context.Reply.WriteBulk(Encoding.Latin1.GetBytes(user.Name));
    }

    private static void WhoAmI(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteBulk(Encoding.Latin1.GetBytes(context.Session.User.Name));
    }

    private static List<string> ReadWords(ref CommandContext context, string what)
    {
        context.Args.RequireAtMost(WordsMax, what);
        var words = new List<string>();
        while (context.Args.Remaining > 0 && !context.Args.Failed)
        {
            var word = context.Args.NextBytes();
            if (word.Length > UserBuilder.RuleBytesMax) context.Args.Fail(TooLong);
            else words.Add(UserTable.Decode(word));
        }

        return words;
    }

    private static void Write(ReplyWriter reply, string name, string text)
    {
        reply.WriteBulk(name);
        reply.WriteBulk(Encoding.Latin1.GetBytes(text));
    }

    private static void Fail(ref CommandContext context, string error) =>
        context.Fail(Encoding.Latin1.GetBytes(error));
}
