namespace Kv.Storage;

/// <summary>Strings of a session's database as bits. <see cref="StoreTypes"/> says what holds for all
/// operations.</summary>
/// <remarks>Bit 0 is the highest of the first byte, as in Redis. Past the end of a string, and without one, all bits
/// are 0.</remarks>
public readonly struct StoreBitmaps
{
    /// <summary>The highest bit that a string may have: those of 512 MB.</summary>
    public const long BitMax = (Store.ValueBytesMax * 8) - 1;

    private readonly StoreSession _session;

    internal StoreBitmaps(StoreSession session) => _session = session;

    /// <summary>Reads a bit.</summary>
    /// <param name="key">The key.</param>
    /// <param name="bit">From 0 to <see cref="BitMax"/>.</param>
    /// <param name="isSet">False unless the status is Ok.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Get(ReadOnlySpan<byte> key, long bit, out bool isSet)
    {
        Check(bit);
        var read = new ReadOneBit { Offset = bit };
        var status = _session.Read(_session.Key(key), DataType.String, ref read);
        isSet = status == StoreStatus.Ok && read.On;
        return status;
    }

    /// <summary>Writes a bit; the string grows to have it.</summary>
    /// <param name="key">The key.</param>
    /// <param name="bit">From 0 to <see cref="BitMax"/>.</param>
    /// <param name="value">Whether it is to be set.</param>
    /// <param name="wasSet">What it was before.</param>
    /// <returns>Ok, WrongType or OutOfMemory.</returns>
    /// <remarks>Cost: O(1), and zeros up to it where the string grows.</remarks>
    public StoreStatus Set(ReadOnlySpan<byte> key, long bit, bool value, out bool wasSet)
    {
        Check(bit);
        var set = new SetOneBit { Offset = bit, On = value };
        var status = _session.Update(_session.Key(key), DataType.String, ref set);
        wasSet = status == StoreStatus.Ok && set.Old;
        // what it says of a key that had no value
        return status == StoreStatus.NotFound ? StoreStatus.Ok : status;
    }

    /// <summary>Counts the bits that are set.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count) => Count(key, 0, BitMax, out count);

    /// <summary>Counts the bits that are set, from one to another, both of them too.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">At least 0.</param>
    /// <param name="last">May be past the end.</param>
    /// <param name="count">How many.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(bytes), some 20 GB a second; nobody waits.</remarks>
    public StoreStatus Count(ReadOnlySpan<byte> key, long first, long last, out long count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(first);
        var scan = new ScanBits { First = first, Last = last };
        var status = _session.Read(_session.Key(key), DataType.String, ref scan);
        count = status == StoreStatus.Ok ? scan.Result : 0;
        return status;
    }

    /// <summary>Finds the first bit from one on that is set, or that is not.</summary>
    /// <param name="key">The key.</param>
    /// <param name="value">Which of the two.</param>
    /// <param name="from">At least 0.</param>
    /// <param name="bit">Where it is; -1: the string has none.</param>
    /// <returns>Ok (look at the bit), NotFound (no such key) or WrongType.</returns>
    /// <inheritdoc cref="Count(ReadOnlySpan{byte}, long, long, out long)" path="/remarks"/>
    public StoreStatus Find(ReadOnlySpan<byte> key, bool value, long from, out long bit)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(from);
        var scan = new ScanBits { First = from, Last = BitMax, Finds = true, Bit = value };
        var status = _session.Read(_session.Key(key), DataType.String, ref scan);
        bit = status == StoreStatus.Ok ? scan.Result : -1;
        return status;
    }

    /// <summary>Makes a combination of strings the value of a key, whatever was there, as one step; of no bytes: the
    /// key is deleted.</summary>
    /// <param name="operation">How they are combined; <see cref="BitOperation.Not"/> takes one.</param>
    /// <param name="destination">The key that takes the result; may be one of them.</param>
    /// <param name="keys">At least one; shorter ones count as followed by zeros, missing ones as empty.</param>
    /// <param name="bytes">Length of the result, that of the longest.</param>
    /// <returns>Ok, WrongType (of any but the destination) or OutOfMemory: nothing was changed.</returns>
    /// <remarks>Cost: O(bytes of all); others who want the keys wait.</remarks>
    public StoreStatus CombineInto(BitOperation operation, ReadOnlySpan<byte> destination,
        ReadOnlySpan<ReadOnlyMemory<byte>> keys, out long bytes)
    {
        ArgumentOutOfRangeException.ThrowIfZero(keys.Length, nameof(keys));
        if (operation == BitOperation.Not && keys.Length != 1)
            throw new ArgumentException("Not takes one key.", nameof(keys));
        bytes = 0;
        using HeldKeys held = _session.HoldMany(keys, destination, hasDestination: true);
        if (held.Status != StoreStatus.Ok) return held.Status;
        long longest = 0;
        for (int i = 1; i <= keys.Length; i++)
        {
            ValueView source = held.View(i);
            if (!source.Exists) continue;
            if (source.Type != DataType.String) return StoreStatus.WrongType;
            longest = Math.Max(longest, source.StringLength);
        }

        if (longest == 0)
        {
            held.Delete(0);
            return StoreStatus.Ok;
        }

        var combine = new CombineBits { Operation = operation, Held = held, Count = keys.Length + 1, Length = longest };
        var status = held.Update(0, DataType.Any, ref combine);
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) return status;
        bytes = longest;
        return StoreStatus.Ok;
    }

    private static void Check(long bit)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bit);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bit, BitMax);
    }

    /// <summary>Counts or looks for bits.</summary>
    private struct ScanBits : IValueRead
    {
        public long First, Last;
        public bool Finds, Bit;

        public long Result { get; private set; }

        public void Read(in ValueView value)
        {
            Span<byte> digits = stackalloc byte[IntegerText.DigitsMax];
            ReadOnlySpan<byte> bytes = value.Kind == ValueKind.Integer
                ? IntegerText.Format(value.Integer, digits) : value.Bytes;
            long last = Math.Min(Last, (bytes.Length * 8L) - 1);
            if (First > last) Result = Finds ? -1 : 0;
            else Result = Finds ? Bitmap.Find(bytes, Bit, First, last) : Bitmap.Count(bytes, First, last);
        }
    }
}
