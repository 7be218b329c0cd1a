using Kv.Server.PubSub;

namespace Kv.Server.Sessions;

/// <summary>Messages that others left for one session, in order.</summary>
/// <remarks>
/// Threads: any enqueue, the session's own takes. A lock for a handful of instructions: publishers hold their channel's lock
/// anyway, and an array that is swapped allocates nothing once it has its size.
/// </remarks>
internal sealed class MessageQueue
{
    private readonly Lock _guard = new();
    private List<SharedMessage> _waiting = [];
    private List<SharedMessage> _taken = [];
    private bool _closed;
    private long _bytes;

    /// <summary>Bytes of the messages that wait here.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>How many wait. From any thread: some recent number.</summary>
    public int Count => Volatile.Read(ref _waiting).Count;

    /// <returns>False when the session is gone; the message is the caller's still.</returns>
    public bool Enqueue(SharedMessage message)
    {
        lock (_guard)
        {
            if (_closed) return false;
            _waiting.Add(message);
            _bytes += message.Length;
            return true;
        }
    }

    /// <summary>All messages so far; theirs and their references are the caller's. Valid until the next call.</summary>
    public List<SharedMessage> Take()
    {
        _taken.Clear();
        lock (_guard)
        {
            (_waiting, _taken) = (_taken, _waiting);
            _bytes = 0;
            return _taken;
        }
    }

    /// <summary>No more messages; those waiting are released.</summary>
    public void Close()
    {
        lock (_guard)
        {
            _closed = true;
            foreach (var message in _waiting) message.Release();
            _waiting.Clear();
            _bytes = 0;
        }
    }
}
