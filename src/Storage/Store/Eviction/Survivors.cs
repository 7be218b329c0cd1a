namespace Kv.Storage;

/// <summary>Where records go that have outlived their segment: apart from new ones, and those with an expiry apart from
/// those without.</summary>
/// <remarks>Threads: upkeep's only.</remarks>
internal sealed class Survivors(Store store, int slot)
{
    private readonly RecordChanges _lasting = new(store, slot, SegmentQueue.Main),
        _expiring = new(store, slot, SegmentQueue.Main);

    /// <summary>Whoever moves a record there.</summary>
    public RecordChanges For(ulong word) => (word & RecordWord.HasExpiry) != 0 ? _expiring : _lasting;

    public void SetClock(long nowMs)
    {
        _lasting.SetClock(nowMs);
        _expiring.SetClock(nowMs);
    }

    /// <summary>Gives up what is written to.</summary>
    public void Seal()
    {
        _lasting.Seal();
        _expiring.Seal();
    }
}
