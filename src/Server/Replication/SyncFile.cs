using System.Diagnostics;
using Kv.Server.Persistence;
using Microsoft.Extensions.Logging;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Replication;

//   Waits --> Writing ----------> Whole        all who ask before it is whole get the same file,
//     |          |                             and the stream from the one offset
//     +----------+------> Failed

/// <summary>A snapshot for replicas, written beside clients as of one position of the feed.</summary>
/// <remarks>
/// <c>kv-sync</c> begins it as soon as no other snapshot is being written. The file has no name once it is whole, so it
/// is gone with the last replica that reads it, or with the process.
/// Threads: under the lock of <see cref="Replicas"/>, but for what says otherwise.
/// </remarks>
/// <param name="isForOlder">Whether those who get it do not know that fields of hashes can expire.</param>
internal sealed class SyncFile(KvServer server, Replicas replicas, long number, bool isForOlder)
{
    /// <summary>How long it waits between two tries to begin.</summary>
    private const int RetryMs = 5;

    private readonly List<Replica> _users = [];
    private SnapshotJob? _job;
    private SafeFileHandle? _file;
    private Thread? _thread;
    private long? _offset;
    private bool _isOver;

    public bool IsForOlder => isForOlder;

    /// <summary>Whether more replicas may have it.</summary>
    public bool MayJoin => !_isOver && _users.Count > 0;

    /// <summary>What is in it, once it is whole. For a user, from any thread.</summary>
    public SafeFileHandle File => _file!;

    private string Path { get; } = System.IO.Path.Combine(System.IO.Path.GetFullPath(server.Options.Dir),
        $"temp-replica-{Environment.ProcessId}-{number}.rdb");

    /// <summary>A replica is going to have it.</summary>
    public void Join(Replica replica)
    {
        Debug.Assert(!_isOver, "those who come later get a later one");
        _users.Add(replica);
        if (_offset is { } offset) replica.Cut(offset);
        if (_thread != null) return;
        _thread = new Thread(Begin) { Name = "kv-sync", IsBackground = true };
        _thread.Start();
    }

    /// <summary>A replica has got it, or has left.</summary>
    public void Leave(Replica replica)
    {
        if (!_users.Remove(replica) || _users.Count != 0) return;
        _file?.Dispose();
        _job?.Cancel();         // nobody wants it any more
    }

    /// <summary>Waits until nothing of it goes on. Not under the lock; when all replicas have left.</summary>
    public void Join() => _thread?.Join();

    /// <summary>On kv-feed: what follows is not in the file.</summary>
    public void Cut(long offset)
    {
        Debug.Assert(_offset == null, "it has one place in the stream");
        _offset = offset;
        foreach (var user in _users) user.Cut(offset);
    }

    /// <summary>On kv-sync: begins to write.</summary>
    private void Begin()
    {
        try
        {
            // Ends: other snapshots end, and long turns do; or with those who wait for it.
            while (!TryBegin(out string? error))
            {
                if (error != null || !replicas.Want(this))
                {
                    End(error ?? "nobody wants it any more");
                    return;
                }

                Thread.Sleep(RetryMs);
            }
        }
        catch (Exception exception)
        {
            // No session of the store is left, perhaps.
            End(exception.Message);
        }
    }

    private bool TryBegin(out string? error)
    {
        error = null;
        if (server.Snapshots.Job != null) return false;
        using var guard = server.Store.Enter();
        var purpose = isForOlder ? SnapshotPurpose.OlderReplica : SnapshotPurpose.Replica;
        return server.Snapshots.TryBegin(guard.Session, purpose, Path,
            () => replicas.BeginInPause(this, server.Snapshots.Job!), End, out error);
    }

    /// <summary>All others stand still, and the job has begun.</summary>
    public void Use(SnapshotJob job)
    {
        Debug.Assert(_job == null && !_isOver, "it is written once");
        _job = job;
        if (_users.Count == 0) job.Cancel();
    }

    /// <summary>From the thread that has written it, or was to begin it.</summary>
    private void End(string? error)
    {
        // It may be done before kv-sync has left the store, and from here on nobody waits for kv-sync when that is
        // freed.
        if (Thread.CurrentThread != _thread) Join();
        SafeFileHandle? file = null;
        if (error == null)
        {
            try
            {
                file = System.IO.File.OpenHandle(Path, options: FileOptions.SequentialScan);
                System.IO.File.Delete(Path);
            }
            catch (Exception exception) when (DiskError.Is(exception))
            {
                error = exception.Message;
            }
        }

        if (error != null) server.Data.LogWarning("No snapshot for replicas: {Message}", error);
        replicas.End(this, file);
    }

    /// <summary>It is whole, or there will be none (<paramref name="file"/> is null).</summary>
    public void Close(SafeFileHandle? file)
    {
        Debug.Assert(!_isOver && _file == null, "it ends once");
        _isOver = true;
        _job = null;
        _file = file;
        if (_users.Count == 0) file?.Dispose();
        foreach (var user in _users) user.EndWriting(file != null);
    }
}
