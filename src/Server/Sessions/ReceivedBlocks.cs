using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>The large arguments of a command that is arriving, each in a block of its own.</summary>
/// <remarks>Threads: the session's own. Holds one reference to each block until <see cref="Release"/>.</remarks>
internal sealed unsafe class ReceivedBlocks
{
    /// <summary>An argument gets a block when this many of its bytes are here. The first page of a block costs some
    /// 100 us on a virtual machine: 3,000 clients that announced 512 MB and sent a byte made others wait for half a
    /// second.</summary>
    private const int BeginBytes = 4096;

    private const int FirstBytes = 4 * BeginBytes;

    /// <summary>How much of an argument that is thrown away is received at once.</summary>
    private const int DiscardBytes = 256 * 1024;

    private readonly List<Block> _complete = [];
    private long _completeBytes;

    /// <summary>The block that is being filled, or none.</summary>
    public Block Current { get; private set; }

    /// <summary>Bytes of <see cref="Current"/> received so far.</summary>
    public int Received { get; private set; }

    /// <summary>Length of <see cref="Current"/>.</summary>
    public int Expected { get; private set; }

    public bool IsFilling => !Current.IsNone;

    /// <summary>Bytes of all blocks.</summary>
    public long Bytes { get; private set; }

    /// <summary>Bytes that have come.</summary>
    public long HeldBytes => HasDiscarded ? 0 : _completeBytes + (IsFilling ? Received : 0);

    /// <summary>Whether the command is refused where memory is short (<see cref="ArrivalRoom"/>).</summary>
    public bool NeedsRoom { get; set; }

    /// <summary>Whether what comes of <see cref="Current"/> is thrown away.</summary>
    public bool IsDiscarding { get; private set; }

    /// <summary>Whether an argument was thrown away: its block has its length, but not its content, and the command is
    /// to be refused.</summary>
    public bool HasDiscarded { get; private set; }

    /// <summary>Moves the part of a large argument that has arrived from the input into a block of its own.</summary>
    /// <param name="command">The command's first byte.</param>
    /// <param name="length">Bytes of the command that have arrived.</param>
    /// <returns>How many bytes of the input are left: those before the argument. All of them, if too little of the
    /// argument has arrived (call again when there is more), or if there is no memory for a block: then the argument
    /// is received like any other, and the command's own checks refuse it.</returns>
    public static int Begin(Session session, StoreSession store, byte* command, int length)
    {
        int bytes = session.Partial.BigBulkLength;
        int head = session.Partial.BigBulkOffset;
        // All of the argument may be here: read ahead while the client waited, in a turn that ended before the parser
        // looked at it again.
        if (length - head >= bytes || length - head < BeginBytes) return length;
        Debug.Assert(session.Blocks is not { IsFilling: true }, "one block is filled at a time");
        Debug.Assert(head >= 0 && head <= length, "the argument begins within what has arrived");
        var block = store.AllocateBlock(bytes);
        if (block.IsNone) return length;
        var blocks = session.Blocks ??= new ReceivedBlocks();
        blocks.Current = block;
        blocks.Expected = bytes;
        blocks.Bytes += bytes;
        blocks.Received = 0;
        ArrivalRoom.Begin(session, blocks, command);
        block.Prepare(length - head);
        Buffer.MemoryCopy(command + head, block.Content, bytes, length - head);
        blocks.Advance(length - head);
        return head;
    }

    /// <summary>Where the next bytes of <see cref="Current"/> go.</summary>
    /// <param name="bytes">How many are wanted; afterwards no more than are still expected.</param>
    public byte* Room(ref int bytes)
    {
        Debug.Assert(IsFilling && bytes > 0 && Received < Expected, "a block that is not full is being filled");
        bytes = Math.Min(bytes, Expected - Received);
        if (IsDiscarding)
        {
            // Over what came before.
            bytes = Math.Min(bytes, DiscardBytes);
            Current.Prepare(bytes);
            return Current.Content;
        }

        // As much as has arrived, and a little: to announce a value without sending it takes no memory.
        Current.Prepare(Math.Min(Expected, Received + (long)Math.Min(bytes, Math.Max(FirstBytes, Received))));
        return Current.Content + Received;
    }

    /// <summary>Notes bytes that have arrived in <see cref="Current"/>. They are charged now, not when they were
    /// announced.</summary>
    public void Advance(int bytes)
    {
        Debug.Assert(IsFilling && bytes >= 0 && bytes <= Expected - Received, "no more than is expected");
        Received += bytes;
        Current.ChargeTo(IsDiscarding ? Math.Min(Received, DiscardBytes) : Received);
    }

    /// <summary>Throws away what has come of all arguments, and what comes of <see cref="Current"/>.</summary>
    public void Discard()
    {
        // Once: what comes after that is thrown away as it comes.
        if (!HasDiscarded)
            foreach (var block in _complete) block.GiveBackContent();
        HasDiscarded = true;
        Bytes = Math.Min(Bytes, DiscardBytes);
        if (!IsFilling) return;
        IsDiscarding = true;
        Current.GiveBackContent();
    }

    /// <summary>If the current block is full, adds it to the complete ones, and hands it to the parser.</summary>
    public void CompleteIfFull(Session session)
    {
        Debug.Assert(IsFilling && Received <= Expected, "a full block is completed once");
        if (Received < Expected) return;
        var block = Current;
        if (IsDiscarding) block.GiveBackContent();      // it has what came last
        _complete.Add(block);
        _completeBytes += Expected;
        Current = default;
        IsDiscarding = false;
        session.Partial.CompleteBigBulk(block.Content, Expected);
    }

    /// <summary>The block whose content begins at <paramref name="content"/>.</summary>
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

    /// <summary>Releases the blocks outside of a turn; none is being filled any more.</summary>
    public void Release(Store store)
    {
        Debug.Assert(!IsFilling, "a block that is being filled is released within a turn");
        foreach (var block in _complete) store.Release(block);
        _complete.Clear();
    }
}
