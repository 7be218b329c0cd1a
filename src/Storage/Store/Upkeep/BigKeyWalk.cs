using System.Diagnostics;

namespace Kv.Storage;

//  a walk:   database 0: segment 3, 4, 9, ...  |  database 1: segment 7, ...  |  end: publish, and rest
//            a segment, give way, another one: for a millisecond, then a pause of 200 times as long

/// <summary>Walks the log, segment by segment, and keeps the largest keys of each type
/// (<see cref="BigKeys"/>).</summary>
/// <remarks>
/// Takes half a percent of the time of one processor, some 15 s for a gigabyte of small values, and nothing while
/// nothing is written. A record that moves behind the walk is missed by it, but not by the next: so what the last walk
/// has found is measured once more at the end of the next one. Threads: upkeep's.
/// </remarks>
internal sealed unsafe class BigKeyWalk(Store store)
{
    private const int PausePerWork = 200;

    private static readonly long RoundTicks = Stopwatch.Frequency / 1000, RestTicks = Stopwatch.Frequency;

    /// <summary>A round that took longer than this had no processor for the rest, or was compiled meanwhile: it worked
    /// for a millisecond all the same, and half a minute of pause would be no answer to that.</summary>
    private static readonly long WorkTicksMax = 5 * RoundTicks;

    private readonly List<int> _segments = [];
    private readonly BigKeyList[] _byBytes = NewLists(byElements: false), _byElements = NewLists(byElements: true);
    private BigKey[] _last = [];
    private ValueSizes _sizes = new();
    private int _database, _segment;
    private bool _walks = true;
    private long _nextAt, _begunSeconds;

    /// <summary>Walks on, if it is time.</summary>
    /// <param name="session">In a turn; it may be in another one afterwards.</param>
    public void Run(StoreSession session)
    {
        long begin = Stopwatch.GetTimestamp();
        if (begin < _nextAt) return;
        if (!_walks && !TryBegin(session))
        {
            _nextAt = begin + RestTicks;
            return;
        }

        // Ends: with the time, or the walk.
        while (_walks && Stopwatch.GetTimestamp() - begin < RoundTicks)
        {
            if (FindNext() is { } database) Walk(database, session);
            else End(session);
        }

        Publish();
        long now = Stopwatch.GetTimestamp();
        _nextAt = now + PauseTicks(now - begin, _walks);
    }

    /// <summary>How long to wait after a round.</summary>
    /// <param name="walks">Whether the walk goes on.</param>
    internal static long PauseTicks(long workTicks, bool walks) =>
        Math.Max(PausePerWork * Math.Min(workTicks, WorkTicksMax), walks ? 0 : RestTicks);

    private static BigKeyList[] NewLists(bool byElements)
    {
        var lists = new BigKeyList[Enum.GetValuesAsUnderlyingType<DataType>().Length];
        for (int i = 0; i < lists.Length; i++) lists[i] = new BigKeyList(byElements);
        return lists;
    }

    /// <summary>Begins another walk if something was written since the last one began, or a database was emptied or
    /// exchanged.</summary>
    private bool TryBegin(StoreSession session)
    {
        long written = 0;
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(_segments);
            foreach (int segment in _segments)
                written = Math.Max(written, Volatile.Read(ref store.Log.Info(segment)->LastWriteSeconds));
        }

        bool isAnyLost = store.BigKeys.Measure(session).Count != store.BigKeys.Found.Length;
        if (written < _begunSeconds && !isAnyLost) return false;
        foreach (var list in _byBytes) list.Clear();
        foreach (var list in _byElements) list.Clear();
        _sizes = new ValueSizes();
        (_database, _segment) = (0, 0);
        _begunSeconds = session.NowMs / 1000;
        return _walks = true;
    }

    /// <summary>Goes on to the next segment in the order of databases and numbers.</summary>
    /// <returns>Its database; null at the end.</returns>
    private Database? FindNext()
    {
        var table = store.Table;
        for (; _database < table.Length; _database++, _segment = 0)
        {
            if (table[_database] is not { } database) continue;
            // Looked up each time: since the last one segments have come and gone.
            database.Segments.CopyTo(_segments);
            int next = int.MaxValue;
            foreach (int segment in _segments)
                if (segment > _segment) next = Math.Min(next, segment);
            if (next == int.MaxValue) continue;
            _segment = next;
            return database;
        }

        return null;
    }

    private void Walk(Database database, StoreSession session)
    {
        int records = 0;
        var scan = new LogScanner(store.Log, _segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (!RecordWord.IsBusy(word)) Look(record, word, session);
            if (++records < store.Room.RecordsPerSlice) continue;
            records = 0;
            session.Tick();
            // The segment is there for as long as the epoch in which it was found alive.
            if (database.IsDropped
                || Volatile.Read(ref *(int*)&store.Log.Info(_segment)->State) >= (int)SegmentState.Retired
                || store.Log.Info(_segment)->DatabaseId != database.Id) break;
        }

        Fault.Point("bigkeys.segment");
        session.GiveWay();
    }

    private void Look(byte* record, ulong word, StoreSession session)
    {
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

        if (KeySize.Look(store, record, session.NowMs, out var size) != KeyLook.Measured) return;
        if (RecordWord.HoldsPointer(word))
            _sizes.Add(RecordWord.HoldsBlock(word) ? ValuePlace.Block : ValuePlace.Region, size.Bytes);
        if (RecordWord.KeyField(word) == RecordWord.LongKey || !IsWanted(size)) return;
        Offer(new BigKey(_database, Record.KeyOf(record, word).ToArray(), size));
    }

    private bool IsWanted(in KeySize size) => size.Bytes > _byBytes[(int)size.Type].Threshold
        || (size.Type != DataType.String && size.Elements > _byElements[(int)size.Type].Threshold);

    private void Offer(BigKey key)
    {
        _byBytes[(int)key.Size.Type].Offer(key);
        if (key.Size.Type != DataType.String) _byElements[(int)key.Size.Type].Offer(key);
    }

    private void End(StoreSession session)
    {
        foreach (var key in store.BigKeys.Measure(session)) Offer(key);
        _walks = false;
        _last = [];
        Publish();
        _last = store.BigKeys.Found;
        store.BigKeys.Sizes = _sizes;
        store.BigKeys.Walks++;
    }

    /// <summary>Publishes what this walk has found so far, with what the last one has.</summary>
    private void Publish()
    {
        var found = new Dictionary<(int, int), BigKey>();
        var all = new List<BigKey>(_last.Length);
        foreach (var lists in new[] { _byBytes, _byElements })
            foreach (var list in lists)
                foreach (var key in list.Keys) Add(key);
        foreach (var key in _last) Add(key);
        store.BigKeys.Found = [.. all];

        void Add(BigKey key)
        {
            // By hash first: of 768 keys each would else be compared with all others.
            var hash = (key.Database, Hash: (int)store.Hash.Of(key.Name));
            if (!found.TryAdd(hash, key) && all.Exists(key.IsSameKey)) return;
            all.Add(key);
        }
    }
}
