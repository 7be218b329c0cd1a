using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>When fields of hashes expire: set it, ask for it, drop it.</summary>
/// <remarks>A wrong type is told before any mistake in the arguments, as Redis 7.4 does it here.</remarks>
internal static class HashExpiryCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Updates = KeyAccess.RW | KeyAccess.Update;
    private const CommandFlags Writes = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
        ReadFlags = CommandFlags.ReadOnly | CommandFlags.Fast;
    private const int NoField = -2, NoExpiry = -1;

    internal static readonly Command[] Table =
    [
        new("HEXPIRE", arity: -6, HExpire)
        {
            Usage = "key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            Summary = "Makes fields of a hash expire in so many seconds.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HExpire,
            Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HPEXPIRE", arity: -6, HPExpire)
        {
            Usage = "key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            Summary = "Makes fields of a hash expire in so many milliseconds.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HExpire,
            Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HEXPIREAT", arity: -6, HExpireAt)
        {
            Usage = "key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            Summary = "Makes fields of a hash expire at a second of Unix time; at once if that has passed.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HExpire,
            Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HPEXPIREAT", arity: -6, HPExpireAt)
        {
            Usage = "key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            Summary = "Makes fields of a hash expire at a millisecond of Unix time; at once if that has passed.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HExpire,
            Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HTTL", arity: -5, HTtl)
        {
            Usage = "key FIELDS numfields field [field ...]",
            Summary = "Returns the seconds until fields of a hash expire; -1 if one does not, -2 if there is none.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Flags = ReadFlags, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("HPTTL", arity: -5, HPTtl)
        {
            Usage = "key FIELDS numfields field [field ...]",
            Summary =
                "Returns the milliseconds until fields of a hash expire; -1 if one does not, -2 if there is none.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Flags = ReadFlags, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("HEXPIRETIME", arity: -5, HExpireTime)
        {
            Usage = "key FIELDS numfields field [field ...]",
            Summary = "Returns the second of Unix time at which fields of a hash expire; -1 if one does not.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Flags = ReadFlags, Keys = [KeySpec.At(1, Reads)],
        },
        new("HPEXPIRETIME", arity: -5, HPExpireTime)
        {
            Usage = "key FIELDS numfields field [field ...]",
            Summary = "Returns the millisecond of Unix time at which fields of a hash expire; -1 if one does not.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Flags = ReadFlags, Keys = [KeySpec.At(1, Reads)],
        },
        new("HPERSIST", arity: -5, HPersist)
        {
            Usage = "key FIELDS numfields field [field ...]",
            Summary = "Lets fields of a hash live as long as the hash does.",
            Complexity = "O(N) where N is the number of fields.", Since = "7.4.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HPersist,
            Flags = CommandFlags.Write | CommandFlags.Fast, Keys = [KeySpec.At(1, Updates)],
        },
    ];

    private static void HExpire(ref CommandContext context) => SetExpiry(ref context, 1000, context.Store.NowMs);

    private static void HPExpire(ref CommandContext context) => SetExpiry(ref context, 1, context.Store.NowMs);

    private static void HExpireAt(ref CommandContext context) => SetExpiry(ref context, 1000, 0);

    private static void HPExpireAt(ref CommandContext context) => SetExpiry(ref context, 1, 0);

    private static void SetExpiry(ref CommandContext context, long unitMs, long baseMs)
    {
        var key = context.Args.NextKey();
        long expiryMs = ReadTime(ref context, unitMs, baseMs);
        var rule = context.Args.TryKeyword("NX"u8) ? FieldExpiryRule.IfNone
            : context.Args.TryKeyword("XX"u8) ? FieldExpiryRule.IfAny
            : context.Args.TryKeyword("GT"u8) ? FieldExpiryRule.IfLater
            : context.Args.TryKeyword("LT"u8) ? FieldExpiryRule.IfEarlier
            : FieldExpiryRule.Always;
        int count = ReadFields(ref context, "ERR Parameter `numFields` should be greater than 0"u8);
        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status) || !context.Args.Finish(context.Reply)) return;

        int first = context.Args.Count - count;
        Debug.Assert(first > 4 && expiryMs >= 0, "fields follow their number, and a time was read");
        if (held.Status == StoreStatus.NotFound)
        {
            WriteSame(ref context, count, NoField);
            return;
        }

        // Nothing is begun when nothing will change: whoever watches the key would be told of it.
        var hash = new HashValue(held.Value);
        long bytes = 0;
        bool changes = false;
        for (int i = first; i < first + count; i++)
            changes |= hash.AskExpiry(context.Args[i].Span, expiryMs, rule, ref bytes) == FieldExpiryStatus.Changed;
        if (changes && !hash.TryReserveExpiries(bytes))
        {
            context.Fail(Errors.OutOfMemory);
            return;
        }

        context.Reply.WriteArray(count);
        bool removes = false;
        for (int i = first; i < first + count; i++)
        {
            var status = hash.SetExpiry(context.Args[i].Span, expiryMs, rule);
            removes |= status == FieldExpiryStatus.Removed;
            context.Reply.WriteInteger(status switch
            {
                FieldExpiryStatus.NoField => NoField,
                FieldExpiryStatus.Unchanged => 0,
                FieldExpiryStatus.Changed => 1,
                _ => 2,
            });
        }

        if (removes) context.Arm(KeyEvent.HDel);
        if (context.IsFed) SayExpiry(ref context, expiryMs);
        hash.Settle();
    }

    /// <summary>Says the same with an absolute time.</summary>
    private static void SayExpiry(ref CommandContext context, long expiryMs)
    {
        var effect = context.Say(context.Args.Count);
        effect.Add("HPEXPIREAT"u8);
        effect.Add(context.Args[1].Span);
        effect.Add(expiryMs);
        for (int i = 3; i < context.Args.Count; i++) effect.Add(context.Args[i].Span);
        effect.End();
    }

    private static void HTtl(ref CommandContext context) =>
        ReplyExpiries(ref context, context.Store.NowMs, inSeconds: true);

    private static void HPTtl(ref CommandContext context) =>
        ReplyExpiries(ref context, context.Store.NowMs, inSeconds: false);

    private static void HExpireTime(ref CommandContext context) =>
        ReplyExpiries(ref context, sinceMs: 0, inSeconds: true);

    private static void HPExpireTime(ref CommandContext context) =>
        ReplyExpiries(ref context, sinceMs: 0, inSeconds: false);

    private static void ReplyExpiries(ref CommandContext context, long sinceMs, bool inSeconds)
    {
        var key = context.Args.NextKey();
        int count = ReadFields(ref context, "ERR Number of fields must be a positive integer"u8);
        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status) || !context.Args.Finish(context.Reply)) return;
        if (held.Status == StoreStatus.NotFound)
        {
            WriteSame(ref context, count, NoField);
            return;
        }

        var hash = new HashValue(held.Value).View;
        context.Reply.WriteArray(count);
        for (int i = context.Args.Count - count; i < context.Args.Count; i++)
        {
            if (!hash.TryGet(context.Args[i].Span, out _, out long expiryMs)) context.Reply.WriteInteger(NoField);
            else if (expiryMs == FieldExpiry.None) context.Reply.WriteInteger(NoExpiry);
            else context.Reply.WriteInteger(inSeconds ? (expiryMs - sinceMs + 999) / 1000 : expiryMs - sinceMs);
        }
    }

    private static void HPersist(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        int count = ReadFields(ref context, "ERR Number of fields must be a positive integer"u8);
        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status) || !context.Args.Finish(context.Reply)) return;
        if (held.Status == StoreStatus.NotFound)
        {
            WriteSame(ref context, count, NoField);
            return;
        }

        var hash = new HashValue(held.Value);
        context.Reply.WriteArray(count);
        for (int i = context.Args.Count - count; i < context.Args.Count; i++)
        {
            context.Reply.WriteInteger(hash.Persist(context.Args[i].Span) switch
            {
                FieldExpiryStatus.NoField => NoField,
                FieldExpiryStatus.Unchanged => NoExpiry,
                _ => 1,
            });
        }
    }

    private static void WriteSame(ref CommandContext context, int count, long value)
    {
        Debug.Assert(count > 0, "some fields were asked for");
        context.Reply.WriteArray(count);
        for (; count > 0; count--) context.Reply.WriteInteger(value);
    }

    /// <summary>Reads a time: not before the beginning of Unix time, nor past what a field keeps.</summary>
    private static long ReadTime(ref CommandContext context, long unitMs, long baseMs)
    {
        long time = context.Args.NextInt64();
        if (time < 0) context.Args.Fail("ERR invalid expire time, must be >= 0"u8);
        else if (time > FieldExpiry.ClientMaxMs / unitMs || time * unitMs > FieldExpiry.ClientMaxMs - baseMs)
            context.Args.Fail(TooLate(context.Command));
        return context.Args.Failed ? 0 : (time * unitMs) + baseMs;
    }

    private static byte[] TooLate(Command command) =>
        [.. "ERR invalid expire time in '"u8, .. System.Text.Encoding.ASCII.GetBytes(command.Name.ToLowerInvariant()),
            .. "' command"u8];

    /// <summary>Reads FIELDS and how many there are: all to the end of the command, which are passed over.</summary>
    private static int ReadFields(ref CommandContext context, ReadOnlySpan<byte> notPositive)
    {
        if (!context.Args.TryKeyword("FIELDS"u8))
            context.Args.Fail("ERR Mandatory argument FIELDS is missing or not at the right position"u8);
        long count = context.Args.NextInt64(1, long.MaxValue, notPositive);
        if (count != context.Args.Remaining)
            context.Args.Fail("ERR The `numfields` parameter must match the number of arguments"u8);
        if (!context.Args.Failed) context.Args.Skip((int)count);
        Debug.Assert(context.Args.Failed || (count > 0 && context.Args.Remaining == 0),
            "the fields are the last arguments");
        return (int)count;
    }
}
