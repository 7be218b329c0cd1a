using Kv.Server.Persistence.Aof;

namespace Kv.Tests.Persistence.Aof;

/// <summary>A disk that can lose power, or fail at a call that the test names.</summary>
/// <remarks>
/// What was written is in the page cache until it is synced; after a crash any of the unsynced writes may be there,
/// sector by sector, with zeros in their place where they are not. Names last from the sync of their folder on.
/// </remarks>
internal sealed class MemoryDisk : IAofDevice
{
    private const int SectorBytes = 512;

    private readonly Lock _guard = new();
    private Dictionary<string, Node> _names = [], _lastingNames = [];
    private int _failAt = int.MaxValue;
    private long _spaceLeft = long.MaxValue;

    /// <summary>Calls that change something, so far.</summary>
    public int Calls { get; private set; }

    /// <summary>Syncs of files.</summary>
    public int Syncs { get; private set; }

    /// <summary>Called before each of them.</summary>
    public Action? AtCall { get; set; }

    /// <summary>Makes the n-th of the calls from now on fail, and those after it as long as they are of its
    /// kind.</summary>
    public void FailAt(int nth)
    {
        lock (_guard) _failAt = nth == int.MaxValue ? nth : Calls + nth;
    }

    /// <summary>Lets so many more bytes be written.</summary>
    public void SetSpace(long bytes)
    {
        lock (_guard) _spaceLeft = bytes;
    }

    /// <summary>The bytes of a file.</summary>
    public byte[] this[string path]
    {
        get
        {
            lock (_guard) return _names[path].Bytes();
        }

        set
        {
            lock (_guard)
            {
                var node = new Node();
                node.Now.AddRange(value);
                node.Sync();
                _names[path] = _lastingNames[path] = node;
            }
        }
    }

    public IReadOnlyList<string> Paths
    {
        get
        {
            lock (_guard) return [.. _names.Keys.Order()];
        }
    }

    /// <summary>The disk after a power cut at this moment.</summary>
    public MemoryDisk Crash(Random random)
    {
        lock (_guard)
        {
            var left = new MemoryDisk();
            // The names of before, or of now: a folder is written when the system likes.
            foreach (var (path, node) in random.Next(2) == 0 ? _lastingNames : _names) left[path] = node.Left(random);
            return left;
        }
    }

    /// <summary>The disk after a kill at this moment: all that was written is there.</summary>
    public MemoryDisk Kill()
    {
        lock (_guard)
        {
            var left = new MemoryDisk();
            foreach (var (path, node) in _names) left[path] = node.Bytes();
            return left;
        }
    }

    public void MakeFolder(string folder)
    {
    }

    public bool Exists(string path)
    {
        lock (_guard) return _names.ContainsKey(path);
    }

    public IReadOnlyList<string> NamesIn(string folder) =>
        [.. Paths.Where(path => Path.GetDirectoryName(path) == folder).Select(path => Path.GetFileName(path)!)];

    public Stream OpenRead(string path)
    {
        lock (_guard)
            return _names.TryGetValue(path, out var node) ? new MemoryStream(node.Bytes(), writable: false)
                : throw new FileNotFoundException(path);
    }

    public IAofFile OpenAppend(string path)
    {
        lock (_guard)
        {
            if (!_names.TryGetValue(path, out var node))
            {
                Call();
                _names[path] = node = new Node();
            }

            return new OpenFile(this, node);
        }
    }

    public void Move(string from, string to)
    {
        lock (_guard)
        {
            Call();
            if (!_names.Remove(from, out var node)) throw new FileNotFoundException(from);
            _names[to] = node;
        }
    }

    public void Delete(string path)
    {
        lock (_guard)
        {
            Call();
            _names.Remove(path);
        }
    }

    public void SyncFolder(string folder)
    {
        lock (_guard)
        {
            Call();
            _lastingNames = new(_names);
        }
    }

    private void Call()
    {
        Calls++;
        AtCall?.Invoke();
        if (Calls == _failAt) throw new IOException($"call {Calls} fails");
    }

    /// <summary>A file, with what of it is sure to be there after a crash.</summary>
    private sealed class Node
    {
        private readonly SortedSet<int> _changed = [];
        private byte[] _lasting = [];

        public List<byte> Now { get; } = [];

        public byte[] Bytes() => [.. Now];

        public void Write(ReadOnlySpan<byte> bytes)
        {
            Touch(Now.Count, Now.Count + bytes.Length);
            Now.AddRange(bytes);
        }

        public void Cut(int length)
        {
            Touch(length, Now.Count);
            if (length < Now.Count) Now.RemoveRange(length, Now.Count - length);
        }

        public void Sync()
        {
            _lasting = [.. Now];
            _changed.Clear();
        }

        public byte[] Left(Random random)
        {
            if (_changed.Count == 0) return _lasting;
            byte[] now = [.. Now];
            // None, all, or any of the sectors that were written since.
            int choice = random.Next(4);
            if (choice == 0) return _lasting;
            if (choice == 1) return now;
            int length = choice == 2 ? now.Length : random.Next(Math.Min(_lasting.Length, now.Length), now.Length + 1);
            var left = new byte[Math.Max(length, 0)];
            _lasting.AsSpan(0, Math.Min(_lasting.Length, left.Length)).CopyTo(left);
            foreach (int sector in _changed)
            {
                int from = sector * SectorBytes, to = Math.Min(from + SectorBytes, Math.Min(left.Length, now.Length));
                if (random.Next(2) == 0 || from >= to) continue;
                now.AsSpan(from, to - from).CopyTo(left.AsSpan(from));
            }

            return left;
        }

        private void Touch(int from, int to)
        {
            for (int sector = from / SectorBytes; sector <= to / SectorBytes; sector++) _changed.Add(sector);
        }
    }

    private sealed class OpenFile(MemoryDisk disk, Node node) : IAofFile
    {
        public long Length
        {
            get
            {
                lock (disk._guard) return node.Now.Count;
            }
        }

        public void Write(ReadOnlySpan<byte> bytes)
        {
            lock (disk._guard)
            {
                try
                {
                    disk.Call();
                }
                catch (IOException)
                {
                    node.Write(bytes[..(bytes.Length / 2)]);        // a part of it is there
                    throw;
                }

                int count = (int)Math.Min(bytes.Length, disk._spaceLeft);
                disk._spaceLeft -= count;
                node.Write(bytes[..count]);
                if (count < bytes.Length) throw new IOException("No space left on device");
            }
        }

        public void Sync()
        {
            lock (disk._guard)
            {
                disk.Call();
                disk.Syncs++;
                node.Sync();
            }
        }

        public void Cut(long length)
        {
            lock (disk._guard)
            {
                disk.Call();
                node.Cut((int)length);
            }
        }

        public void Dispose()
        {
        }
    }
}
