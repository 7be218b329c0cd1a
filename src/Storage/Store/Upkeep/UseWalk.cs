namespace Kv.Storage;

/// <summary>Gives records the use that they are to have when two of <see cref="UseIntervals"/> are merged, or the
/// policy is of another kind.</summary>
/// <remarks>
/// The more records there are the longer it takes, and so does an interval: some 20 s with 4 M keys. That is what
/// bounds its cost, for in each interval the first use of a record writes to it: with 2.4 s uniform reads of 4 M keys,
/// 5 M a second, were 3 % slower. Nothing is walked while nothing is used. Threads: upkeep's.
/// </remarks>
internal sealed unsafe class UseWalk(Store store) : LogWalk(store, pausePerWork: 1500)
{
    /// <summary>Looks of a swap that somebody else's use or write came before: then the record has the current use, or
    /// is written to just now by one who leaves no trace.</summary>
    private const int TriesMax = 4;

    private readonly Store _store = store;

    /// <summary>Lets time pass.</summary>
    public void Advance(long nowMs)
    {
        if (_store.Uses.Advance(_store.CountsFrequency, nowMs)) Begin();
    }

    /// <summary>None: an interval lasts long enough.</summary>
    protected override long RestTicks => 0;

    protected override bool TryBegin(StoreSession session) => false;

    protected override void Look(byte* record, ulong word, StoreSession session)
    {
        for (int i = 0; i < TriesMax && !RecordWord.IsBusy(word); i++)
        {
            ulong renamed = _store.Uses.Renamed(word);
            if (renamed == word) return;
            ulong found = Interlocked.CompareExchange(ref *(ulong*)record, renamed, word);
            if (found == word) return;
            word = found;
        }
    }

    protected override void End(StoreSession session) => _store.Uses.EndWalk();
}
