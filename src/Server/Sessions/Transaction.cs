using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>What a client has between MULTI and EXEC, and what it watches. Made for the first MULTI or WATCH of a session, and kept.</summary>
/// <remarks>Threads: the session's own; others may read the counts, and whether watched keys have changed, for CLIENT LIST.</remarks>
internal sealed class Transaction(Session session, Store store) : IDisposable
{
    private readonly CommandQueue _queue = new(store);

    /// <summary>WATCH: EXEC runs nothing when one of them has changed.</summary>
    public KeyWatches Watches { get; } = new(store);

    /// <summary>Some command could not be queued: EXEC will refuse.</summary>
    public bool IsAborted { get; private set; }

    /// <summary>EXEC is running the commands.</summary>
    public bool IsRunning { get; set; }

    public int QueuedCount => _queue.Count;

    public long QueuedBytes => _queue.Bytes;

    /// <summary>All flags of what was queued.</summary>
    public CommandFlags Flags => _queue.Flags;

    public ReadOnlySpan<QueuedCommand> Commands => _queue.Commands;

    /// <summary>MULTI.</summary>
    public void Open() => session.InMulti = true;

    /// <summary>A command was refused.</summary>
    public void Abort() => IsAborted = true;

    /// <summary>Keeps a command for EXEC.</summary>
    /// <returns>False when that would be more than the limit.</returns>
    public unsafe bool TryQueue(Command command, Argument* items, int count, long bytesMax)
    {
        if (_queue.Bytes + CommandQueue.BytesOf(items, count, session.Blocks) > bytesMax) return false;
        _queue.Add(command, items, count, session.Blocks);
        session.Blocks = null;
        return true;
    }

    /// <summary>Forgets the commands and the watched keys: EXEC has run them, or DISCARD came.</summary>
    public void Close()
    {
        _queue.Dispose();
        Watches.Dispose();
        IsAborted = IsRunning = false;
        session.InMulti = false;
    }

    public void Dispose() => Close();
}
