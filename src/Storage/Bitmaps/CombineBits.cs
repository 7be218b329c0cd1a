using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Writes the combination over the destination, which may be one of the sources.</summary>
/// <remarks>
/// One or two sources are combined byte by byte where they lie: each byte is read before it is written. Of more, each
/// chunk is combined apart before it is written: what is written lies at or before what is read next.
/// </remarks>
internal ref struct CombineBits : IValueUpdate
{
    private const int ChunkBytes = 4096;

    public BitOperation Operation;

    /// <summary>The destination, then the sources.</summary>
    public HeldKeys Held;

    /// <summary>Of them.</summary>
    public int Count;

    /// <summary>Bytes of the longest source.</summary>
    public long Length;

    /// <inheritdoc/>
    public readonly Change Decide(in ValueView current, ref NewValue next)
    {
        next.Kind = ValueKind.GrowingString;
        next.Length = Length;
        next.ExpiryMs = NewValue.NoExpiry;
        // Then it is written in place, and what it grows by reads as zeros where the destination is a source, too.
        next.KeepContent = current.Exists && current.Kind is ValueKind.BlockString or ValueKind.GrowingString;
        return Change.Replace;
    }

    /// <inheritdoc/>
    public readonly void Write(Span<byte> destination)
    {
        Debug.Assert(destination.Length == Length && Count >= 2, "the result is as long as the longest source");
        Debug.Assert(Operation != BitOperation.Not || Count == 2, "one string has an opposite");
        Span<byte> digits = stackalloc byte[2 * IntegerText.DigitsMax];
        if (Count == 2 && Operation == BitOperation.Not) Bitmap.Not(destination, Source(1, digits));
        else if (Count == 2) Source(1, digits).CopyTo(destination);
        else if (Count == 3)
            Bitmap.Combine(Operation, destination, Source(1, digits), Source(2, digits[IntegerText.DigitsMax..]));
        else WriteChunks(destination, digits);
    }

    private readonly ReadOnlySpan<byte> Source(int index, Span<byte> digits)
    {
        ValueView view = Held.View(index);
        return !view.Exists ? default
            : view.Kind == ValueKind.Integer ? IntegerText.Format(view.Integer, digits)
            : view.Bytes;
    }

    private readonly void WriteChunks(Span<byte> destination, Span<byte> digits)
    {
        Span<byte> chunk = stackalloc byte[ChunkBytes];
        for (int at = 0; at < destination.Length; at += ChunkBytes)
        {
            Span<byte> part = chunk[..Math.Min(ChunkBytes, destination.Length - at)];
            for (int i = 1; i < Count; i++)
            {
                ReadOnlySpan<byte> source = Source(i, digits);
                if (i == 1) Begin(Operation, part, source, at);
                else Add(Operation, part, source, at);
            }

            part.CopyTo(destination[at..]);
        }
    }

    /// <summary>Combines a part of all sources.</summary>
    /// <param name="accumulated">Of the sources before; the combination goes there. It begins as a copy of the first
    /// source's part.</param>
    public static void Add(BitOperation operation, Span<byte> accumulated, ReadOnlySpan<byte> source, long offset)
    {
        ReadOnlySpan<byte> part = Part(source, offset, accumulated.Length);
        Bitmap.Combine(operation, accumulated, accumulated, part);
    }

    /// <summary>Begins a part with the first source.</summary>
    public static void Begin(BitOperation operation, Span<byte> accumulated, ReadOnlySpan<byte> source, long offset)
    {
        ReadOnlySpan<byte> part = Part(source, offset, accumulated.Length);
        part.CopyTo(accumulated);
        accumulated[part.Length..].Clear();
        if (operation == BitOperation.Not) Bitmap.Not(accumulated, accumulated);
    }

    private static ReadOnlySpan<byte> Part(ReadOnlySpan<byte> source, long offset, int length) =>
        offset >= source.Length ? default : source.Slice((int)offset, (int)Math.Min(length, source.Length - offset));
}
