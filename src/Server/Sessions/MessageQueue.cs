using System.Diagnostics.CodeAnalysis;
using Kv.Server.PubSub;

namespace Kv.Server.Sessions;

/// <summary>Messages that others left for one session, in order.</summary>
/// <remarks>
/// Threads: any enqueue, the session's own takes. A lock for a handful of instructions: publishers hold their channel's
/// lock anyway, and an array that is swapped allocates nothing once it has its size.
/// </remarks>
internal sealed class MessageQueue
{
    /// <summary>A list that was longer gives its memory back.</summary>
    private const int KeptPlaces = 1024;

    private readonly Lock _guard = new();
    private List<SharedMessage> _waiting = [];
    private List<SharedMessage> _taken = [];
    private int _next;
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

    /// <summary>Takes all messages so far, for <see cref="TryNext"/>.</summary>
    /// <returns>False when there are none.</returns>
    public bool Take()
    {
        if (_next < _taken.Count) return true;      // of the last time: a failure came between
        _taken.Clear();
        if (_taken.Capacity > KeptPlaces) _taken.Capacity = 0;
        _next = 0;
        lock (_guard)
        {
            (_waiting, _taken) = (_taken, _waiting);
            _bytes = 0;
        }

        return _taken.Count > 0;
    }

    /// <summary>The next one of those that were taken; its reference is the caller's.</summary>
    public bool TryNext([MaybeNullWhen(false)] out SharedMessage message)
    {
        message = _next < _taken.Count ? _taken[_next++] : null;
        return message != null;
    }

    /// <summary>No more messages; those waiting are released. By the session's own thread.</summary>
    public void Close()
    {
        while (TryNext(out var message)) message.Release();
        lock (_guard)
        {
            _closed = true;
            foreach (var message in _waiting) message.Release();
            _waiting.Clear();
            _bytes = 0;
        }
    }
}
