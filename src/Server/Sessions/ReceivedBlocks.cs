using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>The large arguments of a command that is arriving, each in a block of its own.</summary>
/// <remarks>Threads: the session's own. Holds one reference to each block until <see cref="Release"/>.</remarks>
internal sealed unsafe class ReceivedBlocks
{
    private const int FirstBytes = 64 * 1024;

    private readonly List<Block> _complete = [];

    /// <summary>The block that is being filled; none when the command waits for something else.</summary>
    public Block Current { get; private set; }

    /// <summary>Bytes of <see cref="Current"/> received so far.</summary>
    public int Received { get; private set; }

    /// <summary>Length of <see cref="Current"/>.</summary>
    public int Expected { get; private set; }

    public bool IsFilling => !Current.IsNone;

    /// <summary>Bytes of all blocks.</summary>
    public long Bytes { get; private set; }

    /// <summary>Takes the part of a large argument that has arrived out of the input, into a block of its
    /// own.</summary>
    /// <param name="command">The command's first byte.</param>
    /// <param name="length">Bytes of it that have arrived.</param>
    /// <returns>What is left of the input: the head of the command; all of it when there is no memory for a block: then
    /// the argument is received like any other, and the command's own checks answer.</returns>
    public static int Begin(Session session, StoreSession store, byte* command, int length)
    {
        int bytes = session.Partial.BigBulkLength;
        int head = session.Partial.BigBulkOffset;
        // It was read ahead while the client waited, and the turn ended before the parser looked at it again.
        if (length - head >= bytes) return length;
        Debug.Assert(session.Blocks is not { IsFilling: true }, "one at a time");
        var block = store.AllocateBlock(bytes);
        if (block.IsNone) return length;
        var blocks = session.Blocks ??= new ReceivedBlocks();
        blocks.Current = block;
        blocks.Expected = bytes;
        blocks.Bytes += bytes;
        blocks.Received = 0;
        block.Prepare(length - head);
        Buffer.MemoryCopy(command + head, block.Content, bytes, length - head);
        blocks.Advance(length - head);
        return head;
    }

    /// <summary>Where so many bytes more go, at most as many as are still expected.</summary>
    public byte* Room(ref int bytes)
    {
        bytes = Math.Min(bytes, Expected - Received);
        // As much as has arrived, and a little: who announces a value and does not send it is to take no memory.
        Current.Prepare(Math.Min(Expected, Received + (long)Math.Min(bytes, Math.Max(FirstBytes, Received))));
        return Current.Content + Received;
    }

    /// <summary>So many bytes more have arrived in <see cref="Current"/>; they are paid for now, not when they were
    /// announced.</summary>
    public void Advance(int bytes)
    {
        Debug.Assert(IsFilling && bytes >= 0 && bytes <= Expected - Received, "no more than is expected");
        Received += bytes;
        Current.ChargeTo(Received);
    }

    /// <summary>When the current block is full, it joins the complete ones, and the parser learns of it.</summary>
    public void CompleteIfFull(Session session)
    {
        if (Received < Expected) return;
        var block = Current;
        _complete.Add(block);
        Current = default;
        session.Partial.CompleteBigBulk(block.Content, Expected);
    }

    /// <summary>The block whose content begins there.</summary>
    public Block Find(byte* content)
    {
        foreach (var block in _complete)
            if (block.Content == content) return block;
        throw new InvalidOperationException("an argument is in a block that the session does not have");
    }

    public void Release(StoreSession store)
    {
        foreach (var block in _complete) store.Release(block);
        _complete.Clear();
        if (!Current.IsNone) store.Release(Current);
        Current = default;
    }

    /// <summary>The same outside of a turn, when all have arrived.</summary>
    public void Release(Store store)
    {
        foreach (var block in _complete) store.Release(block);
        _complete.Clear();
    }
}
