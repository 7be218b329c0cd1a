namespace Kv.Storage;

/// <summary>Says which queue is emptied next: the young one, unless so few of the keys that the main one loses come
/// again that it holds what nobody wants any more.</summary>
/// <remarks>
/// Threads: upkeep's only. The young queue has at least a tenth of the log; what is above that is emptied first, so
/// that what is used once leaves soon. But a working set that has gone would stay in the main queue for ever where what
/// follows it is too large to be used twice while it is young. So it is counted how many of those that were evicted
/// come again, for either queue. Of the main queue twice as many should as of the young one, for a key was used more
/// than once to come there; where they are fewer, the main queue is emptied as well, up to batch after batch.
/// Source: what the next byte would bring, as ARC (FAST 2003) adapts, but of rates, so that a scan changes nothing.
/// </remarks>
internal sealed class QueueBalance(EvictedKeys evicted)
{
    /// <summary>Each queue keeps one byte in this many of the log; with fewer it is left alone.</summary>
    private const int LeastPart = 10;

    /// <summary>One key in this many is evicted before it is counted how many of them have come again: with more keys a
    /// change would be noticed late, with fewer those that come again late would be missed.</summary>
    private const int CohortPart = 4;

    /// <summary>Fewer say nothing.</summary>
    private const int EvictedMin = 100;

    /// <summary>How many times as often what is evicted young has to come again for the main queue to be emptied before
    /// it, and how many times more for it to be emptied alone.</summary>
    private const double TimesMin = 2, TimesMore = 2;

    /// <summary>The share of the main queue where of the young ones some come again: else nobody would know of it.
    /// Where hardly any do, as in a scan, nothing is to be won.</summary>
    private const double LeastShare = 1.0 / 16, ReturnsMin = 0.05;

    /// <summary>So many are added to those that came again to the main queue, so that few prove nothing.</summary>
    private const int Doubt = 4;

    private double _ofYoung, _ofMain = 1;       // the shares that came again, as last counted
    private double _share, _due;

    /// <summary>Whether the next batch is of the young queue. A call counts as a batch.</summary>
    /// <param name="young">Bytes that are alive in it.</param>
    /// <param name="main">Bytes that are alive in the main queue.</param>
    /// <param name="keys">How many keys there are.</param>
    public bool IsYoungNext(long young, long main, long keys)
    {
        if (evicted.TryEndCohort(keys / CohortPart, out EvictedShare ofYoung, out EvictedShare ofMain))
            Weigh(ofYoung, ofMain);
        long all = young + main;
        if (young * LeastPart <= all) return false;
        if (main * LeastPart <= all) return true;
        _due += _share;
        if (_due < 1) return true;
        _due -= 1;
        return false;
    }

    private void Weigh(EvictedShare young, EvictedShare main)
    {
        if (young.Evicted >= EvictedMin) _ofYoung = (double)young.Returned / young.Evicted;
        if (main.Evicted >= EvictedMin) _ofMain = (double)(main.Returned + Doubt) / main.Evicted;
        double times = _ofYoung / _ofMain;
        _share = Math.Clamp((times - TimesMin) / TimesMore, _ofYoung > ReturnsMin ? LeastShare : 0, 1);
    }
}
