using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Values as bytes that another server takes: DUMP and RESTORE (docs/dump-format.md).</summary>
internal static class DumpCommands
{
    internal static readonly Command[] Table =
    [
        new("DUMP", arity: 2, Dump)
        {
            Usage = "key",
            Summary = "Returns a value in the form that RESTORE takes, here or at a Redis server, or nil.",
            Complexity = "O(N) where N is the number of bytes of the value.", Since = "2.6.0",
            Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
            Tips = ["nondeterministic_output"],
        },
        new("RESTORE", arity: -4, Restore)
        {
            Usage = "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
            Summary = "Makes what DUMP returned, here or at a Redis server, the value of a key.",
            Complexity = "O(N) where N is the number of bytes of the value; O(M*log(M)) for a sorted set of M members.",
            Since = "2.6.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Restore,
            Flags = CommandFlags.Write | CommandFlags.DenyOom, Categories = AclCategories.Dangerous,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update)],
        },
        new("RESTORE-ASKING", arity: -4, Restore)
        {
            Usage = "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
            Summary = "Does the same as RESTORE, for a node of a cluster that moves a slot.",
            Complexity = "O(N) where N is the number of bytes of the value; O(M*log(M)) for a sorted set of M members.",
            Since = "3.0.0", Group = CommandGroup.Server,
            Event = KeyEvent.Restore,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Asking,
            Categories = AclCategories.Keyspace | AclCategories.Dangerous,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update)],
        },
    ];

    private static void Dump(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var writer = context.Output.ValueWriter;
        var status = Write(ref context, key, writer, out bool isLong);
        if (isLong) return;
        if (status == StoreStatus.Ok)
        {
            DumpPayload.Finish(writer.Output);
            status = writer.Output.Status;
        }

        if (status == StoreStatus.NotFound) context.Reply.WriteNull();
        else PayloadReply.Write(ref context, writer.Output, status);
    }

    private static StoreStatus Write(ref CommandContext context, in Key key, RdbValueWriter writer, out bool isLong)
    {
        Block block = default;
        isLong = false;
        using (var held = context.Store.Hold(key, DataType.Any))
        {
            if (held.Status != StoreStatus.Ok) return held.Status;
            if (isLong = DumpSteps.TryBegin(ref context, held)) return StoreStatus.Ok;
            ValueView value = held.Value.View;
            writer.Output.Begin(context.Server.Options.RdbCompression,
                value.FootprintBytes + (value.FootprintBytes / 4) + RdbOutput.BufferBytes);
            block = value.Block;
            if (block.IsNone) writer.Write(value);
            else block.AddReference();
        }

        if (block.IsNone) return StoreStatus.Ok;
        writer.WriteString(block.Span);     // long, and never changed while it is referenced: nobody has to wait
        context.Store.Release(block);
        return StoreStatus.Ok;
    }

    private static void Restore(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        context.Args.Skip(2);
        bool replaces = false, isAbsolute = false;
        long? idle = null, frequency = null;
        while (context.Args.Remaining > 0)
        {
            bool hasNumber = context.Args.Remaining > 1;
            if (context.Args.TryKeyword("REPLACE"u8)) replaces = true;
            else if (context.Args.TryKeyword("ABSTTL"u8)) isAbsolute = true;
            else if (hasNumber && frequency == null && context.Args.TryKeyword("IDLETIME"u8))
            {
                idle = context.Args.NextInt64();
                if (idle < 0) context.Args.Fail("ERR Invalid IDLETIME value, must be >= 0"u8);
            }
            else if (hasNumber && idle == null && context.Args.TryKeyword("FREQ"u8))
            {
                frequency = context.Args.NextInt64();
                if (frequency is < 0 or > 255)
                    context.Args.Fail("ERR Invalid FREQ value, must be >= 0 and <= 255"u8);
            }
            else context.Args.SyntaxError();
        }

        if (!context.Args.Finish(context.Reply)) return;
        // Before the rest is looked at, as Redis does.
        if (RestoreSteps.TryBegin(ref context, key, replaces)
            && TryReadExpiry(ref context, isAbsolute, out long expiryMs))
            RestoreSteps.Run(ref context, key, new RestoreSteps.Terms(replaces, expiryMs, (int?)frequency, idle));
    }

    private static bool TryReadExpiry(ref CommandContext context, bool isAbsolute, out long expiryMs)
    {
        expiryMs = NewValue.NoExpiry;
        if (!Protocol.NumberText.TryParseInt64(context.Args[2].Span, out long time))
        {
            context.Fail(Errors.NotAnInteger);
            return false;
        }

        if (time < 0)
        {
            context.Fail("ERR Invalid TTL value, must be >= 0"u8);
            return false;
        }

        if (time != 0) expiryMs = isAbsolute ? time : time > long.MaxValue - context.Store.NowMs
            ? long.MaxValue : context.Store.NowMs + time;
        return true;
    }
}
