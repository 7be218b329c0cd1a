using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Scripting;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence;

/// <summary>The snapshots of a server's data on disk: <c>dbfilename</c> in <c>dir</c>, an RDB file as Redis has it, and
/// others that are begun here.</summary>
/// <remarks>One is written beside clients at a time. Threads: <see cref="Load"/> before there are clients; all else by
/// any.</remarks>
internal sealed class Snapshots(KvServer server) : IDisposable
{
    private const int TriesMax = 40;

    private readonly Lock _lock = new();
    private SnapshotJob? _job;
    private RdbFileWriter? _writer;
    private bool _hasFailed, _isDisposed;
    private long _lastSaveSeconds = server.Started.ToUnixTimeSeconds(), _saves, _loaded, _expiredAtLoad;
    private long _changesAtSave, _lastTookSeconds = -1;

    /// <summary>Unix seconds of the last snapshot that was written; of the start, if none was.</summary>
    // Volatile, as those below: one writes, any read, and nothing hangs on it.
    public long LastSaveSeconds => Volatile.Read(ref _lastSaveSeconds);

    /// <summary>Snapshots since the start.</summary>
    public long Saves => Volatile.Read(ref _saves);

    /// <summary>Keys that came from the snapshot at the start.</summary>
    public long Loaded => Volatile.Read(ref _loaded);

    /// <summary>Keys of it whose time had passed.</summary>
    public long ExpiredAtLoad => Volatile.Read(ref _expiredAtLoad);

    /// <summary>What is being written beside clients; null: nothing.</summary>
    public SnapshotJob? Job => Volatile.Read(ref _job);

    /// <summary>Seconds that the last one beside clients took; -1: there was none.</summary>
    public long LastTookSeconds => Volatile.Read(ref _lastTookSeconds);

    /// <summary>Whether the last one beside clients could not be written.</summary>
    public bool HasFailed => Volatile.Read(ref _hasFailed);

    /// <summary>Changes since what is in the file, counted as by Redis: see <see cref="ChangeRule"/>.</summary>
    // Counters are read one after the other, while they grow: never less than none.
    public long Changes =>
        Math.Max(0, server.Counters.Changes(server.OwnCommands) - Volatile.Read(ref _changesAtSave));

    /// <summary>Bytes of what is being written while all clients stand still; 0 while nothing is. Whoever reads it
    /// twice sees whether it goes on.</summary>
    public long BytesWritten => Volatile.Read(ref _writer)?.Bytes ?? 0;

    private string FilePath => Path.Combine(Path.GetFullPath(server.Options.Dir), server.Options.DbFilename);

    /// <summary>Loads the snapshot, if there is one.</summary>
    /// <exception cref="IOException">It cannot be read, or has something that cannot be taken: a server that started
    /// without would write over it. The message names file, place and remedy.</exception>
    public void Load()
    {
        if (!IsThere)
        {
            SayNothingToLoad();
            return;
        }

        string path = FilePath;
        long begin = Stopwatch.GetTimestamp();
        try
        {
            using var file = RegularFile.Open(path);
            using var guard = server.Store.Enter();
            using var reader = new RdbFileReader(server.Store, file, server.Options.RdbChecksum);
            var load = new SnapshotLoad(server, guard.Session, () => (double)reader.Position / file.Length);
            server.Loading?.Begin(file.Length);
            server.Loading?.BeginFile(() => reader.Position);
            reader.Read(load);
            TakeLibraries(load.Libraries);
            Volatile.Write(ref _loaded, load.Loaded);
            Volatile.Write(ref _expiredAtLoad, load.Expired);
            server.Data.LogInformation(
                "DB loaded from disk: {Keys} keys of {File} (version {Version} of the format, redis {Redis}) in "
                + "{Seconds:F3} seconds; {Expired} had expired", load.Loaded, path, reader.Version,
                load.NoteOf("redis-ver") ?? "unknown", Stopwatch.GetElapsedTime(begin).TotalSeconds, load.Expired);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            throw NotLoaded(path, exception.Message);
        }
    }

    /// <summary>Notes in the log that there is no snapshot.</summary>
    public void SayNothingToLoad() =>
        server.Data.LogInformation("{Directory}, nothing to load", Path.GetFullPath(server.Options.Dir));

    /// <summary>Whether there is a snapshot.</summary>
    /// <exception cref="IOException">There may be, and it cannot be read: a start without it would write over it
    /// later.</exception>
    public bool IsThere => Exists(FilePath);

    private static bool Exists(string path)
    {
        try
        {
            // Not File.Exists: that answers no for what cannot be looked at, as in a folder of another user.
            if ((File.GetAttributes(path) & FileAttributes.Directory) != 0) throw NotLoaded(path, "it is a folder");
            return true;
        }
        catch (FileNotFoundException)
        {
            return false;
        }
        catch (Exception exception) when (exception is UnauthorizedAccessException or PathTooLongException)
        {
            throw NotLoaded(path, exception.Message);
        }
    }

    private static RdbFileException NotLoaded(string path, string message) =>
        new($"Can't load {path}: {message}. Start with --dbfilename of another name to leave it alone");

    /// <summary>Writes a snapshot of all databases, while all other clients stand still.</summary>
    /// <returns>Null, or what went wrong: then the file of before is there as it was.</returns>
    public string? Save(ref CommandContext context)
    {
        Debug.Assert(context.Store.Presence.PausesOthers, "all others stand still");
        try
        {
            return Save(context.Store);
        }
        finally
        {
            context.Store.Select(context.Session.Database);
        }
    }

    /// <summary>Writes a snapshot where nobody else is there any more, or changes anything.</summary>
    /// <returns>Null, or what went wrong: then the file of before is there as it was.</returns>
    public string? SaveAtEnd()
    {
        using var guard = server.Store.Enter();
        return Save(guard.Session);
    }

    /// <summary>Begins to write the snapshot beside clients.</summary>
    /// <inheritdoc cref="TryBegin(StoreSession, SnapshotPurpose, string, Action?, Action{string?}?, out string?)"/>
    public bool TryBegin(StoreSession session, out string? error) =>
        TryBegin(session, SnapshotPurpose.File, FilePath, null, null, out error);

    /// <summary>Begins to write the snapshot in the turn of a client, which has others behind it.</summary>
    /// <inheritdoc cref="TryBegin(StoreSession, SnapshotPurpose, string, Action?, Action{string?}?, out string?)"/>
    public bool TryBeginInTurn(StoreSession session, out string? error) =>
        TryBegin(session, tries: 1, SnapshotPurpose.File, FilePath, null, null, out error);

    /// <summary>Begins to write a snapshot beside clients.</summary>
    /// <param name="session">In its turn; it stops all others for the instant.</param>
    /// <param name="path">The file, which appears whole.</param>
    /// <param name="atInstant">Called while all others are stopped: what the file has is what there is then.</param>
    /// <param name="done">Called at the end, from another thread: with null, or with what went wrong; then there is no
    /// new file.</param>
    /// <param name="error">What went wrong with the beginning.</param>
    /// <returns>False: it has not begun, and nobody is called. Without an error: one is being written, or the others
    /// could not be stopped just now.</returns>
    public bool TryBegin(StoreSession session, SnapshotPurpose purpose, string path, Action? atInstant,
        Action<string?>? done, out string? error) =>
        TryBegin(session, TriesMax, purpose, path, atInstant, done, out error);

    private bool TryBegin(StoreSession session, int tries, SnapshotPurpose purpose, string path, Action? atInstant,
        Action<string?>? done, out string? error)
    {
        error = null;
        if (Job != null || !session.Presence.TryPauseNow(tries)) return false;
        SnapshotJob? job = null;
        try
        {
            lock (_lock)
            {
                if (_job != null || _isDisposed) return false;
                long changes = server.Counters.Changes(server.OwnCommands);
                job = new SnapshotJob(server, path, purpose,
                    (ended, exception) => End(ended, exception, changes, done));
                Volatile.Write(ref _job, job);
            }

            atInstant?.Invoke();
        }
        catch (Exception exception) when (DiskError.Is(exception) || exception is OutOfMemoryException)
        {
            error = exception.Message;
            NoteFailure(purpose, path, error);
            if (job == null) return false;
            job.Abandon();
            Volatile.Write(ref _job, null);
            return false;
        }
        finally
        {
            session.EndPause();
        }

        server.Data.LogInformation("Writing {File} beside clients: {Keys} keys", path, job.KeysAtInstant);
        job.Start();
        return true;
    }

    /// <summary>Ends what is being written beside clients before its end, and waits until it has ended.</summary>
    public void Cancel()
    {
        var job = Job;
        job?.Cancel();
        job?.Join();
    }

    public void Dispose()
    {
        lock (_lock) _isDisposed = true;
        Cancel();
    }

    private string? Save(StoreSession session)
    {
        long begin = Stopwatch.GetTimestamp(), changes = server.Counters.Changes(server.OwnCommands);
        string path = FilePath;
        try
        {
            using var file = new SnapshotFile(Path.GetDirectoryName(path)!, Path.GetFileName(path), "temp-save");
            using var writer = new RdbFileWriter(server.Store, file.Stream, server.Options.RdbCompression,
                server.Options.RdbChecksum);
            Volatile.Write(ref _writer, writer);
            SnapshotHead.Write(writer, server, SnapshotPurpose.File);
            WriteKeys(writer, session);
            file.Publish();
            NoteSaved(path, writer.Keys.Keys, writer.Bytes, begin, changes);
            return null;
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            server.Data.LogError("The snapshot {File} could not be written, the one of before is as it was: {Message}",
                path, exception.Message);
            return exception.Message;
        }
        finally
        {
            Volatile.Write(ref _writer, null);
        }
    }

    /// <summary>A snapshot beside clients has ended.</summary>
    /// <param name="changes">What there was of changes in its instant.</param>
    private void End(SnapshotJob job, Exception? exception, long changes, Action<string?>? done)
    {
        Debug.Assert(Job == job, "one is written at a time");
        if (job.Purpose == SnapshotPurpose.File)
        {
            Volatile.Write(ref _lastTookSeconds, (long)Stopwatch.GetElapsedTime(job.Begun).TotalSeconds);
            if (exception == null) NoteSaved(job.Path, job.Keys, job.Bytes, job.Begun, changes);
        }

        if (exception is OperationCanceledException)
            server.Data.LogWarning("Writing {File} was given up", job.Path);
        else if (exception != null)
            NoteFailure(job.Purpose, job.Path, DiskError.Is(exception) || exception is OutOfMemoryException
                ? exception.Message : exception.ToString());
        Volatile.Write(ref _job, null);
        done?.Invoke(exception?.Message);
    }

    private void NoteSaved(string path, long keys, long bytes, long begin, long changes)
    {
        Volatile.Write(ref _lastSaveSeconds, server.Time.GetUtcNow().ToUnixTimeSeconds());
        Volatile.Write(ref _changesAtSave, changes);
        Volatile.Write(ref _hasFailed, false);
        Interlocked.Increment(ref _saves);
        server.Data.LogInformation("DB saved on disk: {Keys} keys, {Bytes} bytes in {File}, in {Seconds:F3} seconds",
            keys, bytes, path, Stopwatch.GetElapsedTime(begin).TotalSeconds);
    }

    private void NoteFailure(SnapshotPurpose purpose, string path, string message)
    {
        if (purpose == SnapshotPurpose.File) Volatile.Write(ref _hasFailed, true);
        server.Data.LogError("The snapshot {File} could not be written, the one of before is as it was: {Message}",
            path, message);
    }

    private void WriteKeys(RdbFileWriter writer, StoreSession session)
    {
        var store = server.Store;
        for (int number = 0; number < server.Options.Databases; number++)
        {
            if (store.Count(number) == 0) continue;
            session.Select(number);
            writer.BeginDatabase(number, store.Count(number), store.CountWithExpiry(number));
            var visit = new KeyVisit(writer.Keys, session, store);
            ulong cursor = 0;
            // Ends: the cursor comes round. Nobody adds keys, so none is visited twice.
            do cursor = session.Scan(cursor, ref visit);
            while (cursor != 0);
        }

        writer.End();
    }

    internal void TakeLibraries(IReadOnlyList<byte[]> texts)
    {
        if (texts.Count == 0) return;
        try
        {
            var libraries = server.Scripts.Functions.Read(texts, LoadLimits.AtStart);
            server.Scripts.Functions.Add(libraries, LibraryPolicy.Flush);
        }
        catch (ScriptRefusedException exception)
        {
            throw new RdbFileException($"one of its function libraries is refused: {exception.Message}");
        }
    }

    private readonly struct KeyVisit(RdbKeyWriter writer, StoreSession session, Store store) : IRecordVisit
    {
        private readonly bool _saysFrequency = store.CountsFrequency,
            _saysIdle = store.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.VolatileLru;

        public void Visit(ReadOnlySpan<byte> key, in ValueView value) => writer.Write(key, value, new RdbUse(
            _saysFrequency ? value.Frequency : null, _saysIdle ? session.IdleSeconds(value) : null));
    }
}
