using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>The reply of COMMAND and COMMAND INFO for a row: ten elements.</summary>
internal static class CommandInfoReply
{
    /// <summary>The flags that clients are shown, and their names; other flags are the server's own.</summary>
    private static readonly (CommandFlags Flag, string Name)[] FlagNames =
    [
        (CommandFlags.Write, "write"),
        (CommandFlags.ReadOnly, "readonly"),
        (CommandFlags.DenyOom, "denyoom"),
        (CommandFlags.Admin, "admin"),
        (CommandFlags.PubSub, "pubsub"),
        (CommandFlags.NoScript, "noscript"),
        (CommandFlags.Blocking, "blocking"),
        (CommandFlags.Loading, "loading"),
        (CommandFlags.Stale, "stale"),
        (CommandFlags.SkipMonitor, "skip_monitor"),
        (CommandFlags.SkipSlowLog, "skip_slowlog"),
        (CommandFlags.Asking, "asking"),
        (CommandFlags.Fast, "fast"),
        (CommandFlags.NoAuth, "no_auth"),
        (CommandFlags.MayReplicate, "may_replicate"),
        (CommandFlags.NoMandatoryKeys, "no_mandatory_keys"),
        (CommandFlags.NoAsyncLoading, "no_async_loading"),
        (CommandFlags.NoMulti, "no_multi"),
        (CommandFlags.MovableKeys, "movablekeys"),
        (CommandFlags.AllowBusy, "allow_busy"),
    ];

    private static readonly (KeyAccess Flag, string Name)[] AccessNames =
    [
        (KeyAccess.RO, "RO"),
        (KeyAccess.RW, "RW"),
        (KeyAccess.OW, "OW"),
        (KeyAccess.RM, "RM"),
        (KeyAccess.Access, "access"),
        (KeyAccess.Update, "update"),
        (KeyAccess.Insert, "insert"),
        (KeyAccess.Delete, "delete"),
        (KeyAccess.NotKey, "not_key"),
        (KeyAccess.Incomplete, "incomplete"),
        (KeyAccess.VariableFlags, "variable_flags"),
    ];

    /// <summary>Writes one command with its subcommands.</summary>
    public static void Write(ReplyWriter reply, Command command)
    {
        var keys = LegacyKeyRange.Of(command.Keys);
        var flags = command.Flags | (keys.Movable ? CommandFlags.MovableKeys : CommandFlags.None);
        var categories = AclCategoryRules.Of(command);

        reply.WriteArray(10);
        reply.WriteBulk(command.FullName);
        reply.WriteInteger(command.Arity);
        reply.WriteNames([.. FlagNames.Where(each => (flags & each.Flag) != 0).Select(each => each.Name)]);
        reply.WriteInteger(keys.First);
        reply.WriteInteger(keys.Last);
        reply.WriteInteger(keys.Step);
        reply.WriteNames([.. AclCategoryRules.All.Where(each => (categories & each) != 0)
            .Select(each => "@" + AclCategoryRules.Name(each))]);

        reply.WriteSet(command.Tips.Length);
        foreach (string tip in command.Tips) reply.WriteBulk(tip);

        reply.WriteSet(command.Keys.Length);
        foreach (var spec in command.Keys) Write(reply, spec);

        // As Redis does: an array, but an empty set where there are none.
        if (command.Subcommands.Length > 0) reply.WriteArray(command.Subcommands.Length);
        else reply.WriteSet(0);
        foreach (var subcommand in command.Subcommands) Write(reply, subcommand);
    }

    /// <summary>Writes what is done with a key, as a set of names.</summary>
    public static void Write(ReplyWriter reply, KeyAccess access) =>
        reply.WriteNames([.. AccessNames.Where(each => (access & each.Flag) != 0).Select(each => each.Name)]);

    private static void Write(ReplyWriter reply, KeySpec spec)
    {
        reply.WriteMap(3);
        reply.WriteBulk("flags");
        Write(reply, spec.Access);
        reply.WriteBulk("begin_search");
        switch (spec.Start)
        {
            case KeyStart.Position:
                Write(reply, "index", ("index", spec.Position));
                break;
            case KeyStart.Keyword:
                BeginSpec(reply, "keyword", 2);
                reply.WriteBulk("keyword");
                reply.WriteBulk(spec.Keyword);
                reply.WriteBulk("startfrom");
                reply.WriteInteger(spec.Position);
                break;
            default:
                Write(reply, "unknown");
                break;
        }

        reply.WriteBulk("find_keys");
        switch (spec.Extent)
        {
            case KeyExtent.Range:
                Write(reply, "range", ("lastkey", spec.Last), ("keystep", spec.Step), ("limit", spec.Limit));
                break;
            case KeyExtent.Count:
                Write(reply, "keynum", ("keynumidx", spec.CountOffset), ("firstkey", spec.FirstOffset),
                    ("keystep", spec.Step));
                break;
            default:
                Write(reply, "unknown");
                break;
        }
    }

    private static void Write(ReplyWriter reply, string type, params (string Name, int Value)[] fields)
    {
        BeginSpec(reply, type, fields.Length);
        foreach (var (name, value) in fields)
        {
            reply.WriteBulk(name);
            reply.WriteInteger(value);
        }
    }

    private static void BeginSpec(ReplyWriter reply, string type, int fields)
    {
        reply.WriteMap(2);
        reply.WriteBulk("type");
        reply.WriteBulk(type);
        reply.WriteBulk("spec");
        reply.WriteMap(fields);
    }
}
