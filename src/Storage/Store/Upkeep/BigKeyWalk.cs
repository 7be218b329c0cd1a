namespace Kv.Storage;

/// <summary>Walks the log and keeps the largest keys of each type (<see cref="BigKeys"/>).</summary>
/// <remarks>
/// Half a percent of a processor, some 15 s for a gigabyte of small values, and nothing while nothing is written. A
/// record that moves behind the walk is missed by it, but not by the next: so what the last walk has found is measured
/// once more at the end of the next one. Threads: upkeep's.
/// </remarks>
internal sealed unsafe class BigKeyWalk : LogWalk
{
    private readonly Store _store;
    private readonly List<int> _segments = [];
    private readonly BigKeyList[] _byBytes = NewLists(byElements: false), _byElements = NewLists(byElements: true);
    private BigKey[] _last = [];
    private ValueSizes _sizes = new();
    private long _begunSeconds;

    public BigKeyWalk(Store store)
        : base(store, pausePerWork: 200)
    {
        _store = store;
        Begin();        // the first one publishes from its first round on
    }

    private static BigKeyList[] NewLists(bool byElements)
    {
        var lists = new BigKeyList[Enum.GetValuesAsUnderlyingType<DataType>().Length];
        for (int i = 0; i < lists.Length; i++) lists[i] = new BigKeyList(byElements);
        return lists;
    }

    /// <summary>Begins another walk if something was written since the last one began, or a database was emptied or
    /// exchanged.</summary>
    protected override bool TryBegin(StoreSession session)
    {
        long written = 0;
        foreach (Database? database in _store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(_segments);
            foreach (int segment in _segments)
                written = Math.Max(written, Volatile.Read(ref _store.Log.Info(segment)->LastWriteSeconds));
        }

        bool isAnyLost = _store.BigKeys.Measure(session).Count != _store.BigKeys.Found.Length;
        if (written < _begunSeconds && !isAnyLost) return false;
        foreach (var list in _byBytes) list.Clear();
        foreach (var list in _byElements) list.Clear();
        _sizes = new ValueSizes();
        _begunSeconds = session.NowMs / 1000;
        return true;
    }

    protected override void Look(byte* record, ulong word, StoreSession session)
    {
        if (RecordWord.IsBusy(word)) return;
        var kind = RecordWord.Kind(word);
        int type = (int)ValueKinds.TypeOf(kind);
        long bytes = RecordWord.Size(word) + KeySize.IndexEntryBytes;
        if (!RecordWord.HoldsPointer(word))
        {
            _sizes.Add(ValuePlace.Log, bytes);
            // Each element takes a byte at least.
            long elementsMost = type == (int)DataType.String ? -1 : RecordWord.ValueBytes(word);
            if (bytes <= _byBytes[type].Threshold && elementsMost <= _byElements[type].Threshold) return;
        }

        if (KeySize.Look(_store, record, session.NowMs, out var size) != KeyLook.Measured) return;
        if (RecordWord.HoldsPointer(word))
            _sizes.Add(RecordWord.HoldsBlock(word) ? ValuePlace.Block : ValuePlace.Region, size.Bytes);
        if (RecordWord.KeyField(word) == RecordWord.LongKey || !IsWanted(size)) return;
        Offer(new BigKey(DatabaseNumber, Record.KeyOf(record, word).ToArray(), size));
    }

    private bool IsWanted(in KeySize size) => size.Bytes > _byBytes[(int)size.Type].Threshold
        || (size.Type != DataType.String && size.Elements > _byElements[(int)size.Type].Threshold);

    private void Offer(BigKey key)
    {
        _byBytes[(int)key.Size.Type].Offer(key);
        if (key.Size.Type != DataType.String) _byElements[(int)key.Size.Type].Offer(key);
    }

    protected override void End(StoreSession session)
    {
        foreach (var key in _store.BigKeys.Measure(session)) Offer(key);
        _last = [];
        EndRound();
        _last = _store.BigKeys.Found;
        _store.BigKeys.Sizes = _sizes;
        _store.BigKeys.Walks++;
    }

    /// <summary>Publishes what this walk has found so far, with what the last one has.</summary>
    protected override void EndRound()
    {
        var found = new Dictionary<(int, int), BigKey>();
        var all = new List<BigKey>(_last.Length);
        foreach (var lists in new[] { _byBytes, _byElements })
            foreach (var list in lists)
                foreach (var key in list.Keys) Add(key);
        foreach (var key in _last) Add(key);
        _store.BigKeys.Found = [.. all];

        void Add(BigKey key)
        {
            // By hash first: of 768 keys each would else be compared with all others.
            var hash = (key.Database, Hash: (int)_store.Hash.Of(key.Name));
            if (!found.TryAdd(hash, key) && all.Exists(key.IsSameKey)) return;
            all.Add(key);
        }
    }
}
