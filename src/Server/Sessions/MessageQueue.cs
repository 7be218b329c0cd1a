using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Kv.Server.PubSub;

namespace Kv.Server.Sessions;

/// <summary>Published messages that wait for one session, in order.</summary>
/// <remarks>
/// Threads: any enqueue, the session's own takes. A lock for a handful of instructions: publishers hold their channel's
/// lock anyway, and an array that is swapped allocates nothing once it has its size.
/// </remarks>
internal sealed class MessageQueue
{
    /// <summary>A list with room for more than this gives its memory back.</summary>
    private const int KeptPlaces = 1024;

    private readonly Lock _guard = new();
    private List<SharedMessage> _waiting = [];
    private List<SharedMessage> _taken = [];
    private int _next;
    private bool _closed;
    private long _bytes, _takenBytes;

    /// <summary>The queue of sessions that have ended and never had one: it refuses every message.</summary>
    public static MessageQueue Ended { get; } = NewEnded();

    /// <summary>Bytes of the messages that wait here. From any thread, as <see cref="Count"/>: some recent number.
    /// </summary>
    public long Bytes => Volatile.Read(ref _bytes) + Volatile.Read(ref _takenBytes);

    /// <summary>How many wait.</summary>
    public int Count => Volatile.Read(ref _waiting).Count + Math.Max(0, Volatile.Read(ref _taken).Count - _next);

    /// <returns>False when the session is gone; the message is still the caller's.</returns>
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

    /// <summary>Refuses further messages: the client leaves when it has those that are here.</summary>
    public void Refuse()
    {
        lock (_guard) _closed = true;
    }

    /// <summary>Takes all messages so far, for <see cref="TryNext"/>.</summary>
    /// <returns>False when there are none.</returns>
    public bool Take()
    {
        if (_next < _taken.Count) return true;      // left over: the client has enough unread, or writing failed
        _taken.Clear();
        if (_taken.Capacity > KeptPlaces) _taken.Capacity = 0;
        _next = 0;
        lock (_guard)
        {
            (_waiting, _taken) = (_taken, _waiting);
            Volatile.Write(ref _takenBytes, _bytes);
            _bytes = 0;
        }

        return _taken.Count > 0;
    }

    /// <summary>The next of the messages that <see cref="Take"/> took; its reference is the caller's.</summary>
    public bool TryNext([MaybeNullWhen(false)] out SharedMessage message)
    {
        message = _next < _taken.Count ? _taken[_next] : null;
        if (message == null) return false;
        _taken[_next++] = null!;        // the list lives until its last message is written, which may be long
        Volatile.Write(ref _takenBytes, _takenBytes - message.Length);      // by the session's own thread only
        return true;
    }

    /// <summary>Releases the messages that wait, and refuses further ones. By the session's own thread.</summary>
    public void Close()
    {
        while (TryNext(out var message)) message.Release();
        lock (_guard)
        {
            Debug.Assert(_bytes >= 0 && (_waiting.Count > 0 || _bytes == 0), "bytes are those of the messages here");
            _closed = true;
            foreach (var message in _waiting) message.Release();
            _waiting.Clear();
            _bytes = 0;
        }
    }

    private static MessageQueue NewEnded()
    {
        var queue = new MessageQueue();
        queue.Close();
        return queue;
    }
}
