using System.Buffers;
using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The subcommands of one BITFIELD, and their results.</summary>
internal struct BitFieldProgram : IValueUpdate, IValueRead, IDisposable
{
    private Operation[] _operations;
    private int _count;
    private long _lastBitWritten;
    private int _changes;
    private bool _grows;

    /// <summary>Whether any subcommand writes.</summary>
    public bool Writes { get; private set; }

    /// <summary>Reads all that is left of the arguments.</summary>
    public static BitFieldProgram Parse(ref CommandArguments args, long lastBit, ReadOnlySpan<byte> badOffset)
    {
        var program = new BitFieldProgram { _operations = ArrayPool<Operation>.Shared.Rent(4) };
        BitOverflow overflow = BitOverflow.Wrap;
        while (args.Remaining > 0)      // ends: each round takes arguments or fails, and then none is left
        {
            var operation = new Operation { Overflow = overflow };
            if (args.Remaining >= 3 && args.TryKeyword("GET"u8)) operation.Verb = Verb.Get;
            else if (args.Remaining >= 4 && args.TryKeyword("SET"u8)) operation.Verb = Verb.Set;
            else if (args.Remaining >= 4 && args.TryKeyword("INCRBY"u8)) operation.Verb = Verb.Add;
            else if (args.Remaining >= 2 && args.TryKeyword("OVERFLOW"u8))
            {
                overflow = ReadOverflow(ref args);
                continue;
            }
            else
            {
                args.SyntaxError();
                break;
            }

            operation.Field = ReadField(ref args);
            operation.FirstBit = ReadOffset(ref args, operation.Field.Bits, lastBit, badOffset);
            if (operation.Verb != Verb.Get)
            {
                operation.Number = args.NextInt64();
                program.Writes = true;
                program._lastBitWritten =
                    Math.Max(program._lastBitWritten, operation.FirstBit + operation.Field.Bits - 1);
            }

            program.Add(operation);
        }

        return program;
    }

    /// <summary>Does it and answers.</summary>
    public void Run(ref CommandContext context, in Key key)
    {
        var status = Writes ? context.Store.Update(key, DataType.String, ref this)
            : context.Store.Read(key, DataType.String, ref this);
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound))
        {
            context.Fail(Errors.For(status));
            return;
        }

        context.CountChanges(_changes);
        context.Reply.WriteArray(_count);
        for (int i = 0; i < _count; i++)
        {
            ref Operation operation = ref _operations[i];
            if (operation.Failed) context.Reply.WriteNull();
            // an absent string is all zeros
            else context.Reply.WriteInteger(status == StoreStatus.Ok ? operation.Result : 0);
        }
    }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Debug.Assert(!Writes, "what writes is no read");
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        ReadOnlySpan<byte> bytes = value.Kind == ValueKind.Integer
            ? digits[..NumberText.FormatInt64(value.Integer, digits)] : value.Bytes;
        for (int i = 0; i < _count; i++)
            _operations[i].Result = _operations[i].Field.Read(bytes, _operations[i].FirstBit);
    }

    /// <inheritdoc/>
    public Change Decide(in ValueView current, ref NewValue next)
    {
        Debug.Assert(Writes && _lastBitWritten >= 0, "what only reads changes nothing");
        long length = current.Exists ? current.StringLength : 0;
        next.Length = Math.Max(length, (_lastBitWritten >> 3) + 1);
        next.KeepContent = true;
        next.Kind = ValueKind.GrowingString;
        _grows = next.Length != length;
        _changes = 0;
        // Who watches the key is told of changes only.
        return !_grows && ChangesNothing(current) ? Change.None : Change.Replace;
    }

    /// <summary>Runs the operations for as long as they write what is there already.</summary>
    private readonly bool ChangesNothing(in ValueView current)
    {
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        ReadOnlySpan<byte> bytes = current.Kind == ValueKind.Integer
            ? digits[..NumberText.FormatInt64(current.Integer, digits)] : current.Bytes;
        for (int i = 0; i < _count; i++)
            if (Run(ref _operations[i], bytes, out long old, out long result) && result != old) return false;
        return true;
    }

    /// <summary>Finds an operation's result.</summary>
    /// <returns>Whether it writes a number.</returns>
    private static bool Run(ref Operation operation, ReadOnlySpan<byte> bytes, out long old, out long result)
    {
        operation.Result = old = result = operation.Field.Read(bytes, operation.FirstBit);
        if (operation.Verb == Verb.Get) return false;
        bool adds = operation.Verb == Verb.Add;
        // What SET writes into an unsigned field is 64 bits without a sign.
        bool fits = operation.Field.TryAdd(adds ? old : operation.Number, adds ? operation.Number : 0,
            operation.Overflow, out result);
        operation.Failed = !fits;
        if (fits && adds) operation.Result = result;
        return fits;
    }

    /// <inheritdoc/>
    public void Write(Span<byte> destination)
    {
        Debug.Assert(destination.Length > _lastBitWritten >> 3, "the string has all bits that are written");
        _changes = 0;
        for (int i = 0; i < _count; i++)
        {
            ref Operation operation = ref _operations[i];
            if (!Run(ref operation, destination, out long old, out long result)) continue;
            operation.Field.Write(destination, operation.FirstBit, result);
            if (_grows || result != old) _changes++;
        }
    }

    public void Dispose() => ArrayPool<Operation>.Shared.Return(_operations);

    private void Add(in Operation operation)
    {
        if (_count == _operations.Length)
        {
            Operation[] larger = ArrayPool<Operation>.Shared.Rent(2 * _count);
            _operations.CopyTo(larger, 0);
            ArrayPool<Operation>.Shared.Return(_operations);
            _operations = larger;
        }

        _operations[_count++] = operation;
    }

    private static BitOverflow ReadOverflow(ref CommandArguments args)
    {
        if (args.TryKeyword("WRAP"u8)) return BitOverflow.Wrap;
        if (args.TryKeyword("SAT"u8)) return BitOverflow.Saturate;
        if (!args.TryKeyword("FAIL"u8)) args.Fail("ERR Invalid OVERFLOW type specified"u8);
        return BitOverflow.Fail;
    }

    private static BitField ReadField(ref CommandArguments args)
    {
        ReadOnlySpan<byte> text = args.NextBytes();
        bool signed = text.Length > 0 && text[0] == 'i';
        if (text.Length > 1 && (signed || text[0] == 'u') && NumberText.TryParseInt64(text[1..], out long bits)
            && bits >= 1 && bits <= (signed ? 64 : 63))
            return new BitField(signed, (byte)bits);
        args.Fail("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."u8);
        return new BitField(false, 1);
    }

    private static long ReadOffset(ref CommandArguments args, int bits, long lastBit, ReadOnlySpan<byte> badOffset)
    {
        ReadOnlySpan<byte> text = args.NextBytes();
        bool counts = text.Length > 0 && text[0] == '#';      // in fields, not in bits
        if (NumberText.TryParseInt64(counts ? text[1..] : text, out long offset) && offset >= 0
            && offset <= (counts ? lastBit / bits : lastBit))
            return counts ? offset * bits : offset;
        args.Fail(badOffset);
        return 0;
    }

    private enum Verb : byte
    {
        Get,
        Set,
        Add,
    }

    private struct Operation
    {
        public Verb Verb;
        public BitField Field;
        public BitOverflow Overflow;
        public bool Failed;
        public long FirstBit;
        public long Number;
        public long Result;
    }
}
