using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Log;

/// <summary>Reclaiming gives its processor away every few records. On one processor with a busy worker that is
/// milliseconds each time, and hundreds of times a segment.</summary>
/// <remarks>Alone, since points are the process'.</remarks>
[Collection(Alone.Name)]
public sealed class ReclaimPauseTests
{
    private const int Keys = 20_000;

    // Of values of 70 KB, 60,000 a second, these pauses held gigabytes back: each value came on fresh pages.
    [Fact]
    public void While_reclaiming_gives_its_processor_away_what_others_let_go_of_can_be_freed()
    {
        using TestStore test = Fill();
        for (int i = 0; i < Keys; i++)
            if (i % 10 != 0) Assert.True(test.Delete("key" + i));
        int holding = 0;
        int pauses = CountPauses(test, () =>
        {
            test.Store.Epochs.Advance();
            if (test.Store.Epochs.SafeBelow() != test.Store.Epochs.Current) holding++;
        });
        Assert.True(pauses > 10, $"{pauses} pauses");
        Assert.Equal(0, holding);
        for (int i = 0; i < Keys; i += 10) Assert.Equal(100, test.Get("key" + i)!.Length);
        test.Check();
    }

    [Fact]
    public void A_database_that_is_dropped_in_such_a_pause_is_reclaimed_no_further()
    {
        using TestStore test = Fill();
        for (int i = 0; i < Keys; i++)
            if (i % 10 != 0) Assert.True(test.Delete("key" + i));
        int pauses = 0;
        CountPauses(test, () =>
        {
            if (++pauses == 3) test.Store.Flush(0);
        });
        Assert.Equal(3, pauses);
        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(0, test.Store.Stats.LogBytes);
        test.Check();
    }

    [Fact]
    public void A_segment_in_which_all_is_dead_is_freed_without_a_look_at_its_records()
    {
        using TestStore test = Fill();
        for (int i = 0; i < Keys; i++) Assert.True(test.Delete("key" + i));
        using (StoreSession other = test.Store.CreateSession())     // its own segment is given up as it is
        {
            other.BeginTurn();
            other.Select(0);
            Assert.Equal(StoreStatus.Ok, other.Set(other.Key("other"u8), "v"u8));
        }

        Assert.Equal(0, CountPauses(test, () => { }));
        Assert.True(test.Store.Stats.ReclaimedSegments > 0, "no segment was reclaimed");
        Assert.Equal("v", test.Get("other"));
        test.Check();
    }

    private static TestStore Fill()
    {
        var test = new TestStore();
        test.Store.Log.PoisonFreed = true;
        for (int i = 0; i < Keys; i++) test.Set("key" + i, new string('v', 100));
        return test;
    }

    /// <summary>Has the store reclaim what it can.</summary>
    /// <returns>How often it gave its processor away.</returns>
    private static int CountPauses(TestStore test, Action atPause)
    {
        int pauses = 0;
        bool isOther = false;
        Thread reclaims = Thread.CurrentThread;
        Fault.AtEveryPoint = point =>
        {
            if (Thread.CurrentThread != reclaims) return;
            // The walk for large keys gives it away, too, after this, and so does the halving of an index.
            if (point is "walk.segment" or "index.merge") isOther = true;
            if (point == "upkeep.round") isOther = false;
            if (point != "upkeep.yield") return;
            (bool wasOther, isOther) = (isOther, false);
            if (wasOther) return;
            pauses++;
            atPause();
        };
        try
        {
            test.Settle();
        }
        finally
        {
            Fault.AtEveryPoint = null;
        }

        return pauses;
    }
}
