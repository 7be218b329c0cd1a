using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Strings: whole values, ranges of them, several at once. What counts is in
/// <see cref="CounterCommands"/>.</summary>
internal static unsafe class StringCommands
{
    private const string ExpiryUsage =
        "EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds";

    internal static readonly Command[] Table =
    [
        new("GET", arity: 2, Get)
        {
            Usage = "key",
            Summary = "Returns the string at a key.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("SET", arity: -3, Set)
        {
            Usage = $"key value [NX | XX] [GET] [{ExpiryUsage} | KEEPTTL]",
            Summary = "Stores a string at a key, whatever was there, if a condition holds.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Event = KeyEvent.Set,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)
                .Unless(["GET"], KeyAccess.OW | KeyAccess.Update, from: 3)],
        },
        new("SETNX", arity: 3, SetNx)
        {
            Usage = "key value",
            Summary = "Stores a string at a key that does not exist yet.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String, DeprecatedSince = "2.6.12",
            Event = KeyEvent.Set,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Insert)],
        },
        new("SETEX", arity: 4, SetEx)
        {
            Usage = "key seconds value",
            Summary = "Stores a string at a key, to expire in so many seconds.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.String, DeprecatedSince = "2.6.12",
            Event = KeyEvent.Set,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update)],
        },
        new("PSETEX", arity: 4, PSetEx)
        {
            Usage = "key milliseconds value",
            Summary = "Stores a string at a key, to expire in so many milliseconds.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.String, DeprecatedSince = "2.6.12",
            Event = KeyEvent.Set,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.OW | KeyAccess.Update)],
        },
        new("GETSET", arity: 3, GetSet)
        {
            Usage = "key value",
            Summary = "Stores a string at a key and returns the one that was there.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String, DeprecatedSince = "6.2.0",
            Event = KeyEvent.Set,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("GETDEL", arity: 2, GetDel)
        {
            Usage = "key",
            Summary = "Returns the string at a key and deletes the key.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.String,
            Changes = ChangeRule.NotNull,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete)],
        },
        new("GETEX", arity: -2, GetEx)
        {
            Usage = $"key [{ExpiryUsage} | PERSIST]",
            Summary = "Returns the string at a key and changes when it expires.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.String,
            Event = KeyEvent.Expire,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("STRLEN", arity: 2, StrLen)
        {
            Usage = "key",
            Summary = "Returns the number of bytes of the string at a key; 0 without a key.",
            Complexity = "O(1)", Since = "2.2.0", Group = CommandGroup.String,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("GETRANGE", arity: 4, GetRange)
        {
            Usage = "key start end",
            Summary = "Returns the bytes from one position to another of the string at a key; negative ones count from "
                + "the end.",
            Complexity = "O(N) where N is the number of bytes returned; O(1) for short ranges.",
            Since = "2.4.0", Group = CommandGroup.String,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("SUBSTR", arity: 4, GetRange)
        {
            Usage = "key start end",
            Summary = "Does the same as GETRANGE, by its former name.",
            Complexity = "O(N) where N is the number of bytes returned; O(1) for short ranges.",
            Since = "1.0.0", Group = CommandGroup.String, DeprecatedSince = "2.0.0",
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("SETRANGE", arity: 4, SetRange)
        {
            Usage = "key offset value",
            Summary = "Overwrites the string at a key from an offset on, with zero bytes up to there if it is shorter.",
            Complexity = "O(1) when the string need not move; else O(M) where M is its length.",
            Since = "2.2.0", Group = CommandGroup.String,
            Event = KeyEvent.SetRange,
            Changes = ChangeRule.LastArgument,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)],
        },
        new("APPEND", arity: 3, Append)
        {
            Usage = "key value",
            Summary = "Adds bytes to the end of the string at a key; a missing key counts as empty.",
            Complexity = "O(1) amortized: the capacity grows by doubling.", Since = "2.0.0",
            Group = CommandGroup.String,
            Event = KeyEvent.Append,
            Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("MGET", arity: -2, MGet)
        {
            Usage = "key [key ...]",
            Summary = "Returns the strings at several keys as of one instant.",
            Complexity = "O(N) where N is the number of keys.", Since = "1.0.0", Group = CommandGroup.String,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            StepsNoteKeys = true,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RO | KeyAccess.Access)],
            Tips = ["request_policy:multi_shard"],
        },
        new("MSET", arity: -3, MSet)
        {
            Usage = "key value [key value ...]",
            Summary = "Stores strings at several keys, all at one instant.",
            Complexity = "O(N) where N is the number of keys.", Since = "1.0.1", Group = CommandGroup.String,
            Event = KeyEvent.Set,
            Changes = ChangeRule.Pairs,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.Range(1, -1, 2, KeyAccess.OW | KeyAccess.Update)],
            Tips = ["request_policy:multi_shard", "response_policy:all_succeeded"],
        },
        new("MSETNX", arity: -3, MSetNx)
        {
            Usage = "key value [key value ...]",
            Summary = "Stores strings at several keys, all at one instant, unless one of the keys exists.",
            Complexity = "O(N) where N is the number of keys.", Since = "1.0.1", Group = CommandGroup.String,
            Event = KeyEvent.Set,
            Changes = ChangeRule.PairsIfAny,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.Range(1, -1, 2, KeyAccess.OW | KeyAccess.Insert)],
        },
    ];

    private static void Get(ref CommandContext context)
    {
        // The common case, with nothing that would have to live in memory; GetSlow does the same for whatever there is.
        var found = context.Args.FindString();
        if (found.Exists)
        {
            var reply = context.Reply;
            var mark = reply.Mark();
            reply.WriteBulk(found.Bytes, found.Length);
            if (found.IsUnchanged)
            {
                context.Store.Uses.Count(found.Record, found.Word);
                return;
            }

            reply.Rewind(mark);
        }

        GetSlow(ref context);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void GetSlow(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var read = new ReplyString(context.Output);
        var status = context.Store.Read(key, DataType.String, ref read);
        if (status != StoreStatus.Ok) GetFailedSlow(ref context, ref read, status);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void GetFailedSlow(ref CommandContext context, ref ReplyString read, StoreStatus status)
    {
        read.Forget();
        if (status == StoreStatus.NotFound) context.Reply.WriteNull();
        else context.Fail(Errors.For(status));
    }

    private static void Set(ref CommandContext context)
    {
        // The common cases, as in Get: a plain value over one of the same size, without expiry or with EX or PX.
        int count = context.Args.Count;
        long expiryMs = count == 3 ? NewValue.NoExpiry : count == 5 ? context.Args.UsualExpiry(3) : 0;
        if (count == 5) context.Arm(KeyEvent.Set, KeyEvent.Expire);
        if (expiryMs == 0 || !TryOverwrite(ref context, 2, expiryMs)) SetSlow(ref context);
    }

    /// <summary>Overwrites and replies, where nothing is unusual.</summary>
    /// <param name="value">The argument that is the new value.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryOverwrite(ref CommandContext context, int value, long expiryMs)
    {
        Debug.Assert(expiryMs == NewValue.NoExpiry || expiryMs > context.Store.NowMs,
            "what has passed goes the long way");
        var found = context.Args.FindString();
        if (!found.Exists || !context.Args.TryOverwrite(found, value, expiryMs)) return false;
        if (expiryMs != NewValue.NoExpiry && context.IsFed) SaySet(ref context, context.Args[value].Span, expiryMs);
        context.Reply.WriteOk();
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void SetSlow(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var value = context.Args.NextValue(out var block);
        if (context.Args.Remaining != 0)
        {
            SetWithOptions(ref context, key, value, block);
            return;
        }

        var status = block.IsNone ? context.Store.Set(key, value)
            : context.Store.Set(key, value, block, NewValue.NoExpiry);
        if (status == StoreStatus.Ok) context.Reply.WriteOk();
        else context.Fail(Errors.For(status));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void SetWithOptions(ref CommandContext context, in Key key, ReadOnlySpan<byte> value, Block block)
    {
        var set = new SetStringIf(context.Output) { Value = value, Block = block, ExpiryMs = NewValue.NoExpiry };
        var expiry = default(ExpiryOption);
        while (context.Args.Remaining > 0)
        {
            if (set.Condition != SetCondition.IfPresent && context.Args.TryKeyword("NX"u8))
                set.Condition = SetCondition.IfAbsent;
            else if (set.Condition != SetCondition.IfAbsent && context.Args.TryKeyword("XX"u8))
                set.Condition = SetCondition.IfPresent;
            else if (context.Args.TryKeyword("GET"u8)) set.RepliesOld = true;
            else if (!expiry.IsGiven && context.Args.TryKeyword("KEEPTTL"u8)) set.KeepExpiry = true;
            else if (set.KeepExpiry || !expiry.TryRead(ref context.Args)) context.Args.SyntaxError();
        }

        if (!context.Args.Failed && expiry.IsGiven)
        {
            set.NowMs = context.Store.NowMs;
            var error = expiry.Resolve(set.NowMs, "ERR invalid expire time in 'set' command"u8, out set.ExpiryMs);
            if (!error.IsEmpty) context.Args.Fail(error);
        }

        context.Arm(KeyEvent.Set, expiry.IsGiven ? KeyEvent.Expire : KeyEvent.None);
        if (context.Args.Finish(context.Reply)) RunSet(ref context, key, ref set);
    }

    private static void GetSet(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var set = new SetStringIf(context.Output) { ExpiryMs = NewValue.NoExpiry, RepliesOld = true };
        set.Value = context.Args.NextValue(out set.Block);
        if (context.Args.Finish(context.Reply)) RunSet(ref context, key, ref set);
    }

    private static void SetEx(ref CommandContext context) =>
        SetWithExpiry(ref context, unitMs: 1000, "ERR invalid expire time in 'setex' command"u8);

    private static void PSetEx(ref CommandContext context) =>
        SetWithExpiry(ref context, unitMs: 1, "ERR invalid expire time in 'psetex' command"u8);

    private static void SetWithExpiry(ref CommandContext context, long unitMs, ReadOnlySpan<byte> invalid)
    {
        context.Arm(KeyEvent.Set, KeyEvent.Expire);
        long expiryMs = context.Args.UsualExpiry(2, unitMs);
        if (expiryMs == 0 || !TryOverwrite(ref context, 3, expiryMs)) SetWithExpirySlow(ref context, unitMs, invalid);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void SetWithExpirySlow(ref CommandContext context, long unitMs, ReadOnlySpan<byte> invalid)
    {
        var key = context.Args.NextKey();
        var expiry = ExpiryOption.Relative(context.Args.NextBytes(), unitMs);
        var set = new SetStringIf(context.Output) { NowMs = context.Store.NowMs };
        set.Value = context.Args.NextValue(out set.Block);
        var error = expiry.Resolve(set.NowMs, invalid, out set.ExpiryMs);
        if (!error.IsEmpty) context.Args.Fail(error);
        if (context.Args.Finish(context.Reply)) RunSet(ref context, key, ref set);
    }

    /// <summary>Says that the string at the first argument is set, with an expiry.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void SaySet(ref CommandContext context, scoped ReadOnlySpan<byte> value, long expiryMs)
    {
        var effect = context.Say(5);
        effect.Add("SET"u8);
        effect.Add(context.Args[1].Span);
        effect.Add(value);
        effect.Add("PXAT"u8);
        effect.Add(expiryMs);
        effect.End();
    }

    /// <summary>Replies OK, nil when the condition did not hold, or the old value where that is asked for.</summary>
    private static void RunSet(ref CommandContext context, in Key key, ref SetStringIf set)
    {
        Debug.Assert(set.ExpiryMs >= NewValue.NoExpiry, "a time was resolved, or there is none");
        var type = set.RepliesOld ? DataType.String : DataType.Any;
        var status = context.Store.Update(key, type, ref set);
        if (!set.Done && status is StoreStatus.Ok or StoreStatus.NotFound) context.CountChanges(-1);
        if (set.Done && set.ExpiryMs != NewValue.NoExpiry && !set.KeepExpiry && context.IsFed)
        {
            if (set.ExpiryMs <= set.NowMs) context.Say("DEL"u8, key.Bytes);
            else SaySet(ref context, set.Value, set.ExpiryMs);
        }

        if (status is not (StoreStatus.Ok or StoreStatus.NotFound))
        {
            set.Forget();
            context.Fail(Errors.For(status));
        }
        else if (!set.RepliesOld)
        {
            if (set.Done) context.Reply.WriteOk();
            else context.Reply.WriteNull();
        }
    }

    private static void SetNx(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var set = new SetStringIf(context.Output) { Condition = SetCondition.IfAbsent, ExpiryMs = NewValue.NoExpiry };
        set.Value = context.Args.NextValue(out set.Block);
        if (!context.Args.Finish(context.Reply)) return;

        var status = context.Store.Update(key, DataType.Any, ref set);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(set.Done ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    private static void GetDel(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        context.Say("DEL"u8, key.Bytes);
        var take = new TakeString(context.Output);
        var status = context.Store.Update(key, DataType.String, ref take);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) return;     // absent: nil has been written
        take.Forget();
        context.Fail(Errors.For(status));
    }

    private static void GetEx(ref CommandContext context)
    {
        if (context.Args.Count == 2)
        {
            Get(ref context);
            return;
        }

        var key = context.Args.NextKey();
        var expire = new ExpireString(context.Output) { NowMs = context.Store.NowMs };
        var expiry = default(ExpiryOption);
        while (context.Args.Remaining > 0)
        {
            if (!expiry.IsGiven && context.Args.TryKeyword("PERSIST"u8)) expire.Persists = true;
            else if (expire.Persists || !expiry.TryRead(ref context.Args)) context.Args.SyntaxError();
        }

        if (!context.Args.Finish(context.Reply)) return;

        if (expire.Persists) context.Arm(KeyEvent.Persist);
        // A bad time is no error where there is no key, and comes after a wrong type.
        expire.Error = expire.Persists
            ? default
            : expiry.Resolve(expire.NowMs, "ERR invalid expire time in 'getex' command"u8, out expire.ExpiryMs);

        if (context.IsFed && expire.Error.IsEmpty)
        {
            if (expire.Persists) context.Say("PERSIST"u8, key.Bytes);
            else ExpiryEffect.Say(ref context, key.Bytes, expire.ExpiryMs);
        }

        var status = context.Store.Update(key, DataType.String, ref expire);
        if (expire.Changes) context.CountChanges(1);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) return;     // absent: nil has been written
        expire.Forget();
        context.Fail(Errors.For(status));
    }

    private static void StrLen(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var read = default(ReadStringLength);
        var status = context.Store.Read(key, DataType.String, ref read);
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(read.Length);
        else if (status == StoreStatus.NotFound) context.Reply.WriteInteger(0);
        else context.Fail(Errors.For(status));
    }

    private static void GetRange(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var read = new ReplyStringRange(context.Output, context.Store) { First = context.Args.NextInt64(),
            Last = context.Args.NextInt64() };
        if (!context.Args.Finish(context.Reply)) return;

        var status = context.Store.Read(key, DataType.String, ref read);
        if (status == StoreStatus.Ok)
        {
            read.CopyFromBlock();
            return;
        }

        read.Forget();
        if (status == StoreStatus.NotFound) context.Reply.WriteBulk(default);
        else context.Fail(Errors.For(status));
    }

    private static void SetRange(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var splice = new SpliceString
        {
            Offset = context.Args.NextInt64(),
            Value = context.Args.NextBytes(),
            LengthMax = LengthMax(ref context),
        };
        if (splice.Offset < 0) context.Args.Fail(Errors.OffsetOutOfRange);
        if (context.Args.Finish(context.Reply)) RunSplice(ref context, key, ref splice);
    }

    private static void Append(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var splice = new SpliceString { Appends = true, LengthMax = LengthMax(ref context) };
        splice.Value = context.Args.NextValue(out splice.Block);
        if (context.Args.Finish(context.Reply)) RunSplice(ref context, key, ref splice);
    }

    private static void RunSplice(ref CommandContext context, in Key key, ref SpliceString splice)
    {
        splice.StaysPut = !context.MovesAtOnce && context.MayStep;
        var status = context.Store.Update(key, DataType.String, ref splice);
        if (splice.MustMove)
        {
            if (StringRoom.TryBegin(ref context, key, splice.NewLength)) return;
            splice.StaysPut = false;
            status = context.Store.Update(key, DataType.String, ref splice);
        }

        Debug.Assert(!splice.MustMove, "what may move does not ask whether it may");
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(status));
        else if (splice.IsTooLong) context.Fail(Errors.StringTooLong);
        else context.Reply.WriteInteger(splice.NewLength);
    }

    private static long LengthMax(ref CommandContext context) => context.Server.Limits.MaxBulkBytes;

    private static void MGet(ref CommandContext context)
    {
        if (context.Args.Count == 2)
        {
            MGetOne(ref context);
            return;
        }

        if (context.IsLong(context.Args.Count - 1))
        {
            context.ContinueLong(ManyKeysKind.GetAll);
            return;
        }

        var keys = KeysOf(ref context, step: 1);
        Debug.Assert(keys.Count == context.Args.Count - 1, "each argument is a key");
        var read = new ReplyStrings(context.Output, keys.Count);
        context.Store.ReadMany(keys, ref read);
    }

    private static void MGetOne(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var read = new ReplyStrings(context.Output, 1);
        read.Restart();
        var one = new ReplyString(context.Output);
        var status = context.Store.Read(key, DataType.String, ref one);
        if (status == StoreStatus.Ok) return;
        one.Forget();
        context.Reply.WriteNull();      // another type has no string either
    }

    private static void MSet(ref CommandContext context)
    {
        if ((context.Args.Count & 1) == 0)
        {
            context.Fail("ERR wrong number of arguments for 'mset' command"u8);
        }
        else if (context.Args.Count == 3)
        {
            Set(ref context);
        }
        else if (context.IsLong(context.Args.Count / 2))
        {
            context.ContinueLong(ManyKeysKind.SetAll);
        }
        else
        {
            var status = SetAll(ref context, onlyIfNoneExists: false, out _);
            if (status == StoreStatus.Ok) context.Reply.WriteOk();
            else context.Fail(Errors.For(status));
        }
    }

    private static void MSetNx(ref CommandContext context)
    {
        if ((context.Args.Count & 1) == 0)
        {
            context.Fail("ERR wrong number of arguments for 'msetnx' command"u8);
        }
        else if (context.Args.Count == 3)
        {
            SetNx(ref context);
        }
        else if (context.IsLong(context.Args.Count / 2))
        {
            context.ContinueLong(ManyKeysKind.SetAllIfNoneExists);
        }
        else
        {
            var status = SetAll(ref context, onlyIfNoneExists: true, out bool done);
            if (status == StoreStatus.Ok) context.Reply.WriteInteger(done ? 1 : 0);
            else context.Fail(Errors.For(status));
        }
    }

    /// <summary>Sets every pair while all keys are held, so that nobody sees half of them; of a key given twice, the
    /// last value stays.</summary>
    private static StoreStatus SetAll(ref CommandContext context, bool onlyIfNoneExists, out bool done)
    {
        done = false;
        var keys = KeysOf(ref context, step: 2);
        Debug.Assert(keys.Count == context.Args.Count / 2, "each key has its value");
        using var held = context.Store.Hold(keys);
        if (held.Status != StoreStatus.Ok) return held.Status;

        if (onlyIfNoneExists)
        {
            for (int i = 0; i < keys.Count; i++)
                if (held.Exists(i)) return StoreStatus.Ok;
        }

        for (int i = 0; i < keys.Count; i++)
        {
            var value = context.Args.ValueAt((2 * i) + 2, out var block);
            var status = held.PrepareSet(i, value, block);
            if (status != StoreStatus.Ok) return status;        // nothing has changed
        }

        for (int i = 0; i < keys.Count; i++) held.FinishSet(i, context.Args[(2 * i) + 2].Span);

        done = true;
        return StoreStatus.Ok;
    }

    /// <summary>Every <paramref name="step"/>-th argument from the first on, in the session's scratch list.</summary>
    private static KeyList KeysOf(ref CommandContext context, int step)
    {
        Debug.Assert(step == 1 || context.Args.Count % step == 1, "each key has what belongs to it");
        var keys = context.Store.Keys;
        int database = context.Session.Database;
        keys.Clear();
        for (int i = 1; i < context.Args.Count; i += step)
        {
            context.Args.AddKey(i, keys, database, expectedBytes: step == 2 ? context.Args[i + 1].Length : 0);
        }

        return keys;
    }
}
