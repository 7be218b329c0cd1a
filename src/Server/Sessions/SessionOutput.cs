using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  one turn's replies, session after session:
//
//   Buffer   | +OK\r\n$70000\r\n         \r\n$3\r\nabc\r\n | ...next session
//                              ^ 13
//   References                { offset 13, block of 70,000 }       sent there, from the block itself

/// <summary>Where the replies of a turn are written: bytes, and in between references to blocks, which are sent without
/// a copy.</summary>
/// <remarks>Threads: one worker or lease.</remarks>
internal sealed unsafe class SessionOutput : IDisposable
{
    private readonly Queue<BlockReference> _references = new();
    private readonly Store _store;
    private RdbValueWriter? _valueWriter;

    public SessionOutput(Store store)
    {
        _store = store;
        Reply = new ReplyWriter(Buffer);
    }

    public OutputBuffer Buffer { get; } = new(64 * 1024, 1024 * 1024, ReplyMemory.Instance);

    public ReplyWriter Reply { get; }

    /// <summary>Writes values for DUMP; its memory is kept for the next DUMP.</summary>
    public RdbValueWriter ValueWriter => _valueWriter ??= new RdbValueWriter(_store);

    /// <summary>References to blocks that have not been taken for sending yet.</summary>
    public int ReferenceCount => _references.Count;

    /// <summary>Bytes that are to be sent from blocks.</summary>
    public long ReferencedBytes { get; private set; }

    /// <summary>Whether a block is to be sent before the buffer's offset <paramref name="end"/>.</summary>
    public bool HasReference(int end) => _references.Count > 0 && _references.Peek().Offset < end;

    /// <summary>Takes the next block to be sent before the buffer's offset <paramref name="end"/>; the caller releases
    /// it.</summary>
    public bool TryTakeReference(int end, out BlockReference reference)
    {
        reference = default;
        if (!HasReference(end)) return false;
        reference = _references.Dequeue();
        ReferencedBytes -= reference.Length;
        Debug.Assert(ReferencedBytes >= 0, "the bytes of a reference are counted once");
        return true;
    }

    /// <summary>Releases the blocks before the buffer's offset <paramref name="end"/>: their client is gone.</summary>
    public void DropReferences(int end)
    {
        while (TryTakeReference(end, out var reference)) _store.Release(reference.Block);
    }

    /// <summary>Writes a bulk string whose body stays in its block. Takes the caller's reference.</summary>
    /// <exception cref="ReplyTooLargeException">Nothing was written, the reference is released.</exception>
    public void WriteBlock(ReplyWriter reply, Block block) => WriteBlock(reply, block, 0, (int)block.Length);

    /// <summary>Writes a part of a block as a bulk string, without a copy. Takes the caller's reference.</summary>
    /// <exception cref="ReplyTooLargeException">Nothing was written, the reference is released.</exception>
    public void WriteBlock(ReplyWriter reply, Block block, int first, int length)
    {
        Debug.Assert(!block.IsNone && first >= 0 && length >= 0 && first + (long)length <= block.Capacity,
            "the part is within the block");
        Span<byte> header = stackalloc byte[24];
        header[0] = RespType.Bulk;
        int digits = NumberText.FormatInt64(length, header[1..]);
        long bytes = 3L + digits + length + 2;
        if (ReferencedBytes + Buffer.Length + bytes > Buffer.LimitBytes) CheckLimit(block, bytes);
        "\r\n"u8.CopyTo(header[(1 + digits)..]);
        reply.WriteRaw(header[..(3 + digits)], 0);
        AddReference(new BlockReference(Buffer.Length, block, first, length));
        reply.WriteRaw("\r\n"u8);
    }

    /// <summary>Notes a part of a block to be sent after what is in the buffer now. Takes the caller's
    /// reference.</summary>
    public void AddReference(BlockReference reference)
    {
        Debug.Assert(!reference.Block.IsNone && reference.Length >= 0, "a reference is to a part of a block");
        _references.Enqueue(reference with { Offset = Buffer.Length });
        ReferencedBytes += reference.Length;
    }

    /// <summary>Forgets what was written since the mark.</summary>
    public void Rewind(ReplyMark mark)
    {
        Debug.Assert(mark.Length <= Buffer.Length, "a mark is in what has been written");
        if (_references.Count > 0) RewindReferences(mark.Length);
        Reply.Rewind(mark);
    }

    public void Dispose()
    {
        DropReferences(int.MaxValue);
        Reply.Dispose();
        _valueWriter?.Dispose();
        _valueWriter = null;
    }

    // The buffer may hold other replies, which do not count: this is called only when all together are near the limit.
    private void CheckLimit(Block block, long bytes)
    {
        bytes += Buffer.Length - Buffer.LimitFrom;
        foreach (var reference in _references)
            if (reference.Offset > Buffer.LimitFrom) bytes += reference.Length;
        if (bytes <= Buffer.LimitBytes) return;
        _store.Release(block);
        throw new ReplyTooLargeException(bytes);
    }

    private void RewindReferences(int length)
    {
        // Once around the queue: references before the length stay, in their order.
        for (int i = _references.Count; i > 0; i--)
        {
            var reference = _references.Dequeue();
            if (reference.Offset <= length)
            {
                _references.Enqueue(reference);
                continue;
            }

            ReferencedBytes -= reference.Length;
            _store.Release(reference.Block);
        }
    }

    /// <summary>A part of a block, to be sent after the first <paramref name="Offset"/> bytes of the buffer.</summary>
    public readonly record struct BlockReference(int Offset, Block Block, int First, int Length);
}
