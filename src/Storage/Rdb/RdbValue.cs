using System.Buffers;
using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>A value that was read and is no key's yet.</summary>
/// <remarks>Whoever makes one disposes it: what no key has taken is freed.</remarks>
internal unsafe struct RdbValue
{
    private readonly Store _store;
    private byte* _start;
    private int _length;
    private Block _block;
    private int _integerWidth;

    public RdbValue(Store store)
    {
        _store = store;
        List = new ListBuilder(store.Budget);
        Hash = new HashBuilder(store);
        Set = new SetBuilder(store);
        SortedSet = new SortedSetBuilder(store) { MayBeInOrder = true };
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
    public readonly int ExpectedBytes =>
        Type == DataType.String && _block.IsNone && _length <= RecordWord.InlineValueMax ? _length : sizeof(long);

    private readonly ReadOnlySpan<byte> Bytes => new(_start, _length);

    /// <summary>Makes it a string. The bytes, of native memory, have to stay until it is stored.</summary>
    /// <param name="block">None, or a block that has the same content, with a reference for this.</param>
    public void SetString(ReadOnlySpan<byte> bytes, Block block)
    {
        Debug.Assert(block.IsNone || block.Length == bytes.Length, "the block has the same content");
        Type = DataType.String;
        Keep(bytes);
        _block = block;
    }

    /// <summary>Makes it a set of integers: ascending, little endian, few enough for an array. The bytes, of native
    /// memory, have to stay until it is stored.</summary>
    public void SetIntegers(ReadOnlySpan<byte> numbers, int width)
    {
        Debug.Assert(width is 2 or 4 or 8 && numbers.Length % width == 0, "each number is as wide");
        Debug.Assert(numbers.Length / width <= IntegerSet.CountMax, "they are few enough for an array");
        Type = DataType.Set;
        Keep(numbers);
        _integerWidth = width;
    }

    /// <summary>Makes it the value of a key, whatever was there.</summary>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Store(HeldValue target, long expiryMs) => Type switch
    {
        DataType.Stream => StoreStream(target, expiryMs),
        DataType.String => target.TryReplace(ValueKind.String, Bytes, expiryMs, _block),
        DataType.List => List.Store(target, expiryMs),
        DataType.Hash => Hash.Store(target, expiryMs),
        DataType.SortedSet => SortedSet.Store(target, expiryMs),
        _ => _integerWidth != 0 ? StoreIntegers(target, expiryMs) : Set.Store(target, expiryMs),
    };

    // Where they are, nothing moves them: in native memory.
    private void Keep(ReadOnlySpan<byte> bytes)
    {
        _start = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(bytes));
        _length = bytes.Length;
    }

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
        int bytes = Math.Max(sizeof(long), IntegerSet.HeaderBytes + _length);
        byte[] content = ArrayPool<byte>.Shared.Rent(bytes);
        BinaryPrimitives.WriteUInt16LittleEndian(content, (ushort)(_length / _integerWidth));
        content[2] = (byte)_integerWidth;
        content[3] = 0;
        Bytes.CopyTo(content.AsSpan(IntegerSet.HeaderBytes));
        var status = target.TryReplace(ValueKind.IntegerSet, content.AsSpan(0, bytes), expiryMs);
        ArrayPool<byte>.Shared.Return(content);
        return status;
    }
}
