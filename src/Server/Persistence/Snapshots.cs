using System.Diagnostics;
using System.Globalization;
using Kv.Lua;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Scripting;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence;

/// <summary>The snapshot of a server's data on disk: <c>dbfilename</c> in <c>dir</c>, an RDB file as Redis has
/// it.</summary>
/// <remarks>Threads: <see cref="Load"/> before there are clients; then whoever is alone with the store. The figures
/// may be read by any.</remarks>
internal sealed class Snapshots(KvServer server)
{
    private RdbFileWriter? _writer;
    private long _lastSaveSeconds = server.Started.ToUnixTimeSeconds(), _saves, _loaded, _expiredAtLoad;

    /// <summary>Unix seconds of the last snapshot that was written; of the start, if none was.</summary>
    // Volatile, as those below: one writes, any read, and nothing hangs on it.
    public long LastSaveSeconds => Volatile.Read(ref _lastSaveSeconds);

    /// <summary>Snapshots since the start.</summary>
    public long Saves => Volatile.Read(ref _saves);

    /// <summary>Keys that came from the snapshot at the start.</summary>
    public long Loaded => Volatile.Read(ref _loaded);

    /// <summary>Keys of it whose time had passed.</summary>
    public long ExpiredAtLoad => Volatile.Read(ref _expiredAtLoad);

    /// <summary>Bytes of the snapshot that is being written; 0 while none is. Whoever reads it twice sees whether it
    /// goes on.</summary>
    public long BytesWritten => Volatile.Read(ref _writer)?.Bytes ?? 0;

    private string FilePath => Path.Combine(Path.GetFullPath(server.Options.Dir), server.Options.DbFilename);

    /// <summary>Loads the snapshot, if there is one.</summary>
    /// <exception cref="IOException">It cannot be read, or has something that cannot be taken: a server that started
    /// without would write over it. The message names file, place and remedy.</exception>
    public void Load()
    {
        string path = FilePath;
        if (!File.Exists(path))
        {
            server.Data.LogInformation("{Directory}, nothing to load", Path.GetFullPath(server.Options.Dir));
            return;
        }

        long begin = Stopwatch.GetTimestamp();
        try
        {
            using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0,
                FileOptions.SequentialScan);
            using var guard = server.Store.Enter();
            using var reader = new RdbFileReader(server.Store, file, server.Options.RdbChecksum);
            var load = new SnapshotLoad(server, guard.Session, () => (double)reader.Position / file.Length);
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
            throw new RdbFileException($"Can't load {path}: {exception.Message}. Start with --dbfilename of another "
                + "name to leave it alone");
        }
    }

    /// <summary>Writes a snapshot of all databases, while all other clients stand still.</summary>
    /// <param name="error">Null, or what went wrong: then the file of before is there as it was.</param>
    /// <returns>False: the others could not be stopped, which was answered.</returns>
    public bool TrySave(ref CommandContext context, out string? error)
    {
        error = null;
        if (!OtherClients.TryStop(ref context)) return false;
        try
        {
            error = Save(context.Store);
            return true;
        }
        finally
        {
            OtherClients.LetGoOn(ref context);
            context.Store.Select(context.Session.Database);
        }
    }

    /// <summary>Writes a snapshot for a replica to a file of its own, while all other clients stand still.</summary>
    /// <exception cref="IOException">It is not whole.</exception>
    public void WriteForReplica(StoreSession session, string path)
    {
        using var file = new FileStream(path, FileMode.Create, FileAccess.Write, FileShare.Read, 256 * 1024);
        using var writer = new RdbFileWriter(server.Store, file, server.Options.RdbCompression,
            server.Options.RdbChecksum);
        Write(writer, session);
        file.Flush();
    }

    private string? Save(StoreSession session)
    {
        long begin = Stopwatch.GetTimestamp();
        string path = FilePath;
        try
        {
            using var file = new SnapshotFile(Path.GetDirectoryName(path)!, Path.GetFileName(path));
            using var writer = new RdbFileWriter(server.Store, file.Stream, server.Options.RdbCompression,
                server.Options.RdbChecksum);
            Volatile.Write(ref _writer, writer);
            Write(writer, session);
            file.Publish();
            Volatile.Write(ref _lastSaveSeconds, server.Time.GetUtcNow().ToUnixTimeSeconds());
            Interlocked.Increment(ref _saves);
            server.Data.LogInformation(
                "DB saved on disk: {Keys} keys, {Bytes} bytes in {File}, in {Seconds:F3} seconds", writer.Keys,
                writer.Bytes, path, Stopwatch.GetElapsedTime(begin).TotalSeconds);
            return null;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
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

    private void Write(RdbFileWriter writer, StoreSession session)
    {
        int databases = server.Options.Databases;
        var store = server.Store;
        writer.Begin(Enumerable.Range(0, databases).Any(number => store.CountWithFieldExpiry(number) > 0));
        writer.WriteAux("redis-ver", ServerVersion.RedisVersion);
        writer.WriteAux("redis-bits", "64");
        writer.WriteAux("ctime", server.Time.GetUtcNow().ToUnixTimeSeconds().ToString(CultureInfo.InvariantCulture));
        writer.WriteAux("used-mem", store.UsedBytes.ToString(CultureInfo.InvariantCulture));
        writer.WriteAux("aof-base", "0");
        foreach (var library in server.Scripts.Functions.All) writer.WriteLibrary(library.Code);
        for (int number = 0; number < databases; number++)
        {
            if (store.Count(number) == 0) continue;
            session.Select(number);
            writer.BeginDatabase(number, store.Count(number), store.CountWithExpiry(number));
            var visit = new WriteKeys(writer, session, store);
            ulong cursor = 0;
            // Ends: the cursor comes round. Nobody adds keys, so none is visited twice.
            do cursor = session.Scan(cursor, ref visit);
            while (cursor != 0);
        }

        writer.End();
    }

    private void TakeLibraries(IReadOnlyList<byte[]> texts)
    {
        if (texts.Count == 0) return;
        try
        {
            var libraries = server.Scripts.Functions.Read(texts, LoadLimits.Usual(CancellationToken.None));
            server.Scripts.Functions.Add(libraries, LibraryPolicy.Flush);
        }
        catch (ScriptRefusedException exception)
        {
            throw new RdbFileException($"one of its function libraries is refused: {exception.Message}");
        }
    }

    private readonly struct WriteKeys(RdbFileWriter writer, StoreSession session, Store store) : IRecordVisit
    {
        private readonly bool _saysFrequency = store.CountsFrequency,
            _saysIdle = store.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.VolatileLru;

        public void Visit(ReadOnlySpan<byte> key, in ValueView value) => writer.Write(key, value, new RdbUse(
            _saysFrequency ? value.Frequency : null, _saysIdle ? session.IdleSeconds(value) : null));
    }
}
