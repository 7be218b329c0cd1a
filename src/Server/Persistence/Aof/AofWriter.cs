using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Effects;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence.Aof;

//   feed --Write--> group --Commit--> file, page cache --Sync--> disk
//                     |                    \____ tail ____/          durable ticket: replies may leave
//                     +-- at Flush, or when it is large
//
//   When a write or a sync fails, nothing more is written to the file. The tail has all that may not be on the disk; it
//   is written once more, to a new increment, as soon as that goes well. The first line of it says where in the old
//   file the tail begins: that one counts up to there as soon as the manifest names the new one, at no moment both or
//   none. Then it is cut off there, too. Until then whoever writes is refused.

/// <summary>Writes the feed to the last increment, and says how much of it is on the disk.</summary>
/// <remarks>
/// <c>always</c>: the feed's thread writes and syncs; what arrives meanwhile is the next group. <c>everysec</c>: it
/// only writes, <c>kv-aof</c> syncs once a second, and whenever the tail is long. Threads: <see cref="Write"/>,
/// <see cref="Flush"/> and <see cref="TrySwitch"/> are the feed's; the rest any.
/// </remarks>
internal sealed class AofWriter : IFeedSink, IDisposable
{
    /// <summary>A group of more bytes does not wait for the feed's end.</summary>
    private const int GroupBytesMax = 1 << 20;

    /// <summary>Nor is one kept for longer: while writers never pause, the feed has no end.</summary>
    private static readonly TimeSpan GroupTimeMax = TimeSpan.FromMilliseconds(5);

    /// <summary>An empty group's buffer is no larger than this.</summary>
    private const int BufferBytesKept = 2 * GroupBytesMax;

    /// <summary>How often it syncs, or tries to go on.</summary>
    public const int SyncMsUsual = 1000;

    private readonly AofFiles _files;
    private readonly ServerOptions _options;
    private readonly ILogger _log;
    private readonly LatencyMonitor _latency;
    private readonly TimeProvider _time;
    private readonly Action _onMore;
    private readonly int _syncMs;
    private readonly object _guard = new();
    private readonly AofTail _tail;
    private readonly Thread _thread;

    // The feed's own.
    private byte[] _group = new byte[64 * 1024];
    private int _groupLength = AofGroup.LineBytes;
    private long _groupTicket, _groupBegan, _secondStamped;
    private int _database, _groupDatabase;

    // Under the guard.
    private IAofFile _file;
    private AofFileInfo _info;
    private uint _sum;
    private long _position, _durable, _tailFrom, _marked, _writtenTicket, _earlierBytes, _markBytes;
    private int _tailDatabase, _writtenDatabase;
    private bool _needsSelect, _isSyncing, _isWaiting, _isEnding, _isClosed, _isLost;
    private string? _error;
    private long _durableTicket, _delayed;

    /// <param name="file">The last increment; the writer's from now on.</param>
    /// <param name="end">Where it ends.</param>
    /// <param name="charge">Is told of memory that it takes, and of what it lets go of.</param>
    /// <param name="onMore">Called when <see cref="WrittenTicket"/> or <see cref="DurableTicket"/> has grown.</param>
    public AofWriter(AofFiles files, IAofFile file, AofEnd end, ServerOptions options, ILogger log, TimeProvider time,
        LatencyMonitor latency, Action<long> charge, Action onMore, int syncMs = SyncMsUsual)
    {
        _tail = new AofTail(charge);
        (_files, _options, _log, _time, _latency, _onMore, _syncMs) =
            (files, options, log, time, latency, onMore, syncMs);
        _file = new TimedAofFile(file, options, latency);
        (_info, _position, _sum) = (end.File, end.Length, end.Sum);
        _durable = _tailFrom = _marked = _position;
        _needsSelect = true;
        _thread = new Thread(Run) { Name = "kv-aof", IsBackground = true };
        _thread.Start();
    }

    /// <summary>All up to this ticket was given to the system, or is kept until the disk takes it: a kill of the
    /// process loses none of it, unless <see cref="Error"/> says otherwise.</summary>
    // Volatile: written under the guard, after the system has it.
    public long WrittenTicket => Volatile.Read(ref _writtenTicket);

    /// <summary>All up to this ticket is on the disk.</summary>
    // Volatile: written under the guard, after the disk has said so.
    public long DurableTicket => Volatile.Read(ref _durableTicket);

    /// <summary>Why writes are refused; null: they are not.</summary>
    public string? Error => Volatile.Read(ref _error);

    /// <summary>Bytes of the present increment.</summary>
    public long FileBytes => Volatile.Read(ref _position);

    /// <summary>Bytes that were written and may not be on the disk.</summary>
    public long TailBytes
    {
        get
        {
            lock (_guard) return _tail.Bytes;
        }
    }

    /// <summary>How often the feed has waited for the disk.</summary>
    public long Delayed => Volatile.Read(ref _delayed);

    private long BufferLimit => _options.ForMemory(_options.AofBufferLimit);

    public bool IsSyncing => Volatile.Read(ref _isSyncing);

    /// <summary>Bytes that it has written to files before the present one.</summary>
    public long EarlierBytes => Volatile.Read(ref _earlierBytes);

    /// <summary>Whether it goes on in another file when this one fails.</summary>
    public bool MayResume { get; set; } = true;

    /// <summary>Whether syncs are left out, while others write much to the disk.</summary>
    public bool LeavesSyncs { get; set; }

    /// <summary>Begins to get the feed. What was done before is on the disk in another file, or nobody is told of this
    /// one: sessions do not wait for it. In a pause.</summary>
    public void Attach(Feed feed)
    {
        lock (_guard)
        {
            _groupTicket = feed.Position;
            Volatile.Write(ref _writtenTicket, feed.Position);
            Volatile.Write(ref _durableTicket, feed.Position);
        }

        feed.Attach(this);
    }

    public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
    {
        Debug.Assert(lastTicket >= _groupTicket, "tickets come in their order");
        if (_isLost) return;
        if (entries.Length > 0)
        {
            if (_groupLength > AofGroup.LineBytes && _groupLength + entries.Length > GroupBytesMax) Commit();
            if (_groupLength == AofGroup.LineBytes) BeginGroup();
            Append(entries);
            if (database >= 0) _database = database;
        }

        _groupTicket = lastTicket;
        if (_groupLength >= GroupBytesMax || (_groupLength > AofGroup.LineBytes
            && _time.GetElapsedTime(_groupBegan) > GroupTimeMax)) Commit();
    }

    public void Flush() => Commit();

    /// <summary>Some of the feed is lost to the file, as when there was no memory for it: nothing more is written,
    /// which would follow on a gap, and writes are refused for good.</summary>
    // What waits for the disk (`always`) waits on: it must not be said to be there.
    public void Fail(Exception exception)
    {
        lock (_guard)
        {
            WaitForSyncLatched();       // it drops from the tail what it has synced
            _isLost = true;
            _tail.Drop(_tail.Bytes);
            _groupLength = AofGroup.LineBytes;
            Volatile.Write(ref _writtenTicket, long.MaxValue);      // nobody waits for what will not be written
            FailLatched($"{exception.Message}; CONFIG SET appendonly no, then yes, begins the file anew");
        }

        _onMore();
    }

    /// <summary>Goes on in a new increment, for what a new base does not have.</summary>
    /// <param name="error">Why it goes on in the old one.</param>
    /// <returns>The new one; null on failure.</returns>
    public AofFileInfo? TrySwitch(out string? error)
    {
        Commit();
        lock (_guard)
        {
            WaitForSyncLatched();
            error = _error;
            if (error != null) return null;
            try
            {
                if (_durable < _position) SyncNowLatched();
                var info = _files.AddIncrement(out var file);
                Use(file, AofEnd.OfNew(info));
                return info;
            }
            catch (Exception exception) when (DiskError.Is(exception))
            {
                error = exception.Message;
                // What was written is on the disk. Whether a file comes after it there nobody knows: nothing more is
                // written before that is clear.
                if (_files.IsUnsure) FailLatched(error);
                return null;
            }
        }
    }

    /// <summary>Waits until all that was written is on the disk.</summary>
    /// <returns>Null, or what went wrong.</returns>
    public string? Sync()
    {
        lock (_guard)
        {
            WaitForSyncLatched();
            if (_error != null || IsAllDurable) return _error;
            try
            {
                SyncNowLatched();
                MarkLatched();
            }
            catch (Exception exception) when (DiskError.Is(exception))
            {
                // Sync has noted it.
            }

            return _error;
        }
    }

    /// <summary>Lets the feed go on although the disk does not, since all is to end.</summary>
    public void EndHolding()
    {
        lock (_guard)
        {
            _isEnding = true;
            Monitor.PulseAll(_guard);
        }
    }

    /// <summary>Ends it, after all that the feed had: what was written is on the disk.</summary>
    public void Dispose()
    {
        lock (_guard)
        {
            if (_isClosed) return;
            _isClosed = true;
            Monitor.PulseAll(_guard);
        }

        _thread.Join();
        Sync();
        lock (_guard) _tail.Clear();
        _file.Dispose();
        Volatile.Write(ref _durableTicket, long.MaxValue);      // nobody waits for what is no longer written
        _onMore();
    }

    /// <summary>Whether the file ends with what is on the disk, but for a mark that says so.</summary>
    private bool IsAllDurable => _durable + _markBytes == _position;

    private void BeginGroup()
    {
        _groupDatabase = _database;
        _groupBegan = _time.GetTimestamp();
        if (!_options.AofTimestampEnabled) return;
        long second = _time.GetUtcNow().ToUnixTimeSeconds();
        if (second == _secondStamped) return;
        _secondStamped = second;
        Append(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"#TS:{second}\r\n")));
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        Debug.Assert(_groupLength >= AofGroup.LineBytes, "there is room for the group's line");
        int length = checked(_groupLength + bytes.Length);
        if (length > _group.Length)
            Array.Resize(ref _group, (int)Math.Min(Math.Max(length, 2L * _group.Length), Array.MaxLength));
        bytes.CopyTo(_group.AsSpan(_groupLength));
        _groupLength = length;
    }

    /// <summary>Writes the group; with <c>always</c> to the disk.</summary>
    private void Commit()
    {
        bool isMore;
        lock (_guard)
        {
            if (_isClosed || _isLost) return;
            var before = (_writtenTicket, _durableTicket);
            if (_groupLength > AofGroup.LineBytes) CommitLatched();
            Volatile.Write(ref _writtenTicket, _groupTicket);
            _writtenDatabase = _database;
            if (_error == null && IsAllDurable) Volatile.Write(ref _durableTicket, _writtenTicket);
            isMore = before != (_writtenTicket, _durableTicket);
        }

        if (isMore) _onMore();
        lock (_guard) HoldUpLatched();
    }

    private void CommitLatched()
    {
        AssertHeld();
        var data = _group.AsSpan(AofGroup.LineBytes, _groupLength - AofGroup.LineBytes);
        bool isAlways = _options.AppendFsync == AppendFsync.Always && !LeavesSyncs;
        if (_error != null || !TrySelectLatched()) KeepLatched(data);
        else if (WriteLatched(_group, _groupLength)) SyncGroupLatched(data, isAlways);
        else KeepLatched(data);
        _groupLength = AofGroup.LineBytes;
        if (_group.Length > BufferBytesKept) _group = new byte[BufferBytesKept];
    }

    /// <summary>Begins a file with the database that its commands are for.</summary>
    private bool TrySelectLatched()
    {
        AssertHeld();
        if (!_needsSelect) return true;
        byte[] select = [.. new byte[AofGroup.LineBytes], .. SelectCommand.Of(_groupDatabase)];
        if (!WriteLatched(select, select.Length)) return false;
        _needsSelect = false;
        // It is there again wherever the tail is written to.
        if (_tail.Bytes == 0) (_tailFrom, _tailDatabase) = (_position, _groupDatabase);
        else KeepLatched(select.AsSpan(AofGroup.LineBytes));
        return true;
    }

    /// <param name="group">The commands, after room for their line.</param>
    /// <returns>False on failure, which has been noted.</returns>
    private bool WriteLatched(byte[] group, int length)
    {
        AssertHeld();
        Debug.Assert(_error == null && !_isLost, "nothing is written after what is damaged");
        var data = group.AsSpan(AofGroup.LineBytes, length - AofGroup.LineBytes);
        uint sum = AofSum.Add(_sum, data);
        new AofGroup(_position, data.Length, _durable, sum).Write(group.AsSpan(0, AofGroup.LineBytes));
        try
        {
            Kv.Storage.Fault.Point("aof.write");
            _file.Write(group.AsSpan(0, length));
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            FailLatched(exception.Message);
            TryCutLatched(_position);
            return false;
        }

        _sum = sum;
        _marked = _durable;
        _markBytes = 0;
        Volatile.Write(ref _position, _position + length);
        return true;
    }

    private void SyncGroupLatched(ReadOnlySpan<byte> data, bool isAlways)
    {
        AssertHeld();
        if (!isAlways)
        {
            if (_options.AppendFsync != AppendFsync.No || _isSyncing) KeepLatched(data);
            else LeaveLatched();
            return;
        }

        try
        {
            WaitForSyncLatched();
            if (_error == null) SyncNowLatched(keeps: false);
            else KeepLatched(data);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            KeepLatched(data);
        }
    }

    /// <summary>Keeps commands for the case that they do not get to the disk.</summary>
    private void KeepLatched(ReadOnlySpan<byte> data)
    {
        AssertHeld();
        _tail.Append(data);
    }

    /// <summary>Leaves all that was written to the system (<c>no</c>): were only a part of it kept, what came after
    /// that part would be cut off with the old file. Not while a sync is under way: that will drop its
    /// part.</summary>
    private void LeaveLatched()
    {
        AssertHeld();
        Debug.Assert(!_isSyncing, "a sync drops its part itself");
        _tail.Drop(_tail.Bytes);
        (_tailFrom, _tailDatabase) = (_position, _database);
    }

    /// <summary>Waits for everything, with the guard held.</summary>
    private void SyncNowLatched(bool keeps = true)
    {
        AssertHeld();
        try
        {
            Kv.Storage.Fault.Point("aof.sync");
            _file.Sync();
            _files.CheckNames();
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            FailLatched(exception.Message);
            throw;
        }

        SetDurableLatched(_position, _writtenTicket, _writtenDatabase, _tail.Bytes);
        Debug.Assert(keeps || _tail.Bytes == 0, "all of it is on the disk");
    }

    private void SetDurableLatched(long position, long ticket, int database, long bytes)
    {
        AssertHeld();
        Debug.Assert(position >= _durable && position <= _position, "what is durable was written, and stays so");
        _durable = _tailFrom = position;
        _markBytes = 0;
        _tailDatabase = database;
        _tail.Drop(bytes);
        Volatile.Write(ref _durableTicket, Math.Max(ticket, _durableTicket));
        Monitor.PulseAll(_guard);
    }

    /// <summary>Holds the feed up while too much waits for the disk.</summary>
    private void HoldUpLatched()
    {
        AssertHeld();
        if (_tail.Bytes <= BufferLimit) return;
        Volatile.Write(ref _delayed, _delayed + 1);
        long begin = Stopwatch.GetTimestamp();
        // Ends: a sync, or another file, takes all; so does the end.
        while (_tail.Bytes > BufferLimit && !_isClosed && !_isEnding)
        {
            _isWaiting = true;
            Monitor.PulseAll(_guard);
            Monitor.Wait(_guard, _syncMs);
        }

        _latency.Note(LatencyEvent.AofPending, Stopwatch.GetTimestamp() - begin);
        _isWaiting = false;
    }

    private void WaitForSyncLatched()
    {
        AssertHeld();
        // Ends: a sync does.
        while (_isSyncing) Monitor.Wait(_guard);
    }

    private void FailLatched(string message)
    {
        AssertHeld();
        if (_error == null)
            _log.LogError("The append-only file {File} cannot be written: {Message}. Writes are refused until that is "
                + "over", _info.Name, message);
        Volatile.Write(ref _error, message);
        Monitor.PulseAll(_guard);
    }

    private void TryCutLatched(long length)
    {
        AssertHeld();
        try
        {
            _file.Cut(length);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            _log.LogWarning("What {File} has after offset {Offset} cannot be cut off: {Message}. The next start does "
                + "it", _info.Name, length, exception.Message);
        }
    }

    private void Run()
    {
        lock (_guard)
        {
            long due = Environment.TickCount64 + _syncMs;
            while (!_isClosed)
            {
                long left = due - Environment.TickCount64;
                if (left > 0 && !(_isWaiting && _error == null))
                {
                    Monitor.Wait(_guard, (int)Math.Min(left, _syncMs));
                    continue;
                }

                due = Environment.TickCount64 + _syncMs;
                _isWaiting = false;     // who has to wait on says so again
                bool isWanted = _tail.Bytes > BufferLimit;
                bool syncs = _options.AppendFsync != AppendFsync.No && !LeavesSyncs;
                if (_error != null) ResumeLatched();
                else if ((syncs || isWanted) && !IsAllDurable) SyncAsideLatched();
                else LookLatched();
            }
        }
    }

    /// <summary>Syncs what was written, without the guard: the feed goes on writing meanwhile.</summary>
    private void SyncAsideLatched()
    {
        AssertHeld();
        Debug.Assert(!_isSyncing, "one sync at a time");
        var (file, position, ticket, database, bytes) =
            (_file, _position, _writtenTicket, _writtenDatabase, _tail.Bytes);
        string? error = null;
        Volatile.Write(ref _isSyncing, true);
        Monitor.Exit(_guard);
        try
        {
            Kv.Storage.Fault.Point("aof.sync");
            file.Sync();
            _files.CheckNames();
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            error = exception.Message;
        }
        finally
        {
            Monitor.Enter(_guard);
            Volatile.Write(ref _isSyncing, false);
            Monitor.PulseAll(_guard);
        }

        if (error != null) FailLatched(error);
        else SetDurableLatched(position, ticket, database, bytes);
        _onMore();
    }

    /// <summary>While nothing is to be synced: whether the files are still there.</summary>
    private void LookLatched()
    {
        AssertHeld();
        try
        {
            _files.CheckNames();
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            FailLatched(exception.Message);
            return;
        }

        MarkLatched();
    }

    /// <summary>Notes in the file that all of it is on the disk: damage to it is no torn write.</summary>
    private void MarkLatched()
    {
        AssertHeld();
        if (_error != null || _marked == _durable || !IsAllDurable) return;
        var line = new byte[AofGroup.LineBytes];
        new AofGroup(_position, 0, _durable, _sum).Write(line);
        try
        {
            _file.Write(line);
            // Nobody waits for it: if it is lost, nothing is.
            Volatile.Write(ref _position, _position + line.Length);
            (_marked, _markBytes) = (_durable, line.Length);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            TryCutLatched(_position);
        }
    }

    /// <summary>Tries to go on with a new file.</summary>
    private void ResumeLatched()
    {
        AssertHeld();
        WaitForSyncLatched();
        if (!MayResume || _isLost) return;
        try
        {
            _files.CheckNames();
            Debug.Assert(_tailFrom > 0, "a file begins with a line");
            var end = default(AofEnd);
            var old = _file;
            var info = _files.AddIncrement(out var file, (target, name) =>
            {
                if (_tailFrom > _durable) old.Sync();       // what was left to the system (`no`) counts, too
                end = Fill(target, AofEnd.OfNew(name));
            }, _tailFrom);
            // A start would leave out the rest, and cut it off: this is for Redis.
            TryCutLatched(_tailFrom);
            Volatile.Write(ref _error, null);
            _tail.Drop(_tail.Bytes);
            Use(file, end);
            _log.LogInformation("The append-only file goes on in {File}; writes are no longer refused", info.Name);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            Volatile.Write(ref _error, exception.Message);
            return;
        }

        Volatile.Write(ref _durableTicket, _writtenTicket);
        Monitor.PulseAll(_guard);
        _onMore();
    }

    /// <summary>Writes the tail as one group, and that it is on the disk: the file counts only when it is.</summary>
    private AofEnd Fill(IAofFile file, AofEnd begin)
    {
        if (_tail.Bytes == 0) return begin;
        byte[] select = SelectCommand.Of(_tailDatabase);
        uint sum = AofSum.Add(begin.Sum, select);
        _tail.Visit(piece => sum = AofSum.Add(sum, piece.Span));
        var line = new byte[AofGroup.LineBytes];
        new AofGroup(begin.Length, select.Length + _tail.Bytes, begin.Length, sum).Write(line);
        file.Write([.. line, .. select]);
        _tail.Visit(piece => file.Write(piece.Span));
        long position = begin.Length + line.Length + select.Length + _tail.Bytes;
        new AofGroup(position, 0, position, sum).Write(line);
        file.Write(line);
        file.Sync();
        return begin with { Length = position + line.Length, Sum = sum };
    }

    [Conditional("DEBUG")]
    private void AssertHeld() => Debug.Assert(Monitor.IsEntered(_guard), "the file is the guard's");

    /// <summary>Goes on in another file, all of which is on the disk.</summary>
    private void Use(IAofFile file, AofEnd end)
    {
        _file.Dispose();
        Volatile.Write(ref _earlierBytes, _earlierBytes + _position);
        (_file, _info, _sum) = (new TimedAofFile(file, _options, _latency), end.File, end.Sum);
        Volatile.Write(ref _position, end.Length);
        _durable = _tailFrom = end.Length;
        _markBytes = 0;
        _marked = -1;
        _tailDatabase = _writtenDatabase;
        _needsSelect = true;
    }
}
