using System.Buffers;
using System.Buffers.Binary;

namespace Kv.Storage;

/// <summary>A value that was read and is no key's yet.</summary>
/// <remarks>Whoever makes one disposes it: what no key has taken is freed.</remarks>
internal ref struct RdbValue
{
    private readonly Store _store;
    private ReadOnlySpan<byte> _bytes;
    private Block _block;
    private int _integerWidth;

    public RdbValue(Store store)
    {
        _store = store;
        List = new ListBuilder(store.Budget);
        Hash = new HashBuilder(store.Budget, store.PackedLimits, in store.Hash);
        Set = new SetBuilder(store);
        SortedSet = new SortedSetBuilder(store);
    }

    /// <summary>What it is; Any as long as nothing was read.</summary>
    public DataType Type { get; set; }

    public ListBuilder List;
    public HashBuilder Hash;
    public SetBuilder Set;
    public SortedSetBuilder SortedSet;

    /// <summary>The memory of a stream.</summary>
    public Region Stream;

    /// <summary>What the record of a new key needs.</summary>
    public readonly int ExpectedBytes => Type == DataType.String && _block.IsNone && _bytes.Length <= RecordWord.InlineValueMax ? _bytes.Length : sizeof(long);

    /// <summary>Makes it a string. The bytes have to stay until it is stored.</summary>
    /// <param name="block">None, or a block that has the same content, with a reference for this.</param>
    public void SetString(ReadOnlySpan<byte> bytes, Block block)
    {
        Type = DataType.String;
        _bytes = bytes;
        _block = block;
    }

    /// <summary>Makes it a set of integers: ascending, little endian, few enough for an array. The bytes have to stay until it is stored.</summary>
    public void SetIntegers(ReadOnlySpan<byte> numbers, int width)
    {
        Type = DataType.Set;
        _bytes = numbers;
        _integerWidth = width;
    }

    /// <summary>Makes it the value of a key, whatever was there.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs) => Type switch
    {
        DataType.Stream => StoreStream(target, expiryMs),
        DataType.String => target.TryReplace(ValueKind.String, _bytes, expiryMs, _block),
        DataType.List => List.Store(target, expiryMs),
        DataType.Hash => Hash.Store(target, expiryMs),
        DataType.SortedSet => SortedSet.Store(target, expiryMs),
        _ => _integerWidth != 0 ? StoreIntegers(target, expiryMs) : Set.Store(target, expiryMs),
    };

    public void Dispose()
    {
        if (!_block.IsNone) _store.Release(_block);
        _block = default;
        List.Dispose();
        Hash.Dispose();
        Set.Dispose();
        SortedSet.Dispose();
        if (!Stream.IsNone) Stream.Free();
        Stream = default;
    }

    private StoreStatus StoreStream(HeldValue target, long expiryMs)
    {
        var status = target.TryReplace(ValueKind.Stream, Stream, expiryMs);
        if (status == StoreStatus.Ok) Stream = default;     // the record's now
        return status;
    }

    private readonly StoreStatus StoreIntegers(HeldValue target, long expiryMs)
    {
        int bytes = Math.Max(sizeof(long), IntegerSet.HeaderBytes + _bytes.Length);
        byte[] content = ArrayPool<byte>.Shared.Rent(bytes);
        BinaryPrimitives.WriteUInt16LittleEndian(content, (ushort)(_bytes.Length / _integerWidth));
        content[2] = (byte)_integerWidth;
        content[3] = 0;
        _bytes.CopyTo(content.AsSpan(IntegerSet.HeaderBytes));
        var status = target.TryReplace(ValueKind.IntegerSet, content.AsSpan(0, bytes), expiryMs);
        ArrayPool<byte>.Shared.Return(content);
        return status;
    }
}
