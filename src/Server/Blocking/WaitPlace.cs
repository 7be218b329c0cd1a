using Kv.Storage;

namespace Kv.Server.Blocking;

/// <summary>Where one blocked command stands in the queue of one of its keys.</summary>
/// <remarks>Threads: the links are the queue's, under its lock.</remarks>
internal sealed class WaitPlace(BlockedCommand command, WatchedKey key, WaitQueue queue, DataType type, int index)
{
    public BlockedCommand Command { get; } = command;

    public WatchedKey Key { get; } = key;

    public WaitQueue Queue { get; } = queue;

    /// <summary>What it waits for at the key.</summary>
    public DataType Type { get; } = type;

    /// <summary>Which of the command's keys it is.</summary>
    public int Index { get; } = index;

    /// <summary>The places that came next and before, in a ring: the last one's next is the first. Null when not in the
    /// queue.</summary>
    public WaitPlace? Next { get; set; }

    public WaitPlace? Previous { get; set; }
}
