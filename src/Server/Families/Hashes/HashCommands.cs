using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Hashes: fields with values.</summary>
internal static class HashCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Updates = KeyAccess.RW | KeyAccess.Update;
    private const CommandFlags Writes = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast;

    internal static readonly Command[] Table =
    [
        new("HSET", arity: -4, HSet)
        {
            Usage = "key field value [field value ...]",
            Summary = "Sets fields of a hash and returns how many are new.",
            Complexity = "O(1) for each field.", Since = "2.0.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HSet,
            Changes = ChangeRule.Pairs,
            Member = 2, Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HMSET", arity: -4, HMSet)
        {
            Usage = "key field value [field value ...]",
            Summary = "Sets fields of a hash.",
            Complexity = "O(N) where N is the number of fields.", Since = "2.0.0", DeprecatedSince = "4.0.0",
            Group = CommandGroup.Hash,
            Event = KeyEvent.HSet,
            Changes = ChangeRule.Pairs,
            Member = 2, Flags = Writes, Keys = [KeySpec.At(1, Updates)],
        },
        new("HSETNX", arity: 4, HSetNx)
        {
            Usage = "key field value",
            Summary = "Sets a field of a hash unless it is there.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HSet,
            Changes = ChangeRule.Number,
            Member = 2, Flags = Writes, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Insert)],
        },
        new("HGET", arity: 3, HGet)
        {
            Usage = "key field",
            Summary = "Returns the value of a field.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Hash,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("HMGET", arity: -3, HMGet)
        {
            Usage = "key field [field ...]",
            Summary = "Returns the values of fields, as of one instant.",
            Complexity = "O(N) where N is the number of fields asked for.", Since = "2.0.0", Group = CommandGroup.Hash,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, Reads)],
        },
        new("HGETALL", arity: 2, HGetAll)
        {
            Usage = "key",
            Summary = "Returns all fields with their values.",
            Complexity = "O(N) where N is the size of the hash.", Since = "2.0.0", Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output_order"],
        },
        new("HKEYS", arity: 2, HKeys)
        {
            Usage = "key",
            Summary = "Returns all fields.",
            Complexity = "O(N) where N is the size of the hash.", Since = "2.0.0", Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output_order"],
        },
        new("HVALS", arity: 2, HVals)
        {
            Usage = "key",
            Summary = "Returns the values of all fields.",
            Complexity = "O(N) where N is the size of the hash.", Since = "2.0.0", Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output_order"],
        },
        new("HLEN", arity: 2, HLen)
        {
            Usage = "key",
            Summary = "Returns the number of fields.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("HEXISTS", arity: 3, HExists)
        {
            Usage = "key field",
            Summary = "Tells whether a hash has a field.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Hash,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("HSTRLEN", arity: 3, HStrLen)
        {
            Usage = "key field",
            Summary = "Returns the length of a field's value, 0 for none.",
            Complexity = "O(1)", Since = "3.2.0", Group = CommandGroup.Hash,
            Member = 2, Flags = CommandFlags.ReadOnly | CommandFlags.Fast, Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("HDEL", arity: -3, HDel)
        {
            Usage = "key field [field ...]",
            Summary = "Removes fields and returns how many there were; a hash without fields is gone.",
            Complexity = "O(N) where N is the number of fields to remove.", Since = "2.0.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HDel,
            Changes = ChangeRule.Number,
            Member = 2, Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Delete)],
        },
        new("HINCRBY", arity: 4, HIncrBy)
        {
            Usage = "key field increment",
            Summary = "Adds a number to the integer in a field; a missing one counts as 0.",
            Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HIncrBy,
            Member = 2, Flags = Writes, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("HINCRBYFLOAT", arity: 4, HIncrByFloat)
        {
            Usage = "key field increment",
            Summary = "Adds a number with decimals to the one in a field; a missing one counts as 0.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Hash,
            Event = KeyEvent.HIncrByFloat,
            Member = 2, Flags = Writes, Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("HRANDFIELD", arity: -2, HRandField)
        {
            Usage = "key [count [WITHVALUES]]",
            Summary = "Returns fields at random: different ones, or with a negative count any.",
            Complexity = "O(N) where N is the number of fields returned.", Since = "6.2.0", Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
        new("HSCAN", arity: -3, HScan)
        {
            Usage = "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
            Summary = "Returns some of the fields with their values, or alone, and the cursor to ask for more with; 0 "
                + "begins and ends.",
            Complexity = "O(1) for a call, O(N) for a whole round, where N is the size of the hash.", Since = "2.8.0",
            Group = CommandGroup.Hash,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)], Tips = ["nondeterministic_output"],
        },
    ];

    private static void HSet(ref CommandContext context)
    {
        if (TrySetPairs(ref context, ReplyHead.Number, out int created)) context.Reply.WriteInteger(created);
    }

    private static void HMSet(ref CommandContext context)
    {
        if (TrySetPairs(ref context, ReplyHead.Ok, out _)) context.Reply.WriteOk();
    }

    /// <summary>Sets the pairs behind the key, all or (without memory) none.</summary>
    /// <param name="reply">What is answered, when very many are left to later turns.</param>
    /// <returns>False when an error was written, or will the answer be.</returns>
    private static bool TrySetPairs(ref CommandContext context, ReplyHead reply, out int created)
    {
        created = 0;
        var key = context.Args.NextKey();
        int first = 2, count = context.Args.Count;
        if ((count - first) % 2 != 0)
        {
            context.Args.Fail(context.Command.Name == "HSET" ? "ERR wrong number of arguments for 'hset' command"u8
                : "ERR wrong number of arguments for 'hmset' command"u8);
        }

        if (AdditionSteps<SetFields>.TryBegin(ref context, first, new SetFields { Head = reply })) return false;
        long bytes = 0;
        int longest = 0;
        for (int i = first; i < count; i++)
        {
            int length = context.Args[i].Length;
            bytes += length;
            longest = Math.Max(longest, length);
        }

        context.Args.Skip(count - first);
        if (!context.Args.Finish(context.Reply)) return false;

        int fields = (count - first) / 2;
        Debug.Assert(fields > 0 && longest <= bytes, "the fields are as they were counted");
        using var held = context.Store.Hold(key, DataType.Hash, HashValue.ExpectedBytes(fields, bytes, longest));
        if (!TryReserve(context.Reply, held, fields, bytes, longest)) return false;
        var hash = new HashValue(held.Value);
        for (int i = first; i < count; i += 2)
            if (hash.Set(context.Args[i].Span, context.Args[i + 1].Span)) created++;
        hash.Settle();
        Debug.Assert(created <= fields, "no more are new than were sent");
        return true;
    }

    private static bool TryReserve(ReplyWriter reply, in HeldKey held, int fields, long bytes, int longest)
    {
        var status = held.Status;
        if (status == StoreStatus.Ok && !new HashValue(held.Value).TryReserve(fields, bytes, longest))
            status = StoreStatus.OutOfMemory;
        if (status != StoreStatus.Ok) reply.WriteError(Errors.For(status));
        return status == StoreStatus.Ok;
    }

    private static void HSetNx(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var field = context.Args.NextBytes();
        var value = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        int bytes = field.Length + value.Length, longest = Math.Max(field.Length, value.Length);
        using var held = context.Store.Hold(key, DataType.Hash, HashValue.ExpectedBytes(1, bytes, longest));
        if (held.Status == StoreStatus.Ok && held.Value.Exists && new HashValue(held.Value).View.TryGet(field, out _))
        {
            context.Reply.WriteInteger(0);
            return;
        }

        if (!TryReserve(context.Reply, held, 1, bytes, longest)) return;
        var hash = new HashValue(held.Value);
        hash.Set(field, value);
        hash.Settle();
        context.Reply.WriteInteger(1);
    }

    private static void HGet(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var field = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadField(context.Reply, field, in context.Store.MemberHash, context.Store.NowMs);
        var status = context.Store.Read(key, DataType.Hash, ref read);
        if (status == StoreStatus.Ok) return;
        read.Forget();
        if (context.TryBegin(status)) context.Reply.WriteNull();
    }

    private static void HMGet(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        int count = context.Args.Remaining;
        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status == StoreStatus.Ok)
        {
            HeldWork.Run(ref context, held, new ArgumentWork<FindFields>(context.Args.All(context.Server.Store)));
            return;
        }

        context.Reply.WriteArray(count);
        for (; count > 0; count--) context.Reply.WriteNull();
    }

    private static void HGetAll(ref CommandContext context) => WriteAll(ref context, fields: true, values: true);

    private static void HKeys(ref CommandContext context) => WriteAll(ref context, fields: true, values: false);

    private static void HVals(ref CommandContext context) => WriteAll(ref context, fields: false, values: true);

    private static void WriteAll(ref CommandContext context, bool fields, bool values)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status)) return;
        bool isAny = held.Status == StoreStatus.Ok
            && (HashFieldsWork.IsLong(held.Value) || new HashValue(held.Value).RemoveExpired());
        if (isAny) HeldWork.Run(ref context, held, new HashFieldsWork(held.Value, fields, values));
        else if (fields && values) context.Reply.WriteMap(0);
        else context.Reply.WriteArray(0);
    }

    private static void HLen(ref CommandContext context) => CollectionCount.Reply(ref context, DataType.Hash);

    private static void HExists(ref CommandContext context)
    {
        if (TryReadLength(ref context, out int length)) context.Reply.WriteInteger(length >= 0 ? 1 : 0);
    }

    private static void HStrLen(ref CommandContext context)
    {
        if (TryReadLength(ref context, out int length)) context.Reply.WriteInteger(Math.Max(0, length));
    }

    /// <summary>The length of a field's value, -1 for none.</summary>
    /// <returns>False when an error was written.</returns>
    private static bool TryReadLength(ref CommandContext context, out int length)
    {
        length = -1;
        var key = context.Args.NextKey();
        var field = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return false;

        scoped var read = new ReadLength(field, in context.Store.MemberHash, context.Store.NowMs);
        var status = context.Store.Read(key, DataType.Hash, ref read);
        if (status == StoreStatus.Ok) length = read.Length;
        if (status != StoreStatus.WrongType) return true;
        context.Fail(Errors.WrongType);
        return false;
    }

    private static void HDel(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        context.Args.Skip(context.Args.Remaining);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.Hash);
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok) context.Reply.WriteInteger(0);
        else HeldWork.Run(ref context, held, new ArgumentWork<RemoveFields>(context.Args.All(context.Server.Store)));
    }

    private static void HIncrBy(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var field = context.Args.NextBytes();
        long increment = context.Args.NextInt64();
        if (!context.Args.Finish(context.Reply)) return;

        int bytes = field.Length + NumberText.MaxInt64Bytes;
        using var held = context.Store.Hold(key, DataType.Hash, HashValue.ExpectedBytes(1, bytes, field.Length));
        long value = 0;
        if (held.Status == StoreStatus.Ok && held.Value.Exists
            && new HashValue(held.Value).View.TryGet(field, out var text)
            && !NumberText.TryParseInt64(text, out value))
        {
            context.Fail("ERR hash value is not an integer"u8);
            return;
        }

        long sum = unchecked(value + increment);
        if (((value ^ sum) & (increment ^ sum)) < 0)
        {
            context.Fail(Errors.Overflow);
            return;
        }

        if (!TryReserve(context.Reply, held, 1, bytes, field.Length)) return;
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        System.Buffers.Text.Utf8Formatter.TryFormat(sum, digits, out int length);
        var hash = new HashValue(held.Value);
        if (context.IsFed) SaySum(ref context, hash.View, field, digits[..length]);
        hash.Set(field, digits[..length], keepExpiry: true);
        hash.Settle();
        context.Reply.WriteInteger(sum);
    }

    /// <summary>Says what a field is from now on; when it expires stays as it is.</summary>
    private static void SaySum(ref CommandContext context, HashView hash, ReadOnlySpan<byte> field,
        scoped ReadOnlySpan<byte> sum)
    {
        var effect = context.Say(4);
        effect.Add("HSET"u8);
        effect.Add(context.Args[1].Span);
        effect.Add(field);
        effect.Add(sum);
        effect.End();
        if (!hash.TryGet(field, out _, out long expiryMs) || expiryMs == FieldExpiry.None) return;
        effect = context.Say(6);
        effect.Add("HPEXPIREAT"u8);
        effect.Add(context.Args[1].Span);
        effect.Add(expiryMs);
        effect.Add("FIELDS"u8);
        effect.Add(1);
        effect.Add(field);
        effect.End();
    }

    private static void HIncrByFloat(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var field = context.Args.NextBytes();
        var text = context.Args.NextBytes();
        bool isNumber = ExtendedFloat.TryParse(text, out var increment);
        if (!isNumber) context.Args.Fail(Errors.NotAFloat);
        else if (!increment.IsFinite) context.Args.Fail("ERR value is NaN or Infinity"u8);
        if (!context.Args.Finish(context.Reply)) return;

        int bytes = field.Length + ExtendedFloat.MaxHumanBytes;
        using var held = context.Store.Hold(key, DataType.Hash, HashValue.ExpectedBytes(1, bytes, field.Length));
        var value = ExtendedFloat.FromInt64(0);
        if (held.Status == StoreStatus.Ok && held.Value.Exists
            && new HashValue(held.Value).View.TryGet(field, out var current)
            && !ExtendedFloat.TryParse(current, out value))
        {
            context.Fail("ERR hash value is not a float"u8);
            return;
        }

        var sum = value + increment;
        if (!sum.IsFinite)
        {
            context.Fail(Errors.NanOrInfinity);
            return;
        }

        Span<byte> digits = stackalloc byte[ExtendedFloat.MaxHumanBytes];
        int length = sum.FormatHuman(digits);
        if (!TryReserve(context.Reply, held, 1, bytes, Math.Max(field.Length, length))) return;
        var hash = new HashValue(held.Value);
        hash.Set(field, digits[..length], keepExpiry: true);
        hash.Settle();
        context.Reply.WriteBulk(digits[..length]);
    }

    private static void HRandField(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var sample = SampleArguments.Read(ref context.Args, "WITHVALUES"u8);
        if (!context.Args.Finish(context.Reply)) return;
        using var held = context.Store.Hold(key, DataType.Hash);
        var reply = context.Reply;
        if (!context.TryBegin(held.Status)) return;
        if (held.Status != StoreStatus.Ok && sample.HasCount) reply.WriteArray(0);
        else if (held.Status != StoreStatus.Ok) reply.WriteNull();
        else if (sample.IsTooLarge) context.Fail(Errors.ReplyTooLarge);
        else if (!sample.HasCount) WriteRandom(reply, new HashValue(held.Value));
        else HeldWork.Run(ref context, held, new SampleWork(held.Value, reply.Version,
            Math.Min(sample.Count, new HashValue(held.Value).Count), sample.WithValues));
    }

    private static void WriteRandom(ReplyWriter reply, HashValue hash)
    {
        var dice = Dice.New();
        if (hash.TryRandom(ref dice, out var field, out _)) reply.WriteBulk(field);
        else reply.WriteNull();
    }

    private static unsafe void HScan(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!ScanArguments.TryRead(ref context, out var scan, ofHash: true)) return;
        using var held = context.Store.Hold(key, DataType.Hash);
        if (!ScanArguments.TryBegin(ref context, held.Status)) return;
        var mark = context.Reply.Mark();
        var hash = new HashValue(held.Value).View;
        scoped var visit = new ReplyPairs(context.Reply, scan);
        ulong cursor = scan.Run(hash, ref visit, context.Reply);
        context.Reply.EndScan(mark, cursor, scan.WithoutValues ? visit.Written : visit.Written * 2);
    }

    /// <summary>Writes the value of a field.</summary>
    private readonly ref struct ReadField : IValueRead
    {
        private readonly ReplyWriter _reply;
        private readonly ReplyMark _mark;
        private readonly ReadOnlySpan<byte> _field;
        private readonly ref readonly KeyHash _hash;
        private readonly long _nowMs;

        public ReadField(ReplyWriter reply, ReadOnlySpan<byte> field, ref readonly KeyHash hash, long nowMs)
        {
            _reply = reply;
            _mark = reply.Mark();
            _field = field;
            _hash = ref hash;
            _nowMs = nowMs;
        }

        /// <summary>Takes back what was written.</summary>
        public void Forget() => _reply.Rewind(_mark);

        public void Read(in ValueView value)
        {
            Forget();
            if (new HashView(value, in _hash, _nowMs).TryGet(_field, out var found)) _reply.WriteBulk(found);
            else _reply.WriteNull();
        }
    }

    /// <summary>The length of a field's value; -1: there is none.</summary>
    private ref struct ReadLength : IValueRead
    {
        private readonly ReadOnlySpan<byte> _field;
        private readonly ref readonly KeyHash _hash;
        private readonly long _nowMs;

        public ReadLength(ReadOnlySpan<byte> field, ref readonly KeyHash hash, long nowMs)
        {
            _field = field;
            _hash = ref hash;
            _nowMs = nowMs;
        }

        public int Length { get; private set; }

        public void Read(in ValueView value) =>
            Length = new HashView(value, in _hash, _nowMs).TryGet(_field, out var found) ? found.Length : -1;
    }

    /// <summary>Writes the pairs, or fields alone, that HSCAN meets and takes.</summary>
    private unsafe ref struct ReplyPairs(ReplyWriter reply, ScanArguments scan) : IScanReply
    {
        private readonly ScanArguments _scan = scan;

        public int Seen { get; private set; }

        public int Written { get; private set; }

        public void Visit(byte* item)
        {
            Seen++;
            HashView.Split(item, out var field, out var value);
            if (!_scan.Takes(field)) return;
            reply.WriteBulk(field);
            if (!_scan.WithoutValues) reply.WriteBulk(value);
            Written++;
        }
    }

    /// <summary>Very many fields and values for HSET and HMSET.</summary>
    private struct SetFields : IArgumentAddition
    {
        private long _bytes;
        private int _count, _longest;
        private bool _isReserved;

        public static DataType Type => DataType.Hash;
        public static int Stride => 2;
        public ReplyHead Head { readonly get; init; }

        public void Read(ref CommandArguments arguments)
        {
            int field = arguments.NextBytes().Length, value = arguments.NextBytes().Length;
            _count++;
            _bytes += field + value;
            _longest = Math.Max(_longest, Math.Max(field, value));
        }

        public readonly int ExpectedBytes(PackedLimits limits) => HashValue.ExpectedBytes(_count, _bytes, _longest);

        public StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count)
        {
            var hash = new HashValue(value);
            if (!_isReserved && !hash.TryReserve(_count, _bytes, _longest)) return StoreStatus.OutOfMemory;
            _isReserved = true;
            if (hash.Set(arguments[0].Span, arguments[1].Span)) count++;
            return StoreStatus.Ok;
        }

        public readonly void Settle(HeldValue value) => new HashValue(value).Settle();
    }

    /// <summary>For HDEL.</summary>
    private readonly struct RemoveFields : IArgumentUse
    {
        public static bool Changes => true;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget => new HashValue(value).Remove(argument);

        public static void Settle(HeldValue value) => new HashValue(value).Settle();
    }

    /// <summary>For HMGET.</summary>
    private readonly struct FindFields : IArgumentUse
    {
        public static bool Changes => false;

        public static bool Use<TReply>(HeldValue value, ReadOnlySpan<byte> argument, TReply reply)
            where TReply : struct, IReplyTarget
        {
            bool isThere = new HashValue(value).View.TryGet(argument, out var found);
            if (isThere) reply.Next().WriteBulk(found);
            else reply.Next().WriteNull();
            return isThere;
        }
    }
}
