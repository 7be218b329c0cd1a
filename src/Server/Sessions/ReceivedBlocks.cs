using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>The large arguments of a command that is arriving, each in a block of its own.</summary>
/// <remarks>Threads: the session's own. Holds one reference to each block until <see cref="Release"/>.</remarks>
internal sealed unsafe class ReceivedBlocks
{
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

    public void Begin(Block block, int length)
    {
        Current = block;
        Expected = length;
        Received = 0;
        Bytes += length;
    }

    public void Advance(int bytes) => Received += bytes;

    /// <summary>The current block is full: it joins the complete ones.</summary>
    public void EndCurrent()
    {
        _complete.Add(Current);
        Current = default;
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
}
