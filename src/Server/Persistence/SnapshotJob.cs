using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Persistence;

/// <summary>A snapshot that is being written while clients go on.</summary>
/// <remarks>Threads: made in its instant, by who has stopped all others; written by a thread of its own; the figures
/// may be read, and it may be cancelled, by any.</remarks>
internal sealed class SnapshotJob
{
    private readonly KvServer _server;
    private readonly MemoryStream _head = new();
    private readonly RdbFileWriter _writer;
    private readonly RdbSnapshot _snapshot;
    private readonly Thread _thread;
    private readonly ManualResetEventSlim _mayWrite = new();
    private bool _isAbandoned;

    /// <summary>Begins it: this is its instant.</summary>
    /// <param name="ended">Called at its end, on its thread: with null, or with what went wrong; then there is no new
    /// file.</param>
    /// <remarks>All others stand still, perhaps for as long as a disk takes that takes nothing: the file is opened
    /// later.</remarks>
    /// <exception cref="OutOfMemoryException">Nothing is begun. The system has no thread, or no memory.</exception>
    public SnapshotJob(KvServer server, string path, SnapshotPurpose purpose, Action<SnapshotJob, Exception?> ended)
    {
        (_server, Path, Purpose) = (server, path, purpose);
        _thread = new Thread(() => Run(ended)) { IsBackground = true, Name = "kv-snapshot" };
        // First of all: where the system has none there is nothing to undo, and whoever sees the job can wait for it.
        _thread.Start();
        Begun = Stopwatch.GetTimestamp();
        _writer = new RdbFileWriter(server.Store, _head, server.Options.RdbCompression, server.Options.RdbChecksum)
        {
            OmitsFieldExpiries = purpose == SnapshotPurpose.OlderReplica,
        };
        try
        {
            SnapshotHead.Write(_writer, server, purpose);
            _snapshot = new RdbSnapshot(server.Store, _writer, server.Options.RdbCompression,
                server.Time.GetUtcNow().ToUnixTimeMilliseconds());
        }
        catch
        {
            _writer.Dispose();
            EndUnwritten();
            throw;
        }
    }

    public string Path { get; }

    public SnapshotPurpose Purpose { get; }

    /// <summary>When it began, in ticks of the stopwatch.</summary>
    public long Begun { get; }

    /// <summary>Bytes of the file so far.</summary>
    public long Bytes => _writer.Bytes;

    public long Keys => _snapshot.Keys;

    public long KeysAtInstant => _snapshot.KeysAtInstant;

    /// <summary>The most that was kept in memory for it.</summary>
    public long HeldBytesPeak => _snapshot.HeldBytesPeak;

    /// <summary>Has it written. Once.</summary>
    public void Start() => _mayWrite.Set();

    /// <summary>Lets go of one that is not started.</summary>
    public void Abandon()
    {
        _snapshot.Dispose();
        _writer.Dispose();
        EndUnwritten();
    }

    /// <summary>Ends it before its end, soon.</summary>
    public void Cancel() => _snapshot.Cancel();

    /// <summary>Waits until it has ended. Not in a turn of a session.</summary>
    public void Join() => _thread.Join();

    private void EndUnwritten()
    {
        _isAbandoned = true;
        _mayWrite.Set();        // release: the thread sees the line before
    }

    private void Run(Action<SnapshotJob, Exception?> ended)
    {
        _mayWrite.Wait();
        if (!_isAbandoned) ended(this, Write());
    }

    private Exception? Write()
    {
        try
        {
            ThreadShare.Lower();
            using (_writer)
            using (var file = WriteKeys())
            {
                _writer.End();
                file.Publish(lasts: Purpose is SnapshotPurpose.File or SnapshotPurpose.AppendOnlyBase);
            }

            return null;
        }
        catch (Exception exception)
        {
            // Whatever it is: a snapshot that fails is no reason for the server to end.
            return exception;
        }
    }

    /// <summary>Opens the file, and ends the snapshot once it has all keys.</summary>
    private SnapshotFile WriteKeys()
    {
        using var snapshot = _snapshot;
        var file = new SnapshotFile(System.IO.Path.GetDirectoryName(Path)!, System.IO.Path.GetFileName(Path));
        try
        {
            _head.WriteTo(file.Stream);
            _writer.GoOnIn(file.Stream);
            using var session = _server.Store.CreateSession();
            snapshot.Run(session);
            return file;
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }
}
