using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Persistence;

//   temp-PID-N.rdb  --write--  fsync  --rename-->  dump.rdb  --  fsync of the folder
//
//   A crash or an error at any point leaves the file of before, whole, and at most the temporary one, which the next
//   start deletes (Leftovers). It is locked while it is open, so no other server takes it for one of those.

/// <summary>A snapshot that is being made: beside the one that there is, in whose place it comes when it is
/// whole.</summary>
/// <remarks>Whoever makes one disposes it. Threads: one at a time.</remarks>
internal sealed class SnapshotFile : IDisposable
{
    private const int BufferBytes = 256 * 1024;

    private static int _last;       // of the process: servers in one may share a folder

    private readonly string _folder, _path, _temporary;
    private bool _isPublished;

    /// <exception cref="IOException">It cannot be opened.</exception>
    /// <param name="temporary">How the name begins that it has until it is whole.</param>
    public SnapshotFile(string folder, string name, string temporary = "temp")
    {
        _folder = folder;
        _path = Path.Combine(folder, name);
        int number = Interlocked.Increment(ref _last);
        _temporary = Path.Combine(folder, $"{temporary}-{Environment.ProcessId}-{number}.rdb");
        Stream = new FileStream(_temporary, FileMode.Create, FileAccess.Write, FileShare.Read, BufferBytes);
    }

    /// <summary>Where it is written to.</summary>
    public FileStream Stream { get; }

    /// <summary>It is whole: makes it the snapshot.</summary>
    /// <param name="lasts">Whether it is to be there after a power cut.</param>
    /// <exception cref="IOException">It may be, or not: what was there before is whole in any case.</exception>
    public void Publish(bool lasts = true)
    {
        Debug.Assert(!_isPublished, "it is made the snapshot once");
        if (lasts) Fault.Point("rdb.sync");
        Stream.Flush(flushToDisk: lasts);
        Stream.Dispose();
        Fault.Point("rdb.rename");
        File.Move(_temporary, _path, overwrite: true);
        _isPublished = true;
        if (lasts) FolderSync.Run(_folder);
    }

    /// <summary>Gives up what was not published.</summary>
    public void Dispose()
    {
        try
        {
            Stream.Dispose();
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            // What is left in the buffer cannot be written: the file is deleted.
        }

        if (!_isPublished) File.Delete(_temporary);
    }
}
