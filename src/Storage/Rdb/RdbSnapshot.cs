namespace Kv.Storage;

/// <summary>Writes a snapshot of a store into an RDB file, while others go on.</summary>
/// <remarks>
/// What is kept waits in memory, a chunk a session, so that nobody waits for the disk with a key locked; the walk moves
/// it to the file between its turns.
/// Threads: <see cref="Run"/> and the constructor one, keys are kept by any.
/// </remarks>
internal sealed class RdbSnapshot : ISnapshotSink, IDisposable
{
    private readonly Store _store;
    private readonly RdbFileWriter _file;
    private readonly bool _compresses, _saysFrequency, _saysIdle;
    private readonly SnapshotChunk?[] _chunks;
    private readonly SnapshotChunk _large;
    private readonly StoreSnapshot _snapshot;
    private readonly long _nowSeconds;
    private readonly SnapshotBacklog _backlog;
    private long _heldPeak;

    /// <summary>Begins one: this is its instant. All others are stopped.</summary>
    /// <param name="file">Its head has been written. The caller's, who ends it.</param>
    public RdbSnapshot(Store store, RdbFileWriter file, bool compresses, long nowMs)
    {
        (_store, _file, _compresses) = (store, file, compresses);
        _saysFrequency = store.CountsFrequency;
        _saysIdle = store.MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.VolatileLru;
        _nowSeconds = nowMs / 1000;
        _backlog = new SnapshotBacklog(store.Budget);
        _chunks = new SnapshotChunk?[store.Options.SessionsMax];
        _large = NewChunk();
        _snapshot = new StoreSnapshot(store, this);
        foreach (var part in _snapshot.Parts) KeysAtInstant += part.Keys.All;
    }

    private SnapshotChunk NewChunk() => new(_store, _backlog, _compresses, _file.OmitsFieldExpiries);

    /// <summary>Keys that there were.</summary>
    public long KeysAtInstant { get; }

    /// <summary>Keys in the file, or about to be. From any thread: about.</summary>
    public long Keys
    {
        get
        {
            long keys = _file.Keys.Keys + _large.Keys;
            foreach (var chunk in _chunks) keys += chunk?.Keys ?? 0;
            return keys;
        }
    }

    /// <inheritdoc/>
    public bool IsBehind => _backlog.IsTooMuch;

    /// <inheritdoc/>
    public long PinnedBytes => _backlog.PinnedBytes;

    /// <inheritdoc/>
    public long WrittenBytes => _file.Bytes;

    /// <summary>The most bytes that were copied and waited for the file, as seen between turns of the walk.</summary>
    public long HeldBytesPeak => Volatile.Read(ref _heldPeak);

    /// <summary>Ends it before its end. From any thread.</summary>
    public void Cancel() => _snapshot.Fail(new OperationCanceledException("It was cancelled."));

    /// <summary>Writes all keys.</summary>
    /// <param name="session">The walk's own, offline.</param>
    /// <exception cref="IOException">The file does not take them.</exception>
    /// <exception cref="OutOfMemoryException">The system has no memory.</exception>
    /// <exception cref="OperationCanceledException">Somebody cancelled it.</exception>
    public void Run(StoreSession session)
    {
        foreach (var part in _snapshot.Parts)
        {
            _file.BeginDatabase(part.Number, part.Keys.All, part.Keys.Expiring);
            if (!_snapshot.Walk(part, session, MoveChunks)) break;
        }

        MoveChunks();
        if (_snapshot.Failure is { } failure)
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(failure);
    }

    /// <inheritdoc/>
    public void Keep(int slot, int database, ReadOnlySpan<byte> key, in ValueView value)
    {
        // The slot's session is the only one to make it; the walk sees it later.
        var chunk = Volatile.Read(ref _chunks[slot]);
        if (chunk == null) Volatile.Write(ref _chunks[slot], chunk = NewChunk());
        chunk.Add(database, key, value, UseOf(value));
    }

    /// <inheritdoc/>
    public bool KeepSome(int database, ReadOnlySpan<byte> key, in ValueView value) =>
        _large.AddSome(database, key, value, UseOf(value));

    /// <inheritdoc/>
    public void MoveSome() => _large.MoveTo(_file);

    /// <summary>Ends it: nothing is kept any more.</summary>
    public void Dispose()
    {
        _snapshot.Dispose();
        // A session that was keeping a key when it ended is done with that before its epoch passes.
        _store.Deferred.Defer(static (chunks, _) =>
        {
            foreach (var chunk in (SnapshotChunk?[])chunks!) chunk?.Dispose();
        }, (SnapshotChunk?[])[_large, .. _chunks], 0, _backlog.CopiedBytes);
    }

    private RdbUse UseOf(in ValueView value) => new(
        _saysFrequency ? value.Frequency : null, _saysIdle ? _store.IdleSeconds(value, _nowSeconds * 1000) : null);

    private void MoveChunks()
    {
        Volatile.Write(ref _heldPeak, Math.Max(_heldPeak, _backlog.CopiedBytes));
        for (int i = 0; i < _chunks.Length; i++) Volatile.Read(ref _chunks[i])?.MoveTo(_file);
    }
}
