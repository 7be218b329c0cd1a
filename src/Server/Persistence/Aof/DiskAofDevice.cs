using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Persistence.Aof;

/// <summary>The disk of this machine.</summary>
internal sealed class DiskAofDevice : IAofDevice
{
    public static readonly DiskAofDevice Instance = new();

    public void MakeFolder(string folder) => Directory.CreateDirectory(folder);

    public bool Exists(string path) => File.Exists(path);

    public IReadOnlyList<string> NamesIn(string folder) => !Directory.Exists(folder) ? []
        : [.. Directory.GetFiles(folder).Select(path => Path.GetFileName(path))];

    public Stream OpenRead(string path) => new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite,
        bufferSize: 0, FileOptions.SequentialScan);

    public IAofFile OpenAppend(string path) => new AppendedFile(path);

    public void Move(string from, string to) => File.Move(from, to, overwrite: true);

    public void Delete(string path) => File.Delete(path);

    public void SyncFolder(string folder) => FolderSync.Run(folder);

    /// <summary>How much has to be on the disk for the system to be told that it need not keep it in memory.</summary>
    private const int ForgetBytes = 4 << 20;

    private sealed class AppendedFile(string path) : IAofFile
    {
        private readonly SafeFileHandle _handle =
            File.OpenHandle(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.ReadWrite | FileShare.Delete);
        private long _length = -1, _forgotten;

        public long Length => _length < 0 ? _length = RandomAccess.GetLength(_handle) : _length;

        public void Write(ReadOnlySpan<byte> bytes)
        {
            long at = Length;
            // A part may be there afterwards: where the next write would begin is decided by whoever cuts it off.
            RandomAccess.Write(_handle, bytes, at);
            _length = at + bytes.Length;
        }

        public void Sync()
        {
            long length = Volatile.Read(ref _length);
            DataSync.Run(_handle);
            if (length - _forgotten < ForgetBytes) return;
            PageCache.Forget(_handle, _forgotten, length - _forgotten);
            _forgotten = length;
        }

        public void Cut(long length)
        {
            RandomAccess.SetLength(_handle, length);
            _length = length;
        }

        public void Dispose() => _handle.Dispose();
    }
}
