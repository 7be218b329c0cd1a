using System.Collections.Concurrent;
using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence.Aof;

/// <summary>Makes the data anew from the files: the base, then the increments in their order.</summary>
/// <remarks>One thread reads, compares and takes apart, another one runs. Threads: whoever calls is the second
/// one.</remarks>
internal sealed class AofLoader(KvServer server, AofFiles files, bool cutsTail)
{
    /// <summary>Chunks that have been read and not run yet.</summary>
    private const int AheadMax = 4;

    private const int ErrorLinesMax = 3;

    private static readonly TimeSpan LogEvery = TimeSpan.FromSeconds(1);

    private readonly AofKinds _kinds = new(server.OwnCommands);
    private long _lastLine, _errors, _position;

    /// <summary>Keys that came from an RDB file.</summary>
    public long Keys { get; private set; }

    public long Commands { get; private set; }

    /// <summary>Commands that failed; they are in the log.</summary>
    public long Errors => _errors;

    /// <summary>What was cut off the last file.</summary>
    public long BytesCut { get; private set; }

    /// <summary>Bytes of all files.</summary>
    public long Bytes { get; private set; }

    /// <summary>Loads all files.</summary>
    /// <param name="session">In its turn; nobody else uses the store.</param>
    /// <returns>The end of the last increment; null if there is none, or it cannot be gone on with.</returns>
    /// <exception cref="AofException">Something is damaged, or cannot be taken: nothing may be served.</exception>
    public AofEnd? Load(StoreSession session)
    {
        _lastLine = Stopwatch.GetTimestamp();
        server.IsReplaying = true;
        // A rewrite that ends meanwhile (DEBUG LOADAOF) replaces them.
        var list = files.BeginReading().Files.ToList();
        try
        {
            using var window = new ReplayWindow(server);
            return Load(window, session, list);
        }
        finally
        {
            files.EndReading();
            server.IsReplaying = false;
        }
    }

    private AofEnd? Load(ReplayWindow window, StoreSession session, List<AofFileInfo> list)
    {
        AofEnd? end = null;
        if (server.Loading is { } progress) progress.Begin(list.Sum(file => LengthOf(files.PathOf(file.Name))));
        for (int i = 0; i < list.Count; i++)
        {
            string path = files.PathOf(list[i].Name);
            try
            {
                end = Load(window, session, list[i], path, next: i + 1 < list.Count ? list[i + 1] : null);
            }
            catch (Exception exception) when (exception is not AofException
                && exception is IOException or UnauthorizedAccessException)
            {
                throw new AofException($"Can't load {path}: {exception.Message}. Start with --appendonly no, or move "
                    + $"{files.Folder} away, to leave it alone");
            }
        }

        Commands = window.Commands;
        return end;
    }

    private AofEnd? Load(ReplayWindow window, StoreSession session, AofFileInfo file, string path, AofFileInfo? next)
    {
        using var stream = files.Device.OpenRead(path);
        server.Loading?.BeginFile(() => Volatile.Read(ref _position));
        long all = stream.Length, length = Math.Min(all, next == null ? all : EarlierLengthOf(next, file, path, all));
        long start = ReadPreamble(stream, session, path);
        uint first = AofGroup.FirstSum(file.Sequence);
        var reader = new AofReader(stream, start, length, first, _kinds, server.Options.Databases);
        window.Begin();
        Run(window, reader, path, length);
        if (reader.Damage is { } damage) CutOrFail(reader, damage, path, length, isLast: next == null);
        if (length < all) CutRest(path, length);
        Bytes += reader.Position;
        server.Loading?.EndFile(length);
        return file.Type == AofFileType.Increment && start == 0 ? new AofEnd(file, reader.Position, reader.Sum) : null;
    }

    /// <summary>Loads an RDB file, which may have commands after it.</summary>
    /// <returns>Where they begin.</returns>
    private long ReadPreamble(Stream stream, StoreSession session, string path)
    {
        Span<byte> magic = stackalloc byte[5];
        int read = stream.ReadAtLeast(magic, magic.Length, throwOnEndOfStream: false);
        stream.Position = 0;
        if (!magic[..read].SequenceEqual("REDIS"u8)) return 0;
        using var rdb = new RdbFileReader(server.Store, stream, server.Options.RdbChecksum);
        var load = new SnapshotLoad(server, session, () => (double)rdb.Position / stream.Length);
        server.Loading?.BeginFile(() => rdb.Position);
        // What had a time when the base was written may have been made to live longer since, by the increments.
        session.FrozenClockMs = ReplayWindow.EarlyMs;
        session.Tick();
        try
        {
            rdb.Read(load);
        }
        finally
        {
            session.FrozenClockMs = 0;
            session.Tick();
        }

        server.Snapshots.TakeLibraries(load.Libraries);
        Keys += load.Loaded;
        server.Data.LogInformation("{Keys} keys of {File}", load.Loaded, path);
        long end = rdb.Position;
        Volatile.Write(ref _position, end);
        server.Loading?.BeginFile(() => Volatile.Read(ref _position));
        stream.Position = end;
        return end;
    }

    private void Run(ReplayWindow window, AofReader reader, string path, long length)
    {
        using var chunks = new BlockingCollection<AofChunk>(AheadMax);
        using var stop = new CancellationTokenSource();
        Exception? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                while (reader.Next() is { } chunk) chunks.Add(chunk, stop.Token);
            }
            catch (OperationCanceledException)
            {
                // Whoever runs the commands has given up.
            }
            catch (Exception exception)
            {
                failure = exception;
            }

            chunks.CompleteAdding();
        }) { Name = "kv-aof-read", IsBackground = true };
        thread.Start();
        try
        {
            foreach (var chunk in chunks.GetConsumingEnumerable())
            {
                Fault.Point("aof.load");
                Run(window, chunk, path);
                chunk.Return();
                Report(path, chunk.Offset + chunk.Length, length);
            }
        }
        finally
        {
            stop.Cancel();
            thread.Join();
        }

        if (failure != null) throw new IOException(failure.Message, failure);
    }

    private void Run(ReplayWindow window, AofChunk chunk, string path)
    {
        foreach (var run in chunk.Runs)
        {
            string? error;
            long errors = window.Errors;
            try
            {
                error = window.Run(chunk.Bytes, run.Start, run.Length, run.Kind == AofKind.Relative,
                    run.Kind == AofKind.Script);
            }
            catch (InvalidOperationException exception)
            {
                throw Refused(path, chunk.Offset + run.Start, exception.Message);
            }

            if (error == null) continue;
            if (error.StartsWith("OOM", StringComparison.Ordinal)
                || error.StartsWith("ERR unknown", StringComparison.Ordinal))
                throw Refused(path, chunk.Offset + run.Start, error);
            // As with Redis: a command that failed when it first ran may be in files of old versions.
            if (_errors < ErrorLinesMax)
                server.Data.LogWarning("A command of {File} failed, between offset {From} and {To}: {Error}", path,
                    chunk.Offset + run.Start, chunk.Offset + run.Start + run.Length, error);
            _errors += window.Errors - errors;
        }
    }

    private void CutOrFail(AofReader reader, AofDamage damage, string path, long length, bool isLast)
    {
        bool isTorn;
        using (var again = files.Device.OpenRead(path))
            isTorn = isLast && TornTail.Is(again, damage, reader.Durable, reader.HasGroups);
        if (!isTorn) throw Refused(path, damage.Offset, damage.What);
        long bytes = length - damage.Offset;
        if (!cutsTail)
        {
            throw new AofException($"Can't load {path}: at offset {damage.Offset}, {damage.What}; the last {bytes} "
                + "bytes were not written whole. Start with --aof-load-truncated yes to cut them off");
        }

        using var file = files.Device.OpenAppend(path);
        file.Cut(damage.Offset);
        file.Sync();
        BytesCut += bytes;
        server.Data.LogWarning("{File} was not written whole: {Bytes} bytes from offset {Offset} on are cut off "
            + "(aof-load-truncated): {What}", path, bytes, damage.Offset, damage.What);
    }

    /// <summary>Up to where a file counts, as the first line of the next one says.</summary>
    private long EarlierLengthOf(AofFileInfo next, AofFileInfo file, string path, long length)
    {
        var line = new byte[AofGroup.LineBytes];
        using var stream = files.Device.OpenRead(files.PathOf(next.Name));
        int read = stream.ReadAtLeast(line, line.Length, throwOnEndOfStream: false);
        // A line that is damaged is found when that file is read.
        if (!AofGroup.TryRead(line.AsSpan(0, read), out var head) || head.EarlierLength is not { } earlier)
            return length;
        // Else the increment that it goes on from is missing, and the base would be cut off.
        if (file.Type != AofFileType.Increment)
            throw Refused(path, length, $"{next.Name} goes on from offset {earlier} of an increment that is missing");
        if (earlier > length)
            throw Refused(path, length, $"the file ends, and {next.Name} goes on from offset {earlier}");
        return earlier;
    }

    /// <summary>Cuts off what the next file has, too: Redis would run it twice.</summary>
    private void CutRest(string path, long length)
    {
        try
        {
            using var file = files.Device.OpenAppend(path);
            file.Cut(length);
            server.Data.LogInformation("{File} is cut off at offset {Offset}, from which the next file goes on", path,
                length);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            server.Data.LogWarning("{File} cannot be cut off at offset {Offset}, from which the next file goes on: "
                + "{Message}", path, length, exception.Message);
        }
    }

    private AofException Refused(string path, long offset, string what) => new(
        $"Can't load {path}: at offset {offset}, {what}. Make a copy of {files.Folder}; redis-check-aof --fix "
        + $"{files.ManifestPath} cuts the file off there, or start with --appendonly no to leave it alone");

    private long LengthOf(string path)
    {
        using var stream = files.Device.OpenRead(path);
        return stream.Length;
    }

    private void Report(string path, long position, long length)
    {
        Volatile.Write(ref _position, position);
        if (server.IsStopping) throw new AofException($"{path} was not loaded to its end: the server ends");
        if (Stopwatch.GetElapsedTime(_lastLine) < LogEvery) return;
        _lastLine = Stopwatch.GetTimestamp();
        server.Data.LogInformation("Loading {File}: {Percent:F0}%", path, 100.0 * position / Math.Max(length, 1));
    }
}
