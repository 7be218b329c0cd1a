using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>When keys expire: set it, ask for it, drop it.</summary>
internal static class ExpiryCommands
{
    private const CommandFlags WriteFlags = CommandFlags.Write | CommandFlags.Fast;
    private const CommandFlags ReadFlags = CommandFlags.ReadOnly | CommandFlags.Fast;
    private const KeyAccess WriteAccess = KeyAccess.RW | KeyAccess.Update;
    private const KeyAccess ReadAccess = KeyAccess.RO | KeyAccess.Access;

    internal static readonly Command[] Table =
    [
        new("EXPIRE", arity: -3, Expire)
        {
            Usage = "key seconds [NX | XX | GT | LT]",
            Summary = "Makes a key expire in so many seconds; at once if that is not positive.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Expire,
            Changes = ChangeRule.Number,
            Flags = WriteFlags, Keys = [KeySpec.At(1, WriteAccess)],
        },
        new("PEXPIRE", arity: -3, PExpire)
        {
            Usage = "key milliseconds [NX | XX | GT | LT]",
            Summary = "Makes a key expire in so many milliseconds; at once if that is not positive.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Expire,
            Changes = ChangeRule.Number,
            Flags = WriteFlags, Keys = [KeySpec.At(1, WriteAccess)],
        },
        new("EXPIREAT", arity: -3, ExpireAt)
        {
            Usage = "key unix-time-seconds [NX | XX | GT | LT]",
            Summary = "Makes a key expire at a second of Unix time; at once if that has passed.",
            Complexity = "O(1)", Since = "1.2.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Expire,
            Changes = ChangeRule.Number,
            Flags = WriteFlags, Keys = [KeySpec.At(1, WriteAccess)],
        },
        new("PEXPIREAT", arity: -3, PExpireAt)
        {
            Usage = "key unix-time-milliseconds [NX | XX | GT | LT]",
            Summary = "Makes a key expire at a millisecond of Unix time; at once if that has passed.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Expire,
            Changes = ChangeRule.Number,
            Flags = WriteFlags, Keys = [KeySpec.At(1, WriteAccess)],
        },
        new("PERSIST", arity: 2, Persist)
        {
            Usage = "key",
            Summary = "Lets a key live on without an end.",
            Complexity = "O(1)", Since = "2.2.0", Group = CommandGroup.Generic,
            Event = KeyEvent.Persist,
            Changes = ChangeRule.Number,
            Flags = WriteFlags, Keys = [KeySpec.At(1, WriteAccess)],
        },
        new("TTL", arity: 2, Ttl)
        {
            Usage = "key",
            Summary = "Returns the seconds until a key expires, rounded; -1 if it does not, -2 without a key.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = ReadFlags, Keys = [KeySpec.At(1, ReadAccess)],
            Tips = ["nondeterministic_output"],
        },
        new("PTTL", arity: 2, PTtl)
        {
            Usage = "key",
            Summary = "Returns the milliseconds until a key expires; -1 if it does not, -2 without a key.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Generic,
            Flags = ReadFlags, Keys = [KeySpec.At(1, ReadAccess)],
            Tips = ["nondeterministic_output"],
        },
        new("EXPIRETIME", arity: 2, ExpireTime)
        {
            Usage = "key",
            Summary = "Returns the second of Unix time at which a key expires, rounded; -1 if it does not, -2 "
                + "without a key.",
            Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Generic,
            Flags = ReadFlags, Keys = [KeySpec.At(1, ReadAccess)],
        },
        new("PEXPIRETIME", arity: 2, PExpireTime)
        {
            Usage = "key",
            Summary =
                "Returns the millisecond of Unix time at which a key expires; -1 if it does not, -2 without a key.",
            Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Generic,
            Flags = ReadFlags, Keys = [KeySpec.At(1, ReadAccess)],
        },
    ];

    private static void Expire(ref CommandContext context) =>
        SetExpiry(ref context, unitMs: 1000, context.Store.NowMs, "ERR invalid expire time in 'expire' command"u8);

    private static void PExpire(ref CommandContext context) =>
        SetExpiry(ref context, unitMs: 1, context.Store.NowMs, "ERR invalid expire time in 'pexpire' command"u8);

    private static void ExpireAt(ref CommandContext context) =>
        SetExpiry(ref context, unitMs: 1000, baseMs: 0, "ERR invalid expire time in 'expireat' command"u8);

    private static void PExpireAt(ref CommandContext context) =>
        SetExpiry(ref context, unitMs: 1, baseMs: 0, "ERR invalid expire time in 'pexpireat' command"u8);

    private static void SetExpiry(ref CommandContext context, long unitMs, long baseMs, ReadOnlySpan<byte> invalid)
    {
        var key = context.Args.NextKey();
        var text = context.Args.NextBytes();
        var set = new SetExpiryWhen { NowMs = context.Store.NowMs, Conditions = ReadConditions(ref context) };
        if (!context.Args.Failed)
        {
            if (!NumberText.TryParseInt64(text, out long time)) context.Args.Fail(Errors.NotAnInteger);
            else if (!TryScale(time, unitMs, baseMs, out set.ExpiryMs)) context.Args.Fail(invalid);
        }

        if (!context.Args.Finish(context.Reply)) return;
        if (context.IsFed) ExpiryEffect.Say(ref context, key.Bytes, set.ExpiryMs);
        var status = context.Store.Update(key, DataType.Any, ref set);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(set.Done ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    // The options come before the time in the order of complaints, and the combinations after every single option.
    private static ExpiryConditions ReadConditions(ref CommandContext context)
    {
        const ExpiryConditions both = ExpiryConditions.IfLater | ExpiryConditions.IfEarlier;
        var conditions = ExpiryConditions.None;
        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("NX"u8)) conditions |= ExpiryConditions.IfNone;
            else if (context.Args.TryKeyword("XX"u8)) conditions |= ExpiryConditions.IfAny;
            else if (context.Args.TryKeyword("GT"u8)) conditions |= ExpiryConditions.IfLater;
            else if (context.Args.TryKeyword("LT"u8)) conditions |= ExpiryConditions.IfEarlier;
            else context.Args.Fail(Unsupported(context.Args.Peek()));
        }

        if ((conditions & ExpiryConditions.IfNone) != 0 && conditions != ExpiryConditions.IfNone)
        {
            context.Args.Fail("ERR NX and XX, GT or LT options at the same time are not compatible"u8);
        }
        else if ((conditions & both) == both)
        {
            context.Args.Fail("ERR GT and LT options at the same time are not compatible"u8);
        }

        return conditions;
    }

    private static byte[] Unsupported(ReadOnlySpan<byte> option) =>
        [.. "ERR Unsupported option "u8, .. option[..Math.Min(option.Length, 128)]];

    private static bool TryScale(long time, long unitMs, long baseMs, out long expiryMs)
    {
        Debug.Assert(unitMs > 0 && baseMs >= 0, "a time is of a unit, since an instant");
        expiryMs = 0;
        if (time > long.MaxValue / unitMs || time < long.MinValue / unitMs) return false;
        expiryMs = time * unitMs;
        if (expiryMs > long.MaxValue - baseMs) return false;
        expiryMs += baseMs;
        return true;
    }

    private static void Persist(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var persist = default(DropExpiry);
        var status = context.Store.Update(key, DataType.Any, ref persist);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(persist.Done ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    private static void Ttl(ref CommandContext context) =>
        ReplyExpiry(ref context, context.Store.NowMs, inSeconds: true);

    private static void PTtl(ref CommandContext context) =>
        ReplyExpiry(ref context, context.Store.NowMs, inSeconds: false);

    private static void ExpireTime(ref CommandContext context) => ReplyExpiry(ref context, sinceMs: 0, inSeconds: true);

    private static void PExpireTime(ref CommandContext context) =>
        ReplyExpiry(ref context, sinceMs: 0, inSeconds: false);

    private static void ReplyExpiry(ref CommandContext context, long sinceMs, bool inSeconds)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var read = default(ReadExpiry);
        var status = context.Store.Read(key, DataType.Any, ref read);
        if (status == StoreStatus.NotFound) context.Reply.WriteInteger(-2);
        else if (status != StoreStatus.Ok) context.Fail(Errors.For(status));
        else if (read.ExpiryMs == NewValue.NoExpiry) context.Reply.WriteInteger(-1);
        else context.Reply.WriteInteger(InUnit(Math.Max(0, read.ExpiryMs - sinceMs), inSeconds));
    }

    // Half a second and more rounds up; not by adding 500 first, which the last milliseconds of 64 bits would not bear.
    private static long InUnit(long milliseconds, bool inSeconds)
    {
        Debug.Assert(milliseconds >= 0, "what has passed is not there");
        if (!inSeconds) return milliseconds;
        var (seconds, rest) = Math.DivRem(milliseconds, 1000);
        return rest >= 500 ? seconds + 1 : seconds;
    }

    /// <summary>Takes the expiry away.</summary>
    private struct DropExpiry : IValueUpdate
    {
        public bool Done;

        public Change Decide(in ValueView current, ref NewValue next)
        {
            Done = current.Exists && current.ExpiryMs != NewValue.NoExpiry;
            next.ExpiryMs = NewValue.NoExpiry;
            return Done ? Change.Expire : Change.None;
        }

        public readonly void Write(Span<byte> destination) => Debug.Fail("an expiry has no bytes");
    }

    /// <summary>When a key expires.</summary>
    private struct ReadExpiry : IValueRead
    {
        public long ExpiryMs;

        public static bool IsUse => false;

        public void Read(in ValueView value) => ExpiryMs = value.ExpiryMs;
    }
}
