using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>BITOP: the first key of a list becomes the combination of the others.</summary>
/// <remarks>
/// All keys are held while up to 4 MB are combined. More is combined in steps from what the sources were at one instant; then
/// the keys are held and, if no source has changed, the result is set; else it begins anew, the third time under the hold.
/// </remarks>
internal static class BitCombination
{
    private const long BytesAtOnceMax = 4 * 1024 * 1024;
    private const int ChunkBytes = 4096;

    /// <summary>Answers the length of the result, at once or in later turns.</summary>
    public static void Run(ref CommandContext context, BitOperation operation, KeyList keys)
    {
        using HeldKeys held = context.Store.Hold(keys);
        if (held.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(held.Status));
            return;
        }

        long bytes = 0, longest = 0;
        for (int i = 1; i < keys.Count; i++)
        {
            ValueView source = held.View(i);
            if (!source.Exists) continue;
            if (source.Type != DataType.String)
            {
                context.Fail(Errors.WrongType);
                return;
            }

            bytes += source.StringLength;
            longest = Math.Max(longest, source.StringLength);
        }

        if (bytes > BytesAtOnceMax) context.Continue(new BitCombinationSteps(context.Store, operation, keys, context.Session.Database));
        else Finish(ref context, operation, held, keys.Count, longest);
    }

    /// <summary>Combines held keys and answers.</summary>
    internal static void Finish(ref CommandContext context, BitOperation operation, in HeldKeys held, int count, long longest)
    {
        StoreStatus status = StoreStatus.Ok;
        if (longest == 0)
        {
            held.Delete(0);
        }
        else
        {
            var update = new Combine { Operation = operation, Held = held, Count = count, Length = longest };
            status = held.Update(0, DataType.Any, ref update);
        }

        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(longest);
        else context.Fail(Errors.For(status));
    }

    /// <summary>Combines a part of all sources.</summary>
    /// <param name="accumulated">Of the sources before; the combination goes there. It begins as a copy of the first source's part.</param>
    internal static void Add(BitOperation operation, Span<byte> accumulated, ReadOnlySpan<byte> source, long offset)
    {
        ReadOnlySpan<byte> part = Part(source, offset, accumulated.Length);
        Bitmap.Combine(operation, accumulated, accumulated, part);
    }

    /// <summary>Begins a part with the first source.</summary>
    internal static void Begin(BitOperation operation, Span<byte> accumulated, ReadOnlySpan<byte> source, long offset)
    {
        ReadOnlySpan<byte> part = Part(source, offset, accumulated.Length);
        part.CopyTo(accumulated);
        accumulated[part.Length..].Clear();
        if (operation == BitOperation.Not) Bitmap.Not(accumulated, accumulated);
    }

    private static ReadOnlySpan<byte> Part(ReadOnlySpan<byte> source, long offset, int length) =>
        offset >= source.Length ? default : source.Slice((int)offset, (int)Math.Min(length, source.Length - offset));

    /// <summary>Writes the combination over the destination, which may be one of the sources.</summary>
    /// <remarks>
    /// One or two sources are combined byte by byte where they lie: each byte is read before it is written. Of more, each chunk
    /// is combined apart before it is written: what is written lies at or before what is read next.
    /// </remarks>
    private ref struct Combine : IValueUpdate
    {
        public BitOperation Operation;
        public HeldKeys Held;
        public int Count;
        public long Length;

        public readonly Change Decide(in ValueView current, ref NewValue next)
        {
            next.Kind = ValueKind.GrowingString;
            next.Length = Length;
            next.ExpiryMs = NewValue.NoExpiry;
            // Then it is written in place, and what it grows by reads as zeros where the destination is a source, too.
            next.KeepContent = current.Exists && current.Kind is ValueKind.BlockString or ValueKind.GrowingString;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination)
        {
            Span<byte> digits = stackalloc byte[2 * NumberText.MaxInt64Bytes];
            if (Count == 2 && Operation == BitOperation.Not) Bitmap.Not(destination, Source(1, digits));
            else if (Count == 2) Source(1, digits).CopyTo(destination);
            else if (Count == 3) Bitmap.Combine(Operation, destination, Source(1, digits), Source(2, digits[NumberText.MaxInt64Bytes..]));
            else WriteChunks(destination, digits);
        }

        private readonly ReadOnlySpan<byte> Source(int index, Span<byte> digits)
        {
            ValueView view = Held.View(index);
            return !view.Exists ? default
                : view.Kind == ValueKind.Integer ? digits[..NumberText.FormatInt64(view.Integer, digits)]
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
    }
}
