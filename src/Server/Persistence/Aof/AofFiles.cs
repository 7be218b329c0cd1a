using System.Diagnostics;
using System.Globalization;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence.Aof;

/// <summary>The folder of the append-only file: names, the manifest on the disk, and what is no longer
/// needed.</summary>
/// <remarks>Threads: any, one at a time by a lock. A change of the manifest is on the disk when the call
/// returns.</remarks>
/// <param name="directory">Where the folder is.</param>
/// <param name="folderName">appenddirname.</param>
/// <param name="fileName">appendfilename.</param>
internal sealed class AofFiles(IAofDevice device, string directory, string folderName, string fileName, ILogger log)
{
    public const string RdbEnding = ".rdb", AofEnding = ".aof";

    private const string TemporaryPrefix = "temp-";

    private readonly Lock _guard = new();
    private AofManifest _manifest = AofManifest.Empty;

    /// <summary>Numbers that were given to files, whatever became of them: the manifest on the disk may name
    /// them.</summary>
    private long _lastBase, _lastIncrement;

    public IAofDevice Device => device;

    public string Folder { get; } = Path.Combine(directory, folderName);

    public string ManifestPath => PathOf(fileName + ".manifest");

    // Volatile: replaced whole, under the lock.
    public AofManifest Manifest => Volatile.Read(ref _manifest);

    /// <summary>The single file of Redis 6 and before, in the directory itself.</summary>
    public string OldFile { get; } = Path.Combine(directory, fileName);

    /// <summary>Whether a change of the manifest failed in such a way that the disk may have it or not. Both are right
    /// as long as nothing more is written to the increment of before.</summary>
    // Volatile: set under the lock.
    public bool IsUnsure => Volatile.Read(ref _isUnsure);

    private bool _isUnsure;

    // Under the lock.
    private int _readers;
    private bool _collectsLater;

    public string PathOf(string name) => Path.Combine(Folder, name);

    /// <summary>Where a base is written before it has its name.</summary>
    public string TemporaryBase => PathOf($"{TemporaryPrefix}rewriteaof-{Environment.ProcessId}{AofEnding}");

    /// <summary>The same for one of commands, which is made of the other.</summary>
    public string TemporaryCommandBase => TemporaryBase + ".commands";

    /// <summary>The number that the next base gets.</summary>
    public long NextBase
    {
        get
        {
            lock (_guard) return Math.Max(_lastBase, _manifest.BaseSequence) + 1;
        }
    }

    /// <summary>Where the first increment is until there is a base that it comes after.</summary>
    public string TemporaryIncrement => PathOf($"{TemporaryPrefix}{fileName}.incr");

    /// <summary>Reads the manifest. A single file of before becomes the base.</summary>
    /// <returns>False: there is nothing.</returns>
    /// <param name="needsAll">Whether its files are to be loaded, rather than replaced.</param>
    /// <exception cref="AofException">The manifest cannot be read, or a file that it names is missing.</exception>
    public bool TryOpen(bool needsAll = true)
    {
        lock (_guard)
        {
            var manifest = AofManifest.Empty;
            if (device.Exists(ManifestPath))
            {
                using var stream = device.OpenRead(ManifestPath);
                using var bytes = new MemoryStream();
                stream.CopyTo(bytes);
                manifest = AofManifest.Parse(bytes.ToArray(), ManifestPath);
            }

            if (device.Exists(OldFile) && TakesOldFile(manifest)) manifest = TakeOldFile();
            if (needsAll && MissingOf(manifest) is { } missing)
                throw new AofException($"{missing} is missing, which {ManifestPath} names. Bring it back, or start "
                    + "with --appendonly no");
            Volatile.Write(ref _manifest, manifest);
            return manifest.Files.Any();
        }
    }

    /// <summary>Looks whether the files that a start needs still have their names: who removes them while they are
    /// written is told so, instead of at the next start.</summary>
    /// <exception cref="IOException">One is gone.</exception>
    public void CheckNames()
    {
        var manifest = Manifest;
        if (manifest == AofManifest.Empty) return;      // the first base is being written
        if ((device.Exists(ManifestPath) ? MissingOf(manifest) : ManifestPath) is not { } missing) return;
        // Looked up before a new manifest came, and after it.
        if (manifest != Manifest) return;
        throw new IOException($"{missing} is gone; bring it back, or have the files begun anew by CONFIG SET "
            + "appendonly no, then yes");
    }

    private string? MissingOf(AofManifest manifest)
    {
        foreach (var file in manifest.Files)
            if (!device.Exists(PathOf(file.Name))) return PathOf(file.Name);
        return null;
    }

    /// <summary>Whether the file of before has not come into the folder yet: a manifest may say so already.</summary>
    private bool TakesOldFile(AofManifest manifest) => manifest.Base == null
        ? manifest.Increments.IsEmpty
        : manifest.Base.Name == fileName && manifest.Increments.IsEmpty && !device.Exists(PathOf(fileName));

    // The manifest first: after a crash between the two the next start finds the file where it was.
    private AofManifest TakeOldFile()
    {
        device.MakeFolder(Folder);
        var manifest = AofManifest.Empty.WithBase(new AofFileInfo(fileName, 1, AofFileType.Base), 0);
        PersistLatched(manifest);
        device.Move(OldFile, PathOf(fileName));
        device.SyncFolder(Folder);
        device.SyncFolder(directory);
        log.LogInformation("The append-only file {File} has moved into {Folder}", OldFile, Folder);
        return manifest;
    }

    /// <summary>Deletes what earlier runs have left: temporary files, and files that have been replaced.</summary>
    public void Clean(bool collects)
    {
        foreach (string name in device.NamesIn(Folder))
            if (name.StartsWith(TemporaryPrefix, StringComparison.Ordinal)) TryDelete(PathOf(name));
        if (collects) Collect();
    }

    /// <summary>Begins a file that everything from now on goes to.</summary>
    /// <param name="file">In the manifest, and on the disk as <see cref="AofEnd.OfNew"/> says.</param>
    /// <param name="fill">Writes what else is to be in it before the manifest names it.</param>
    /// <param name="earlierLength">Up to where the file before it counts from then on; 0: to its end.</param>
    public AofFileInfo AddIncrement(out IAofFile file, Action<IAofFile, AofFileInfo>? fill = null,
        long earlierLength = 0)
    {
        lock (_guard)
        {
            device.MakeFolder(Folder);
            var info = NextIncrementLatched();
            file = OpenNew(PathOf(info.Name));
            try
            {
                file.Write(AofEnd.Head(info, earlierLength));
                fill?.Invoke(file, info);
                file.Sync();
                PersistLatched(_manifest.WithIncrement(info));
            }
            catch
            {
                file.Dispose();
                // One would be left each second that the disk is full. The manifest on the disk may name it only when
                // the failure was in its change.
                if (!_isUnsure) TryDelete(PathOf(info.Name));
                throw;
            }

            return info;
        }
    }

    /// <summary>Begins a file that is not in the manifest yet, see <see cref="SetBase"/>.</summary>
    public AofFileInfo AddTemporaryIncrement(out IAofFile file)
    {
        lock (_guard)
        {
            device.MakeFolder(Folder);
            file = OpenNew(TemporaryIncrement);
            try
            {
                var info = NextIncrementLatched();
                file.Write(AofEnd.Head(info));
                file.Sync();
                return info;
            }
            catch
            {
                file.Dispose();
                throw;
            }
        }
    }

    /// <summary>Makes a file that was written, and is on the disk, the base.</summary>
    /// <param name="written">Where it is.</param>
    /// <param name="ending">What it has: <see cref="RdbEnding"/> or <see cref="AofEnding"/>.</param>
    /// <param name="next">The first increment that comes after it.</param>
    /// <param name="isTemporary">Whether that increment gets its name now.</param>
    public AofFileInfo SetBase(string written, string ending, AofFileInfo? next, bool isTemporary)
    {
        lock (_guard)
        {
            long sequence = _lastBase = NextBase;
            var info = new AofFileInfo(
                string.Create(CultureInfo.InvariantCulture, $"{fileName}.{sequence}.base{ending}"), sequence,
                AofFileType.Base);
            device.Move(written, PathOf(info.Name));
            if (isTemporary) device.Move(TemporaryIncrement, PathOf(next!.Name));
            var manifest = _manifest.WithBase(info, next?.Sequence ?? long.MaxValue);
            PersistLatched(isTemporary ? manifest.WithIncrement(next!) : manifest);
            return info;
        }
    }

    /// <summary>Deletes files that have been replaced, as soon as nobody reads them.</summary>
    public void Collect()
    {
        lock (_guard)
        {
            _collectsLater = _readers > 0;
            if (!_collectsLater) CollectLatched();
        }
    }

    /// <summary>The files that there are now, which stay until <see cref="EndReading"/> even if they are
    /// replaced.</summary>
    public AofManifest BeginReading()
    {
        lock (_guard)
        {
            _readers++;
            return _manifest;
        }
    }

    public void EndReading()
    {
        lock (_guard)
        {
            Debug.Assert(_readers > 0, "reading has begun");
            if (--_readers > 0 || !_collectsLater) return;
            _collectsLater = false;
            CollectLatched();
        }
    }

    private void CollectLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && _readers == 0, "nobody reads what is deleted");
        if (_manifest.History.IsEmpty) return;
        foreach (var file in _manifest.History) TryDelete(PathOf(file.Name));
        try
        {
            PersistLatched(_manifest.WithoutHistory());
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            log.LogWarning("The manifest {File} still names files that are gone: {Message}", ManifestPath,
                exception.Message);
        }
    }

    private AofFileInfo NextIncrementLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "numbers are given one by one");
        long sequence = _lastIncrement = Math.Max(_lastIncrement, _manifest.IncrementSequence) + 1;
        return new AofFileInfo(
            string.Create(CultureInfo.InvariantCulture, $"{fileName}.{sequence}.incr{AofEnding}"), sequence,
            AofFileType.Increment);
    }

    /// <summary>Opens a file that nobody counts on: what is in it is from a try that failed.</summary>
    public IAofFile OpenNew(string path)
    {
        var file = device.OpenAppend(path);
        try
        {
            if (file.Length > 0) file.Cut(0);
            return file;
        }
        catch
        {
            file.Dispose();
            throw;
        }
    }

    private void PersistLatched(AofManifest manifest)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the manifest is changed by one at a time");
        string temporary = PathOf($"{TemporaryPrefix}{fileName}.manifest");
        using (var file = OpenNew(temporary))
        {
            Kv.Storage.Fault.Point("aof.manifest");
            file.Write(manifest.ToBytes());
            file.Sync();
        }

        Volatile.Write(ref _isUnsure, true);
        device.Move(temporary, ManifestPath);
        device.SyncFolder(Folder);
        Volatile.Write(ref _isUnsure, false);
        Volatile.Write(ref _manifest, manifest);
    }

    /// <summary>Deletes a file that nobody needs; if it stays, that is no harm.</summary>
    public void TryDelete(string path)
    {
        try
        {
            device.Delete(path);
        }
        catch (Exception exception) when (DiskError.Is(exception))
        {
            log.LogWarning("{File} cannot be deleted: {Message}", path, exception.Message);
        }
    }
}
