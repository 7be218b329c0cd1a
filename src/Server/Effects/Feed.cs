using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Storage;

namespace Kv.Server.Effects;

//   sessions                                              kv-feed
//   lock keys, change, draw ticket, let go                takes the entry of the next ticket, wherever it is,
//   put what was done into the own FeedBuffer   ------->  adds SELECT, gives whole entries to the sinks
//
//   Invariants: a ticket is drawn while all keys of the command (EXEC, script) are locked, so that of two who change a
//   key the tickets have the order of their changes. Each ticket that was drawn is followed by one entry, empty if
//   need be: without it the feed stands still.

/// <summary>The effects of all commands in one order: what the append-only file and replicas read.</summary>
/// <remarks>
/// Threads: any draws; <see cref="Attach"/>, <see cref="Detach"/> and <see cref="CutAt"/> by whoever has stopped all
/// sessions (<see cref="StorePause"/>). Cost: nothing while nobody reads it; else a locked addition a write, and a copy
/// of what it has done. See docs/decisions/0013-feed.md.
/// </remarks>
internal sealed class Feed : IDisposable
{
    private const int ChunksKept = 64;

    private readonly Action<bool> _hear;
    private readonly Action<long> _charge;
    private readonly Lock _guard = new();
    private readonly ConcurrentStack<byte[]> _free = new();     // the last one is still in a cache
    private readonly FeedThread _thread;
    private readonly FeedBuffer _others;
    private readonly Lock _othersGuard = new();
    private readonly List<Action> _waiting = [];
    private readonly HashSet<object> _urgent = [];
    private FeedBuffer?[] _bySlot = [];
    private Counters _counters;
    private long _queuedBytes, _spareBytes = FeedBuffer.ChunkBytes;
    private int _isOn, _countsOnly;
    private bool _hasWaiting;

    /// <param name="hear">Has the store tell of all changes from now on, or no longer.</param>
    /// <param name="charge">Is told of memory that it takes, and of what it lets go of.</param>
    /// <param name="failed">Is told why a sink threw; it gets nothing more.</param>
    public Feed(Action<bool> hear, Action<long> charge, Action<Exception> failed)
    {
        (_hear, _charge) = (hear, charge);
        _others = new FeedBuffer(this);
        _thread = new FeedThread(failed, EndWaits);
        _thread.Add(_others);
    }

    /// <summary>Whether somebody reads it.</summary>
    // Volatile: set in a pause; whoever goes on after that sees it.
    public bool IsOn => Volatile.Read(ref _isOn) != 0;

    /// <summary>The last ticket that was drawn. In a pause, each change up to it is whole in memory, and none after
    /// it.</summary>
    public long Position => Volatile.Read(ref _counters.Drawn);

    /// <summary>The last ticket whose entry was given to all sinks.</summary>
    public long Given => _thread.Given;

    /// <summary>Changes of keys since the start, as far as they were counted: while the feed is on, or
    /// <see cref="CountsChanges"/>.</summary>
    public long Changes
    {
        get
        {
            long sum = Volatile.Read(ref _others.Changes);
            foreach (var buffer in Volatile.Read(ref _bySlot))
                if (buffer != null) sum += Volatile.Read(ref buffer.Changes);
            return sum;
        }
    }

    /// <summary>Whether changes are counted without anybody who reads the feed.</summary>
    public bool CountsChanges
    {
        get => Volatile.Read(ref _countsOnly) != 0;
        set
        {
            lock (_guard)
            {
                Volatile.Write(ref _countsOnly, value ? 1 : 0);
                _hear(value || IsOn);
            }
        }
    }

    /// <summary>Bytes that wait for the sinks, in whole chunks.</summary>
    public long QueuedBytes => Volatile.Read(ref _queuedBytes);

    /// <summary>How much may wait before writers do (<c>feed-buffer-limit</c>).</summary>
    public long LimitBytes { get; set; } = 64 << 20;

    /// <summary>How much a transaction or script may have done before its next write is refused. With one more command
    /// on top, of less than 2,047 MB, an entry still fits an array.</summary>
    public int EntryBytesMax { get; set; } = 512 << 20;

    /// <summary>Whether writers have to wait for the sinks.</summary>
    public bool IsFull => IsBehind(LimitBytes);

    /// <summary>Whether more than this waits for the sinks.</summary>
    // Beyond what each buffer has of a chunk that may have been read already.
    public bool IsBehind(long bytes) => QueuedBytes > bytes + Volatile.Read(ref _spareBytes);

    /// <summary>Has a parked session woken when writers need not wait any more. The caller asks once more
    /// afterwards.</summary>
    public void AddWaiting(Action wake)
    {
        lock (_waiting) _waiting.Add(wake);
        Volatile.Write(ref _hasWaiting, true);
        // Full fence, as kv-feed has one between the count and its look at this: it sees that somebody waits, or the
        // caller sees that it need not.
        Interlocked.MemoryBarrier();
    }

    /// <summary>By kv-feed, when it has taken something.</summary>
    public void EndWaits()
    {
        if (!Volatile.Read(ref _hasWaiting) || IsFull) return;
        Action[] ended;
        lock (_waiting)
        {
            ended = [.. _waiting];
            _waiting.Clear();
            Volatile.Write(ref _hasWaiting, false);
        }

        foreach (var wake in ended) wake();
    }

    /// <summary>Whether a sink wants each entry at once, rather than within some milliseconds.</summary>
    public bool IsUrgent => _thread.IsUrgent;

    /// <summary>Says whether somebody wants each entry at once.</summary>
    public void SetUrgent(object who, bool isUrgent)
    {
        lock (_guard)
        {
            if (isUrgent) _urgent.Add(who);
            else _urgent.Remove(who);
            _thread.IsUrgent = _urgent.Count != 0;
        }
    }

    /// <summary>Gives a sink every entry after <see cref="Position"/>. In a pause.</summary>
    public void Attach(IFeedSink sink)
    {
        lock (_guard)
        {
            _thread.Attach(sink, Position);
            Volatile.Write(ref _isOn, 1);
            _hear(true);
        }
    }

    /// <summary>Gives a sink every entry up to <see cref="Position"/>, then <see cref="IFeedSink.Flush"/>, then nothing
    /// more. In a pause; the rest is given after it.</summary>
    /// <param name="onEnd">Called on kv-feed when it has got all.</param>
    public void Detach(IFeedSink sink, Action? onEnd = null)
    {
        lock (_guard)
        {
            if (_thread.Detach(sink, Position, onEnd)) return;
            Volatile.Write(ref _isOn, 0);
            _hear(CountsChanges);
        }
    }

    /// <summary>Calls back on kv-feed between the entry of a ticket and the next one, when all sinks have what is
    /// before it. What follows begins with SELECT. In a pause.</summary>
    public void CutAt(long ticket, Action onCut) => _thread.CutAt(ticket, onCut);

    /// <summary>The next ticket. While all keys of what is done are locked, or all others stopped.</summary>
    // Interlocked: the order of tickets is that of the locks, which are held around it.
    public long Draw() => Interlocked.Increment(ref _counters.Drawn);

    /// <summary>Where the session with this slot puts its entries.</summary>
    public FeedBuffer BufferOf(int slot)
    {
        var buffers = Volatile.Read(ref _bySlot);
        if (slot < buffers.Length && buffers[slot] is { } there) return there;
        lock (_guard)
        {
            if (slot >= _bySlot.Length)
            {
                var more = new FeedBuffer?[Math.Max(16, 2 * (slot + 1))];
                _bySlot.CopyTo(more, 0);
                Volatile.Write(ref _bySlot, more);
            }

            if (_bySlot[slot] is { } found) return found;
            var made = new FeedBuffer(this);
            _thread.Add(made);
            Volatile.Write(ref _spareBytes, _spareBytes + FeedBuffer.ChunkBytes);
            Volatile.Write(ref _bySlot[slot], made);
            return made;
        }
    }

    /// <summary>Adds an entry of a thread that has no session of its own to put it in: what is changed is locked.
    /// Several effects of one are whole.</summary>
    public void AddOther(EffectBytes effects)
    {
        lock (_othersGuard)
        {
            long ticket = Draw();
            _others.Changes++;
            _others.Add(ticket, effects, effects.Count > 1);
        }

        Wake();
    }

    /// <summary>Tells kv-feed that there is something, if it sleeps.</summary>
    public void Wake() => _thread.Wake();

    /// <summary>Memory for entries.</summary>
    public byte[] NewChunk(int bytes)
    {
        byte[]? chunk = null;
        if (bytes > FeedBuffer.ChunkBytes || !_free.TryPop(out chunk))
        {
            chunk = GC.AllocateUninitializedArray<byte>(bytes);
            _charge(bytes);
        }

        if (Interlocked.Add(ref _queuedBytes, chunk.Length) > LimitBytes / 8) _thread.Wake(isUrgent: true);
        return chunk;
    }

    /// <summary>Takes it back.</summary>
    public void FreeChunk(byte[] chunk)
    {
        Interlocked.Add(ref _queuedBytes, -chunk.Length);
        if (chunk.Length == FeedBuffer.ChunkBytes && _free.Count < ChunksKept) _free.Push(chunk);
        else _charge(-chunk.Length);
    }

    public void Dispose() => _thread.Dispose();

    /// <summary>The counter, with no other field in its cache line or the one beside.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 256)]
    private struct Counters
    {
        [FieldOffset(128)] public long Drawn;
    }
}
