using System.Diagnostics;
using Kv.Server.Effects;
using Kv.Server.Persistence;
using Kv.Server.PubSub;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Replication;

//   the stream, in pieces:   | ... | piece | piece | ... |      each a byte further than the one before ended
//                            ^ First                     ^ Offset
//   kept: repl-backlog-size of it, and what those need that are being sent a snapshot; beside it what some have not
//   read: a piece is a block of native memory, shared by all who have it still to send, and gone with the last of them

/// <summary>The clients that follow this server, and the stream that they get: the feed, with a PING now and then, each
/// byte of it with an offset.</summary>
/// <remarks>
/// Threads: any, under one lock; the stream is written by kv-feed, PINGs come from a timer. The feed is read from the
/// first replica on, until there has been none for <c>repl-backlog-ttl</c>.
/// </remarks>
internal sealed class Replicas(KvServer server) : IFeedSink, IDisposable
{
    private const int TickMs = 1000;

    private readonly Lock _guard = new();
    private readonly List<Replica> _all = [];
    private readonly List<AckWait> _waits = [];
    private readonly Queue<SharedMessage> _pieces = new();    // a reference to each
    private readonly List<SyncFile> _writing = [];
    private Timer? _timer;
    private SyncFile? _newest;
    private long _sentBytes, _fullSyncs, _partialSyncs, _refusedPartialSyncs;
    private static long _lastFile;      // of the process: servers in one may share a folder
    private long _first, _offset, _written, _writtenTicket, _emptySinceTickMs, _sentTickMs;
    private long _pieceBytes;           // of all pieces that there are; added to atomically
    private int _localWaits;            // of _waits, those for the file here; written under the lock
    private bool _isAttached, _isDisposed;

    private static ReadOnlySpan<byte> Ping => "*1\r\n$4\r\nPING\r\n"u8;

    private static ReadOnlySpan<byte> AskAcks => "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"u8;

    /// <summary>How many there are.</summary>
    public int Count
    {
        get
        {
            lock (_guard) return _all.Count;
        }
    }

    /// <summary>Bytes of the stream so far.</summary>
    public long Offset => Volatile.Read(ref _offset);

    /// <summary>Where the part that is kept begins; <see cref="Offset"/>: nothing is.</summary>
    public long First => Volatile.Read(ref _first);

    /// <summary>Bytes of it.</summary>
    public long KeptBytes => Offset - First;

    /// <summary>Memory of what is not kept any more, and some replica has not been sent: once, however many have
    /// not.</summary>
    // Any time: some recent figure.
    public long UnreadBytes => Math.Max(0,
        Volatile.Read(ref _pieceBytes) - KeptBytes - ((long)_pieces.Count * SharedMessage.OverheadBytes));

    /// <summary>Whether the stream is kept for replicas that come back.</summary>
    public bool IsActive => Volatile.Read(ref _isAttached);

    /// <summary>What INFO and ROLE say of each.</summary>
    public List<T> Describe<T>(Func<Replica, T> describe)
    {
        lock (_guard) return [.. _all.Select(describe)];
    }

    /// <summary>Bytes of the stream that replicas were sent.</summary>
    public long SentBytes => Volatile.Read(ref _sentBytes);

    /// <summary>Replicas that were given a snapshot, since the start or <see cref="ResetCounts"/>.</summary>
    public long FullSyncs => Volatile.Read(ref _fullSyncs);

    /// <summary>Replicas that have gone on where they were.</summary>
    public long PartialSyncs => Volatile.Read(ref _partialSyncs);

    /// <summary>Replicas that wanted to, and could not.</summary>
    public long RefusedPartialSyncs => Volatile.Read(ref _refusedPartialSyncs);

    /// <summary>Begins to count anew.</summary>
    public void ResetCounts()
    {
        lock (_guard) _sentBytes = _fullSyncs = _partialSyncs = _refusedPartialSyncs = 0;
    }

    /// <summary>Begins with a replica that has nothing yet: it gets a snapshot, which several may share.</summary>
    /// <param name="follows">Whether it says from time to time how far it is.</param>
    public Replica Begin(Session session, bool follows)
    {
        lock (_guard)
        {
            // What only wants the file is a tool, which keeps it: all of the data.
            bool isOlder = follows && !session.KnowsFieldExpiry;
            if (_newest is not { MayJoin: true } || _newest.IsForOlder != isOlder)
                _writing.Add(_newest = new SyncFile(server, this, Interlocked.Increment(ref _lastFile), isOlder));
            var replica = new Replica(session, _newest) { Follows = follows, AcknowledgedTickMs = server.TickMs };
            session.Kind = ClientKind.Replica;
            _fullSyncs++;
            _all.Add(replica);
            _newest.Join(replica);
            return replica;
        }
    }

    /// <summary>A snapshot has its instant, all others stand still: its replicas get all that follows.</summary>
    public void BeginInPause(SyncFile file, SnapshotJob job)
    {
        lock (_guard)
        {
            file.Use(job);
            if (!_isAttached)
            {
                Volatile.Write(ref _isAttached, true);
                server.Feed.Attach(this);
                // What was written before is in the snapshot of each replica.
                (_written, _writtenTicket) = (_offset, server.Feed.Position);
                foreach (var wait in _waits)
                    if (wait.Ticket <= _writtenTicket) wait.Offset ??= _written;
                server.Feed.SetUrgent(this, true);
                _timer = new Timer(_ => Tick(), null, TickMs, TickMs);
            }
        }

        server.Feed.CutAt(server.Feed.Position, () =>
        {
            lock (_guard) file.Cut(_offset);
        });
    }

    /// <summary>Lets pass unseen how the data is made anew. In a pause.</summary>
    public void BeginReload()
    {
        lock (_guard)
        {
            if (_isAttached) server.Feed.Detach(this);
        }
    }

    /// <summary>It has been made anew, and replicas begin anew, too: what had expired and was not taken out yet is gone
    /// here, which nobody has told them. In the same pause.</summary>
    public void EndReload()
    {
        lock (_guard)
        {
            if (!_isAttached) return;
            server.Feed.Attach(this);
            BreakLatched();
        }
    }

    /// <summary>What they have got is not the data any more: all of them begin anew.</summary>
    private void BreakLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the stream has one order");
        foreach (var replica in _all) replica.Session.Kill();
        // None can go on at a place before this one.
        DropAllLatched();
        Volatile.Write(ref _offset, _offset + 1);
        Volatile.Write(ref _first, _offset);
    }

    /// <summary>Whether anybody waits for a snapshot.</summary>
    public bool Want(SyncFile file)
    {
        lock (_guard) return file.MayJoin;
    }

    /// <summary>A snapshot is whole, or there will be none (<paramref name="content"/> is null).</summary>
    public void End(SyncFile file, SafeFileHandle? content)
    {
        lock (_guard)
        {
            _writing.Remove(file);
            file.Close(content);
        }
    }

    /// <summary>Goes on where a replica that comes back has stopped.</summary>
    /// <param name="from">The offset of the first byte that it has not got.</param>
    /// <returns>False: that is not kept any more, is too much to be sent, or is of another stream.</returns>
    public bool TryGoOn(Session session, ReadOnlySpan<byte> id, long from)
    {
        lock (_guard)
        {
            if (!_isAttached || from < _first || from > _offset || IsTooFarLatched(from)
                || !id.SequenceEqual(System.Text.Encoding.ASCII.GetBytes(server.RunId)))
            {
                _refusedPartialSyncs++;
                return false;
            }

            _partialSyncs++;
            session.Kind = ClientKind.Replica;
            var replica = new Replica(session) { Follows = true, AcknowledgedTickMs = server.TickMs };
            replica.Cut(from);
            _all.Add(replica);
            PushFromLatched(replica);
            return true;
        }
    }

    /// <summary>Whether the rest is more than a replica may leave unread: it would be closed at once, come back to the
    /// same place, and so on for as long as the last piece is that large.</summary>
    private bool IsTooFarLatched(long from) =>
        server.Options.ClientOutputBufferLimit.Replica.HardBytes is > 0 and var hard && _offset - from >= hard;

    /// <summary>A replica has its snapshot: it gets the stream from there on.</summary>
    public void GoOnline(Replica replica)
    {
        lock (_guard)
        {
            replica.File?.Leave(replica);
            if (!_all.Contains(replica)) return;
            if (replica.Start < _first) replica.Session.Kill();      // it took too long
            else PushFromLatched(replica);
        }
    }

    /// <summary>A replica says how far it is.</summary>
    /// <param name="onDisk">What of it is on its disk; -1: it does not say.</param>
    public void Acknowledge(Session session, long offset, long onDisk)
    {
        lock (_guard)
        {
            if (_all.Find(one => one.Session == session) is not { } replica) return;
            (replica.Acknowledged, replica.AcknowledgedOnDisk) = (offset, onDisk);
            replica.AcknowledgedTickMs = server.TickMs;
            EndWaitsLatched();
        }
    }

    /// <summary>Ends a wait as soon as so many replicas, and the disk here, have all that the session has
    /// written.</summary>
    public void Wait(AckWait wait)
    {
        lock (_guard)
        {
            _waits.Add(wait);
            if (wait.NeedsLocal) Volatile.Write(ref _localWaits, _localWaits + 1);
            if (wait.Ticket <= _writtenTicket) wait.Offset = _written;
            // Full fence: whoever notes more on the disk looks for waits after that, and this one looks at the disk
            // after it can be found.
            Interlocked.MemoryBarrier();
            EndWaitsLatched();
            if (wait is { Offset: not null, Replicas: > 0 } && _waits.Contains(wait) && _all.Count > 0)
                AppendLatched(AskAcks);
        }
    }

    /// <summary>More is on the disk here: ends the waits for that.</summary>
    public void EndWaits()
    {
        // A look without the lock, as this is called for each group that is written: see Wait.
        if (Volatile.Read(ref _localWaits) == 0) return;
        lock (_guard) EndWaitsLatched();
    }

    /// <summary>How many replicas have all that was written so far, or what a wait is for.</summary>
    public int CountNow(AckWait wait)
    {
        lock (_guard) return wait.Ticket <= _writtenTicket ? CountLatched(wait, _written) : 0;
    }

    /// <summary>How many replicas have what a wait is for.</summary>
    public int CountFor(AckWait wait)
    {
        lock (_guard) return wait.Offset is { } offset ? CountLatched(wait, offset) : 0;
    }

    /// <summary>Ends a wait.</summary>
    public void Remove(AckWait wait)
    {
        lock (_guard)
        {
            int index = _waits.IndexOf(wait);
            if (index >= 0) RemoveLatched(index);
        }
    }

    /// <summary>A client has left.</summary>
    public void Remove(Session session)
    {
        lock (_guard)
        {
            if (_all.Find(one => one.Session == session) is not { } replica) return;
            _all.Remove(replica);
            replica.File?.Leave(replica);
            if (_all.Count == 0) _emptySinceTickMs = server.TickMs;
        }
    }

    /// <inheritdoc/>
    public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
    {
        lock (_guard)
        {
            Kv.Storage.Fault.Point("replica.write");
            Debug.Assert(lastTicket >= _writtenTicket, "tickets come in order");
            AppendLatched(entries);
            (_written, _writtenTicket) = (_offset, lastTicket);
            bool asks = false;
            foreach (var wait in _waits)
            {
                if (wait.Offset != null || wait.Ticket > lastTicket) continue;
                wait.Offset = _offset;
                asks |= wait.Replicas > 0;
            }

            if (asks && _all.Count > 0) AppendLatched(AskAcks);
        }
    }

    /// <inheritdoc/>
    public void Fail(Exception exception)
    {
        lock (_guard)
        {
            BreakLatched();
            // The next one to come has it attached again.
            Volatile.Write(ref _isAttached, false);
            _timer!.Dispose();
        }
    }

    /// <inheritdoc/>
    public bool TakesMessages => true;

    /// <inheritdoc/>
    public void Flush()
    {
    }

    public void Dispose()
    {
        _timer?.Dispose();
        SyncFile[] writing;
        lock (_guard) writing = [.. _writing];
        foreach (var file in writing) file.Join();
        lock (_guard)
        {
            _isDisposed = true;     // kv-feed still goes on
            DropAllLatched();
        }
    }

    /// <summary>Sends a replica a piece; takes the caller's reference.</summary>
    private void PushLatched(Replica replica, SharedMessage piece)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && replica.IsOnline, "one that is online gets the stream");
        _sentBytes += piece.Length;
        replica.Session.Push(piece);
    }

    private SharedMessage NewPiece(ReadOnlySpan<byte> bytes) => SharedMessage.OfBytes(bytes, ChargePiece);

    // From any thread: whoever is the last to have sent it frees it.
    private void ChargePiece(long bytes)
    {
        long all = Interlocked.Add(ref _pieceBytes, bytes);
        Debug.Assert(all >= 0, "what is freed was charged");
        server.Store.ChargeStream(bytes);
    }

    private int CountLatched(AckWait wait, long offset)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the replicas are the lock's");
        int count = 0;
        foreach (var replica in _all)
        {
            long got = wait.OfDisk ? replica.AcknowledgedOnDisk : replica.Acknowledged;
            if (replica.IsOnline && got >= offset) count++;
        }

        return count;
    }

    private void EndWaitsLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the waits are the lock's");
        for (int i = _waits.Count - 1; i >= 0; i--)
        {
            var wait = _waits[i];
            int count = wait.Offset is { } offset ? CountLatched(wait, offset) : 0;
            if (!wait.IsLocalOver || count < wait.Replicas) continue;
            RemoveLatched(i);
            wait.End(count);
        }
    }

    private void RemoveLatched(int index)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && (!_waits[index].NeedsLocal || _localWaits > 0), "it was counted");
        if (_waits[index].NeedsLocal) Volatile.Write(ref _localWaits, _localWaits - 1);
        _waits.RemoveAt(index);
    }

    private void PushFromLatched(Replica replica)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && replica.IsCut && !replica.IsOnline, "it goes online once");
        Debug.Assert(replica.Start >= _first && replica.Start <= _offset, "what it lacks is kept");
        replica.IsOnline = true;
        replica.AcknowledgedTickMs = server.TickMs;
        long at = _first;
        foreach (var piece in _pieces)
        {
            int skipped = (int)Math.Clamp(replica.Start - at, 0, piece.Length);
            at += piece.Length;
            if (skipped == piece.Length) continue;
            if (skipped == 0) piece.AddReferences(1);
            PushLatched(replica, skipped == 0 ? piece : NewPiece(piece.Bytes[skipped..]));
        }

        Debug.Assert(at == _offset, "the pieces are all that is kept");
    }

    private void AppendLatched(ReadOnlySpan<byte> bytes)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the stream has one order");
        if (bytes.IsEmpty || _isDisposed) return;
        _pieces.EnsureCapacity(_pieces.Count + 1);      // no memory for that: there is no piece yet
        var piece = NewPiece(bytes);
        _pieces.Enqueue(piece);
        Volatile.Write(ref _offset, _offset + piece.Length);
        _sentTickMs = server.TickMs;
        foreach (var replica in _all)
        {
            if (!replica.IsOnline) continue;
            piece.AddReferences(1);
            PushLatched(replica, piece);
        }

        DropLatched();
    }

    /// <summary>Drops what nobody is going to ask for.</summary>
    private void DropLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the stream is the lock's");
        long most = server.Options.ReplBacklogSize;
        long syncMost = Math.Max(most, server.Options.ClientOutputBufferLimit.Replica.HardBytes is > 0 and var hard
            ? hard : long.MaxValue);
        bool areSyncing = _all.Exists(replica => replica is { IsCut: true, IsOnline: false });
        // Ends: with the pieces.
        while (_pieces.Count > 1 && _offset - _first - _pieces.Peek().Length >= (areSyncing ? syncMost : most))
            DropOneLatched();
        if (!areSyncing) return;
        foreach (var replica in _all)
            if (replica is { IsCut: true, IsOnline: false } && replica.Start < _first) replica.Session.Kill();
    }

    private void DropOneLatched()
    {
        var piece = _pieces.Dequeue();
        Volatile.Write(ref _first, _first + piece.Length);
        piece.Release();
        Debug.Assert(_first <= _offset, "what is dropped was kept");
    }

    private void DropAllLatched()
    {
        // Ends: with the pieces.
        while (_pieces.Count > 0) DropOneLatched();
    }

    /// <summary>Once a second: shows replicas of a server that nothing is written to that it is there.</summary>
    private void Tick()
    {
        bool isOver;
        lock (_guard)
        {
            long now = server.TickMs;
            bool isQuiet = now - _sentTickMs >= server.Options.ReplPingPeriodSeconds * 1000L;
            if (_all.Count > 0 && isQuiet) AppendLatched(Ping);
            EndSilentLatched(now);
            long ttl = server.Options.ReplBacklogTtlSeconds;
            isOver = _isAttached && _all.Count == 0 && ttl != 0 && now - _emptySinceTickMs >= ttl * 1000;
        }

        if (isOver) TryEnd();
    }

    /// <summary>Ends the connections of replicas that have not said for long how far they are, or have not read any of
    /// their snapshot.</summary>
    private void EndSilentLatched(long now)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the replicas are the lock's");
        long mostMs = server.Options.ReplTimeoutSeconds * 1000L;
        foreach (var replica in _all)
        {
            if (now - replica.HeardTickMs <= mostMs) continue;
            server.Log.LogWarning("Replica {Address} was silent for over {Seconds} s (repl-timeout); disconnected",
                replica.Session.Address, server.Options.ReplTimeoutSeconds);
            replica.Session.Kill();
        }
    }

    /// <summary>Nobody has come back for long: the feed is not read any more.</summary>
    private void TryEnd()
    {
        using var guard = server.Store.Enter();
        if (!guard.Session.Presence.TryPauseNow()) return;      // in a second again
        try
        {
            lock (_guard)
            {
                if (_all.Count != 0) return;
                Volatile.Write(ref _isAttached, false);
                server.Feed.Detach(this);
                server.Feed.SetUrgent(this, false);
                _timer!.Dispose();
                DropAllLatched();
                Volatile.Write(ref _first, _offset);
            }
        }
        finally
        {
            guard.Session.Presence.EndPause();
        }
    }
}
