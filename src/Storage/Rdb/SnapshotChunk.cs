using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Keys that one session has kept for a snapshot and that are not in its file yet: their bytes, and strings in
/// blocks, which are shared until then.</summary>
/// <remarks>Threads: its session adds, the walk takes, one at a time by the lock.</remarks>
internal sealed unsafe class SnapshotChunk : IRdbTarget, IDisposable
{
    private const long BytesMin = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly Store _store;
    private readonly SnapshotBacklog _backlog;
    private readonly RdbKeyWriter _writer;
    private readonly List<KeptBlock> _blocks = [];
    private byte* _start;
    private long _length, _capacity;
    private bool _isBegun, _isPartial;

    public SnapshotChunk(Store store, SnapshotBacklog backlog, bool compresses, bool omitsFieldExpiries)
    {
        (_store, _backlog) = (store, backlog);
        _writer = new RdbKeyWriter(store, this, compresses, omitsFieldExpiries);
    }

    /// <summary>Keys that it has had, strings in blocks apart.</summary>
    public long Keys => _writer.Keys;

    /// <summary>Adds a key.</summary>
    public void Add(int database, ReadOnlySpan<byte> key, in ValueView value, RdbUse use)
    {
        lock (_lock)
        {
            if (value.Kind == ValueKind.BlockString)
            {
                var kept = new KeptBlock(database, key.ToArray(), value.Block, value.ExpiryMs, use);
                _blocks.Add(kept);
                kept.Block.AddReference();      // from here on whoever writes to it makes a copy
                _backlog.AddPinned(kept.Bytes);
                return;
            }

            long before = _length;
            if (!_isBegun) _writer.Begin();
            _isBegun = true;
            _writer.Select(database);
            _writer.Write(key, value, use);
            _backlog.AddCopied(_length - before);
        }
    }

    /// <summary>Adds a piece of a key whose value is a large collection, from where it left off. Nothing else is added
    /// in between, but what it has may be moved to the file.</summary>
    /// <returns>True when the key has been added whole.</returns>
    public bool AddSome(int database, ReadOnlySpan<byte> key, in ValueView value, RdbUse use)
    {
        lock (_lock)
        {
            long before = _length;
            if (!_isBegun) _writer.Begin();
            _isBegun = true;
            if (!_isPartial) _writer.Select(database);
            _isPartial = !_writer.WriteSome(key, value, use);
            _writer.Flush();
            _backlog.AddCopied(_length - before);
            return !_isPartial;
        }
    }

    /// <summary>Moves all that it has to a file. By the walk.</summary>
    /// <exception cref="IOException">The file does not take it; it is lost.</exception>
    public void MoveTo(RdbFileWriter file)
    {
        byte* start;
        long length, capacity, before;
        KeptBlock[] blocks;
        lock (_lock)
        {
            if (!_isBegun && _blocks.Count == 0) return;
            before = _length;
            if (_isBegun) _writer.Flush();
            (length, capacity, blocks) = (_length, _capacity, [.. _blocks]);
            start = _start;
            Reset(null, 0);
        }

        int released = 0;
        try
        {
            Write(file, start, length);
            // Ends: each round writes one and lets go of it.
            for (; released < blocks.Length; released++)
            {
                Write(file, blocks[released]);
                Release(blocks[released]);
            }
        }
        finally
        {
            for (; released < blocks.Length; released++) Release(blocks[released]);
            TakeBack(start, capacity);
            _backlog.AddCopied(-before);
        }
    }

    /// <inheritdoc/>
    void IRdbTarget.Write(ReadOnlySpan<byte> bytes)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "it is locked");
        if (_length + bytes.Length > _capacity) Grow(_length + bytes.Length);
        bytes.CopyTo(new Span<byte>(_start + _length, bytes.Length));
        _length += bytes.Length;
    }

    public void Dispose()
    {
        lock (_lock)
        {
            foreach (var kept in _blocks) Release(kept);
            Free(_start, _capacity);
            Reset(null, 0);
            _writer.Dispose();
        }
    }

    private static void Write(RdbFileWriter file, byte* start, long length)
    {
        if (length == 0) return;
        file.Keys.Flush();
        for (long at = 0; at < length; at += RdbFileWriter.PieceBytes)
            file.Write(new ReadOnlySpan<byte>(start + at, (int)Math.Min(RdbFileWriter.PieceBytes, length - at)));
        file.Keys.ForgetDatabase();
    }

    private static void Write(RdbFileWriter file, in KeptBlock kept)
    {
        file.Keys.Select(kept.Database);
        file.Keys.WriteString(kept.Key, kept.Block.Span, kept.ExpiryMs, kept.Use);
        file.Keys.Flush();
    }

    private void Release(in KeptBlock kept)
    {
        long bytes = kept.Bytes;        // while it is there
        _store.Release(kept.Block);
        _backlog.AddPinned(-bytes);
    }

    private void Grow(long bytes)
    {
        long capacity = Math.Max(BytesMin, Math.Max(bytes, 2 * _capacity));
        _start = (byte*)NativeMemory.Realloc(_start, (nuint)capacity);
        _store.Budget.ChargeExternal(capacity - _capacity);
        _capacity = capacity;
    }

    private void TakeBack(byte* start, long capacity)
    {
        lock (_lock)
        {
            if (_start == null && capacity <= 4 * BytesMin)
            {
                _start = start;
                _capacity = capacity;
            }
            else
            {
                Free(start, capacity);
            }
        }
    }

    private void Free(byte* start, long capacity)
    {
        NativeMemory.Free(start);
        _store.Budget.ChargeExternal(-capacity);
    }

    private void Reset(byte* start, long capacity)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "it is locked");
        _blocks.Clear();
        _start = start;
        _length = 0;
        _capacity = capacity;
        _isBegun = _isPartial;
    }

    /// <summary>A key whose string is in a block, which is shared.</summary>
    private readonly record struct KeptBlock(int Database, byte[] Key, Block Block, long ExpiryMs, RdbUse Use)
    {
        // Of it, not what it is charged for, which its owner may change while there is no other.
        public long Bytes => Block.ExtentBytes;
    }
}
