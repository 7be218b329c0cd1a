using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>What a client has between MULTI and EXEC, and what it watches. Made for the first MULTI or WATCH of a
/// session, and kept.</summary>
/// <remarks>Threads: the session's own; others may read the counts, and whether watched keys have changed, for CLIENT
/// LIST.</remarks>
internal sealed class Transaction(Session session, Store store) : IDisposable
{
    /// <summary>A longer queue is freed by a thread of the pool.</summary>
    private const long FreedAtOnceMax = 1 << 20;

    private CommandQueue _queue = new(store);

    /// <summary>The watched keys: EXEC runs nothing when one of them has changed.</summary>
    public KeyWatches Watches { get; } = new(store);

    /// <summary>Some command could not be queued: EXEC will refuse.</summary>
    public bool IsAborted { get; private set; }

    /// <summary>Whether some command may use any key, so that all other sessions have to stand still. Known once EXEC
    /// has looked.</summary>
    public bool NeedsAll { get; set; }

    /// <summary>EXEC is running the commands.</summary>
    public bool IsRunning { get; set; }

    /// <summary>Whether the commands may take more than this turn.</summary>
    public TransactionPace Pace { get; set; }

    public int QueuedCount => _queue.Count;

    public long QueuedBytes => _queue.Bytes;

    /// <summary>Arguments of all commands, and watched keys: all are looked at before the first command runs.</summary>
    public long Size => _queue.Arguments + Watches.Count;

    /// <inheritdoc cref="CommandQueue.SparesSession"/>
    public bool SparesSession => _queue.SparesSession;

    /// <summary>The flags of all queued commands together.</summary>
    public CommandFlags Flags => _queue.Flags;

    public CommandQueue Commands => _queue;

    /// <summary>Does MULTI.</summary>
    public void Open()
    {
        Debug.Assert(!session.InMulti && QueuedCount == 0, "the last transaction is closed");
        session.InMulti = true;
    }

    /// <summary>A command was refused: EXEC will be, too.</summary>
    public void Abort() => IsAborted = true;

    /// <summary>Keeps a command for EXEC.</summary>
    /// <returns>False when the queue would be longer than <paramref name="bytesMax"/>.</returns>
    public unsafe bool TryQueue(Command command, Argument* items, int count, LargeCommand? large, long bytesMax)
    {
        // Between MULTI and EXEC, or a command of very many keys that is run as a transaction of nothing else.
        Debug.Assert((session.InMulti || QueuedCount == 0) && !IsRunning && !IsAborted);
        if (_queue.Bytes + CommandQueue.BytesOf(items, count, session.Blocks, large) > bytesMax) return false;
        _queue.Add(command, items, count, session.Blocks, large);
        session.Blocks = null;
        return true;
    }

    /// <summary>Forgets the commands and the watched keys: EXEC has run them, or DISCARD came.</summary>
    public void Close()
    {
        if (_queue.Bytes > FreedAtOnceMax)
        {
            session.Server.Remainders.Start(_queue.Dispose);
            _queue = new CommandQueue(store);
        }

        _queue.Dispose();
        Watches.Dispose();
        IsAborted = IsRunning = NeedsAll = false;
        Pace = TransactionPace.AtOnce;
        session.InMulti = false;
    }

    public void Dispose() => Close();
}
