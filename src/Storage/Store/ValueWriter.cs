using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Writes the content of values: in a record's place, or in a block of its own.</summary>
/// <remarks>Threads: whoever has locked the record, or made it and told nobody.</remarks>
internal static unsafe class ValueWriter
{
    private const int SmallestCapacity = 16;
    private const long LargestDoubling = 1 << 20;

    /// <summary>Bytes of content that are already where the new content goes.</summary>
    public static int KeptBytes(byte* value, ValueKind kind, ValueKind oldKind, int oldBytes)
    {
        if (kind != oldKind) return 0;
        return kind == ValueKind.GrowingString ? (int)Unsafe.ReadUnaligned<uint>(value) : oldBytes;
    }

    /// <summary>Fills a value in its place; with KeepContent the kept bytes stay, and zeros fill up.</summary>
    public static void WriteValue<TUpdate>(byte* value, ValueKind kind, int keptBytes, ref NewValue next,
        ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        if (kind == ValueKind.Integer)
        {
            Unsafe.WriteUnaligned(value, next.Integer);
            return;
        }

        int length = (int)next.Length;
        byte* content = value;
        if (kind == ValueKind.GrowingString)
        {
            Unsafe.WriteUnaligned(value, (uint)length);
            content = value + sizeof(uint);
        }

        Debug.Assert(keptBytes >= 0 && length <= RecordWord.InlineValueMax, "what is longer is in a block");
        var destination = new Span<byte>(content, length);
        if (next.KeepContent && keptBytes < length) destination[keptBytes..].Clear();
        update.Write(destination);
    }

    /// <summary>Puts what KeepContent keeps where the new value goes.</summary>
    /// <returns>How many bytes of content that is.</returns>
    public static int CopyContent(in ValueView current, ValueKind kind, byte* value, long length)
    {
        if (!current.Exists) return 0;
        Span<byte> digits = stackalloc byte[24];
        ReadOnlySpan<byte> content = ContentOf(current, digits);
        int kept = (int)Math.Min(content.Length, length);
        if (kind == ValueKind.GrowingString) value += sizeof(uint);
        content[..kept].CopyTo(new Span<byte>(value, kept));
        return kept;
    }

    private static ReadOnlySpan<byte> ContentOf(in ValueView current, Span<byte> digits)
    {
        Debug.Assert(current.Type == DataType.String, "only strings have content to keep");
        if (current.Kind != ValueKind.Integer) return current.Bytes;
        current.Integer.TryFormat(digits, out int length);
        return digits[..length];
    }

    /// <summary>Whether a new value is too long for a record, or comes in a block.</summary>
    public static bool NeedsBlock(in NewValue next) =>
        !next.Block.IsNone || (next.Kind != ValueKind.Integer
            && next.Length > RecordWord.InlineValueMax - sizeof(uint));

    /// <summary>The block of a new value: adopted, or made and filled.</summary>
    public static Block TakeBlock<TUpdate>(MemoryBudget budget, ref NewValue next, ref TUpdate update,
        in ValueView current)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        if (!next.Block.IsNone)
        {
            next.Block.AddReference();
            return next.Block;
        }

        long capacity = next.Kind == ValueKind.GrowingString ? GrownCapacity(next.Length) : next.Length;
        Block block = Block.Allocate(next.Length, capacity, budget, isZeroed: next.KeepContent);
        if (block.IsNone) return block;
        if (!next.KeepContent) block.Prepare(next.Length);      // else perhaps most of it is zeros that nobody writes
        var destination = new Span<byte>(block.Content, (int)next.Length);
        if (next.KeepContent && current.Exists)
        {
            Span<byte> digits = stackalloc byte[24];
            ReadOnlySpan<byte> content = ContentOf(current, digits);
            content[..(int)Math.Min(content.Length, next.Length)].CopyTo(destination);
        }

        try
        {
            Fault.Point("block.fill");
            update.Write(destination);
        }
        catch
        {
            RecordBuilder.ReleaseNow(block);
            throw;
        }

        return block;
    }

    /// <summary>Content and spare of a string that grows.</summary>
    /// <remarks>Doubling keeps the copies of N appends at N bytes in all; past 1 MB the spare would cost more than the
    /// copies.</remarks>
    public static long GrownCapacity(long length)
    {
        if (length >= LargestDoubling) return Math.Min(length + LargestDoubling, Store.ValueBytesMax);
        long capacity = SmallestCapacity;
        while (capacity < length) capacity *= 2;
        return capacity > RecordWord.InlineValueMax / 2 && length <= RecordWord.InlineValueMax - sizeof(uint)
            ? RecordWord.InlineValueMax - sizeof(uint)
            : capacity;
    }

    /// <summary>Gives a block's content another length within its capacity; what is new is zeros.</summary>
    public static void Resize(Block block, long length)
    {
        Debug.Assert(block.IsExclusive && length <= block.Capacity, "only who alone has a block changes its length");
        long old = block.Length;
        if (length > old) new Span<byte>(block.Content + old, (int)(length - old)).Clear();
        block.SetLength(length);
    }
}
