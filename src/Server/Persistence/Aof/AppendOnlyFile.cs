using System.Collections.Immutable;
using System.Diagnostics;
using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Effects;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence.Aof;

/// <summary>The append-only file of a server: loaded at the start, written from the feed, written anew when it has
/// grown, switched on and off by <c>CONFIG SET appendonly</c>.</summary>
/// <remarks>
/// <c>kv-aof-keep</c> begins and ends what takes longer than a command may. Threads: <see cref="Start"/> before there
/// are clients; all else by any.
/// </remarks>
internal sealed class AppendOnlyFile(KvServer server) : IDisposable
{
    private const int TickMs = 100;

    /// <summary>How much of the feed may wait to be written while replies leave: some 20 ms of writing.</summary>
    private const int BehindBytes = 4 << 20;

    /// <summary>How long it may wait while they do: a kill costs no more than about twice that.</summary>
    private const int BehindMs = 25;

    private readonly object _guard = new();
    private ImmutableArray<Action> _releases = [];
    private AofFiles? _files;
    private DataLock? _lock;
    private AofWriter? _writer;
    private AofRewrite? _rewrite;
    private RefusalText? _refusal;
    private Thread? _keeper;
    private bool _isReady, _isLeaving, _isAsked, _isEnding, _holdsReplies, _hasFailed;
    private long _settledBytes, _grownFrom, _rewrites, _failures, _lastTookSeconds = -1, _retryTickMs;
    private long _markTicket, _markTickMs;

    private ServerOptions Options => server.Options;

    /// <summary>Whether everything is written to it.</summary>
    public bool IsOn => Volatile.Read(ref _isReady) && !Volatile.Read(ref _isLeaving);

    /// <summary>All up to this ticket is on the disk, or need not be.</summary>
    public long DurableTicket => Volatile.Read(ref _writer)?.DurableTicket ?? long.MaxValue;

    /// <summary>Why writes are refused; null: they are not.</summary>
    public string? Error => IsOn ? Volatile.Read(ref _writer)?.Error : null;

    /// <summary>The error for commands that write, while <see cref="Error"/> says why.</summary>
    public byte[]? Refusal
    {
        get
        {
            if (Error is not { } error) return null;
            var known = Volatile.Read(ref _refusal);
            if (known?.Error == error) return known.Text;
            byte[] text = Encoding.UTF8.GetBytes("MISCONF Errors writing to the AOF file: " + error);
            Volatile.Write(ref _refusal, new RefusalText(error, text));
            return text;
        }
    }

    /// <summary>Whether some replies wait for the disk.</summary>
    // Volatile: a turn that sees it late has sent replies of before.
    public bool HoldsReplies => Volatile.Read(ref _holdsReplies);

    /// <summary>Whether a base is being written.</summary>
    public bool IsRewriting => Volatile.Read(ref _rewrite) != null || (IsWanted && server.Snapshots.Job == null);

    /// <summary>Whether one is to be written as soon as that can be.</summary>
    public bool IsScheduled => IsWanted && server.Snapshots.Job != null && Volatile.Read(ref _rewrite) == null;

    /// <summary>Whether somebody has asked for a base, or for the file, which begins with one.</summary>
    private bool IsWanted =>
        _isAsked || (Options is { AppendOnly: true, LoadsAtStart: true } && !IsOn && server.Loading == null);

    public long RewriteSeconds => Volatile.Read(ref _rewrite) is { } rewrite
        ? (long)Stopwatch.GetElapsedTime(rewrite.Begun).TotalSeconds : -1;

    public long LastRewriteSeconds => Volatile.Read(ref _lastTookSeconds);

    public long Rewrites => Volatile.Read(ref _rewrites);

    public long Failures => Volatile.Read(ref _failures);

    public bool LastRewriteFailed => Volatile.Read(ref _hasFailed);

    /// <summary>Bytes of all files.</summary>
    public long Bytes => Volatile.Read(ref _writer) is { } writer
        ? Volatile.Read(ref _settledBytes) + writer.EarlierBytes + writer.FileBytes : 0;

    /// <summary>Bytes that there were when the file was last loaded or written anew.</summary>
    public long GrownFromBytes => Volatile.Read(ref _grownFrom);

    public long TailBytes => Volatile.Read(ref _writer)?.TailBytes ?? 0;

    public bool IsSyncing => Volatile.Read(ref _writer)?.IsSyncing ?? false;

    public long Delayed => Volatile.Read(ref _writer)?.Delayed ?? 0;

    /// <summary>Commands that the start has run.</summary>
    public long LoadedCommands { get; private set; }

    /// <summary>Bytes that the start has cut off.</summary>
    public long BytesCut { get; private set; }

    /// <summary>Whether a reply has to wait that is about what was done up to a ticket: with <c>always</c> for the
    /// disk, else for the system, when the file is far behind: a kill of the process loses no more than that.</summary>
    // With `always` set meanwhile the reply may leave before the disk has what it is about: that was done before.
    public bool Holds(long ticket) => HoldsReplies ? ticket > DurableTicket
        : IsBehind(ticket) && (server.Feed.IsBehind(BehindBytes) || IsLate(ticket));

    /// <summary>Whether the system has not got for long what was done some time ago.</summary>
    // The mark says: at this time, this ticket was not written. Volatile, by any thread that holds a ticket that is not
    // written: two that set it at once may leave the ticket of one with the time of the other, which are of the same
    // moment. A new ticket beside an older time makes a reply wait that need not, until the file is there.
    private bool IsLate(long ticket)
    {
        if (IsBehind(Volatile.Read(ref _markTicket))) return server.TickMs - Volatile.Read(ref _markTickMs) > BehindMs;
        Volatile.Write(ref _markTickMs, server.TickMs);
        Volatile.Write(ref _markTicket, ticket);
        return false;
    }

    /// <summary>Whether a reply that waits still has to.</summary>
    public bool StillHolds(long ticket) => HoldsReplies ? ticket > DurableTicket : IsBehind(ticket);

    private bool IsBehind(long ticket) => Volatile.Read(ref _writer) is { } writer && ticket > writer.WrittenTicket;

    /// <summary>Whether all that a session has written is on the disk.</summary>
    public bool IsDurable(Session session) => session.LastTicket <= DurableTicket;

    /// <summary>Has an action called whenever more is on the disk, or replies need no longer wait.</summary>
    public void OnRelease(Action release)
    {
        lock (_guard) _releases = _releases.Add(release);
    }

    /// <summary>Begins to write, or to end writing, as <c>appendonly</c> says now.</summary>
    public string? Follow(ServerOptions options)
    {
        if (!options.LoadsAtStart) return options.AppendOnly ? "the server was started without files" : null;
        TryAtOnce();
        return null;
    }

    /// <summary>Holds replies, or lets them go, as <c>appendfsync</c> says now.</summary>
    public string? FollowPolicy(ServerOptions options)
    {
        // What is written while it is switched off is held until the disk has it, too.
        bool isAlways = options.AppendFsync == AppendFsync.Always && Volatile.Read(ref _isReady);
        server.Feed.SetUrgent(this, isAlways);
        Volatile.Write(ref _holdsReplies, isAlways && Volatile.Read(ref _writer) is { LeavesSyncs: false });
        Release();
        return null;
    }

    /// <summary>Loads the data, and begins to write.</summary>
    /// <exception cref="IOException">What is on the disk cannot be loaded, or nothing can be written.</exception>
    public void Start()
    {
        if (!Options.AppendOnly)
        {
            server.Snapshots.Load();
            return;
        }

        try
        {
            Open();
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new AofException($"The append-only file cannot be written: {exception.Message}");
        }

        BeginKeeper();
    }

    /// <summary>Has it written anew as soon as that can be.</summary>
    public void AskRewrite()
    {
        _isAsked = true;
        TryAtOnce();
    }

    /// <summary>Loads all of it once more, where nobody else is in a turn.</summary>
    /// <returns>Null, or what is wrong.</returns>
    public string? Reload(StoreSession session)
    {
        if (Volatile.Read(ref _writer) is not { } writer || !IsOn) return "the append-only file is off";
        using var written = new ManualResetEventSlim();
        server.Feed.Detach(writer, written.Set);
        server.Replicas.BeginReload();
        written.Wait();
        try
        {
            if (writer.Sync() is { } error) return error;
            session.FlushAll();
            session.Tick();
            server.Scripts.Functions.Clear();       // a base of commands has them as new ones
            new AofLoader(server, _files!, cutsTail: false).Load(session);
            return null;
        }
        catch (IOException exception)
        {
            server.Data.LogError("The append-only file could not be loaded again: {Message}", exception.Message);
            // What is in memory is a part of what is in the file: nothing is to be written after that.
            writer.Fail(exception);
            return exception.Message;
        }
        finally
        {
            server.Replicas.EndReload();
            server.Feed.Attach(writer);
        }
    }

    /// <summary>Ends it after all clients have left: what was written is on the disk.</summary>
    public void Dispose()
    {
        lock (_guard)
        {
            _isEnding = true;
            Monitor.PulseAll(_guard);
        }

        Volatile.Read(ref _writer)?.EndHolding();
        _keeper?.Join();
        server.Snapshots.Cancel();
        // A base may still become commands. Ends: that is given up once the server ends.
        while (Volatile.Read(ref _rewrite) != null) Thread.Sleep(1);
        if (Volatile.Read(ref _writer) != null) End();
        _lock?.Dispose();
    }

    private void Open()
    {
        OpenFiles();
        AofEnd? end = null;
        bool exist = _files!.TryOpen();
        if (exist) end = Load();
        else server.Snapshots.Load();
        _files.Clean(collects: !Options.AofDisableAutoGc);
        if (!exist && Enumerable.Range(0, Options.Databases).Any(number => server.Store.Count(number) > 0))
        {
            // What the snapshot had becomes the base.
            using var ended = new ManualResetEventSlim();
            while (!TryBegin(isFirst: true, ended.Set)) Thread.Sleep(1);
            ended.Wait();
            if (!IsOn) throw new AofException($"The append-only file cannot be begun in {_files.Folder}; see the log");
            return;
        }

        IAofFile file;
        if (end == null)
        {
            var info = _files.AddIncrement(out file);
            end = AofEnd.OfNew(info);
        }
        else
        {
            file = _files.Device.OpenAppend(_files.PathOf(end.Value.File.Name));
            if (end.Value.Length == 0)      // Redis begins one so
            {
                file.Write(AofEnd.Head(end.Value.File));
                end = AofEnd.OfNew(end.Value.File);
            }

            file.Sync();        // after a kill what was loaded may not be on the disk yet
        }

        var writer = NewWriter(file, end.Value);
        WriterPause.Attach(server, writer);
        Use(writer);
    }

    private AofEnd? Load()
    {
        long begin = Stopwatch.GetTimestamp();
        var loader = new AofLoader(server, _files!, Options.AofLoadTruncated);
        AofEnd? end;
        using (var guard = server.Store.Enter()) end = loader.Load(guard.Session);
        Volatile.Write(ref _settledBytes, loader.Bytes - (end?.Length ?? 0));
        Volatile.Write(ref _grownFrom, loader.Bytes);
        (LoadedCommands, BytesCut) = (loader.Commands, loader.BytesCut);
        server.Data.LogInformation("DB loaded from append only file: {Seconds:F3} seconds, {Keys} keys of the base, "
            + "{Commands} commands, {Bytes} bytes", Stopwatch.GetElapsedTime(begin).TotalSeconds, loader.Keys,
            loader.Commands, loader.Bytes);
        return end;
    }

    private void OpenFiles()
    {
        if (_files != null) return;
        string directory = Path.GetFullPath(Options.Dir);
        _lock = DataLock.Take(Path.Combine(directory, Options.AppendDirname));
        _files = new AofFiles(DiskAofDevice.Instance, directory, Options.AppendDirname, Options.AppendFilename,
            server.Data);
    }

    private AofWriter NewWriter(IAofFile file, AofEnd end) =>
        new(_files!, file, end, Options, server.Data, server.Time, server.Latency,
            server.Store.ChargeFeed, Release);

    private void Use(AofWriter writer)
    {
        Volatile.Write(ref _writer, writer);
        Volatile.Write(ref _isReady, true);
        FollowPolicy(Options);
    }

    /// <summary>Lets go on who has waited for the disk.</summary>
    private void Release()
    {
        // Full fence: what is on the disk was noted before anybody who waits is looked for.
        Interlocked.MemoryBarrier();
        foreach (var release in _releases) release();
        server.Replicas.EndWaits();
    }

    /// <summary>However often a base has failed: who asks for one need not wait until it is tried again by
    /// itself.</summary>
    private void TryAtOnce()
    {
        // Volatile: the keeper reads it each time; one that sees it late looks again after a tick.
        Volatile.Write(ref _retryTickMs, 0);
        BeginKeeper();
    }

    private void BeginKeeper()
    {
        lock (_guard)
        {
            if (_isEnding) return;
            Monitor.PulseAll(_guard);
            if (_keeper != null) return;
            _keeper = new Thread(Keep) { Name = "kv-aof-keep", IsBackground = true };
            _keeper.Start();
        }
    }

    private void Keep()
    {
        while (true)
        {
            try
            {
                DoWhatIsDue();
            }
            catch (Exception exception)
            {
                NoteFailure(exception.Message);
            }

            lock (_guard)
            {
                if (_isEnding) return;
                Monitor.Wait(_guard, TickMs);
                if (_isEnding) return;
            }
        }
    }

    private void DoWhatIsDue()
    {
        server.Replicas.EndWaits();     // not all who note more on the disk say so
        var writer = Volatile.Read(ref _writer);
        bool isRunning = Volatile.Read(ref _rewrite) != null;
        if (writer != null && IsOn) FollowSnapshots(writer);
        if (!Options.AppendOnly && writer != null)
        {
            if (isRunning) server.Snapshots.Cancel();
            else Leave();
            return;
        }

        if (isRunning || Environment.TickCount64 < Volatile.Read(ref _retryTickMs)) return;
        if (Options.AppendOnly && writer == null) TryBegin(isFirst: true, null);
        else if (_isAsked || HasGrown()) TryBegin(isFirst: false, null);
    }

    /// <summary>Leaves syncs out while much is written to the disk, if the option says so.</summary>
    private void FollowSnapshots(AofWriter writer)
    {
        bool leaves = Options.NoAppendfsyncOnRewrite && server.Snapshots.Job != null;
        if (writer.LeavesSyncs == leaves) return;
        writer.LeavesSyncs = leaves;
        FollowPolicy(Options);
    }

    private bool HasGrown()
    {
        if (!IsOn || Options.AutoAofRewritePercentage == 0) return false;
        long bytes = Bytes, from = Math.Max(GrownFromBytes, 1);
        if (bytes <= Options.AutoAofRewriteMinSize || bytes * 100.0 / from - 100 < Options.AutoAofRewritePercentage)
            return false;
        server.Data.LogInformation("Starting automatic rewriting of AOF on {Percent:F0}% growth",
            (bytes * 100.0 / from) - 100);
        return true;
    }

    /// <summary>Begins to write a base.</summary>
    /// <param name="isFirst">Whether the file is switched on by it.</param>
    /// <param name="ended">Called at the end, whatever it is.</param>
    /// <returns>False when another snapshot is being written, or others could not be stopped: again later.</returns>
    private bool TryBegin(bool isFirst, Action? ended)
    {
        bool wasOpen = _files != null;
        OpenFiles();
        if (!wasOpen) _files!.TryOpen(needsAll: false);
        _files!.Device.MakeFolder(_files.Folder);
        var rewrite = new AofRewrite(server, _files, isFirst ? null : Volatile.Read(ref _writer), isFirst, NewWriter);
        Volatile.Write(ref _rewrite, rewrite);
        bool hasBegun = rewrite.TryBegin(error => End(rewrite, error, ended), out string? why);
        if (hasBegun)
        {
            _isAsked = false;
            return true;
        }

        Volatile.Write(ref _rewrite, null);
        if (why != null) NoteFailure(why);
        return false;
    }

    private void End(AofRewrite rewrite, string? error, Action? ended)
    {
        if (error == null)
        {
            if (rewrite.IsFirst) Use(rewrite.Writer!);
            long baseBytes = rewrite.BaseBytes;
            Volatile.Write(ref _settledBytes, baseBytes - rewrite.EarlierBytes);
            Volatile.Write(ref _grownFrom, Bytes == 0 ? baseBytes : Bytes);
            Volatile.Write(ref _lastTookSeconds, (long)Stopwatch.GetElapsedTime(rewrite.Begun).TotalSeconds);
            Volatile.Write(ref _hasFailed, false);
            Volatile.Write(ref _failures, 0);
            Interlocked.Increment(ref _rewrites);
            server.Data.LogInformation("Background AOF rewrite finished successfully: {Bytes} bytes", baseBytes);
            if (!Options.AofDisableAutoGc) _files!.Collect();
        }
        else
        {
            NoteFailure(error);
        }

        Volatile.Write(ref _rewrite, null);
        ended?.Invoke();
    }

    private void NoteFailure(string error)
    {
        _isAsked = false;
        Volatile.Write(ref _hasFailed, true);
        Volatile.Write(ref _failures, _failures + 1);
        // As in Redis: after some failures it waits longer each time, an hour at most.
        long seconds = _failures < 3 ? 1 : Math.Min(60L << (int)Math.Min(_failures - 3, 6), 3600);
        Volatile.Write(ref _retryTickMs, Environment.TickCount64 + (seconds * 1000));
        server.Data.LogError("The append-only file could not be written anew: {Message}", error);
    }

    /// <summary>Switches it off, as <c>appendonly</c> says.</summary>
    private void Leave()
    {
        Volatile.Write(ref _isLeaving, true);
        // Full fence: whoever switches it on again either is seen here, or sees that it is not on any longer: nothing
        // is said to be written that the feed no longer brings.
        Interlocked.MemoryBarrier();
        if (!Options.AppendOnly) End();
        Volatile.Write(ref _isLeaving, false);
    }

    /// <summary>Ends writing.</summary>
    private void End()
    {
        var writer = _writer!;
        if (!WriterPause.TryDetach(server, writer))
        {
            writer.Sync();
            return;
        }

        Volatile.Write(ref _isReady, false);
        FollowPolicy(Options);
        writer.Dispose();
        Volatile.Write(ref _writer, null);
        Release();
        if (_isEnding) return;
        _files = null;
        _lock?.Dispose();
        _lock = null;
    }

    private sealed record RefusalText(string Error, byte[] Text);
}
