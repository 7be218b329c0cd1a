using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Eviction;

/// <summary>How long keys have not been used, by intervals that are merged as they age.</summary>
public sealed class UseIntervalsTests
{
    private const MaxMemoryPolicy Lru = MaxMemoryPolicy.AllKeysLru, Lfu = MaxMemoryPolicy.AllKeysLfu;

    // The model has the time of each use. A walk takes some seconds, in which no interval ends. The worst answer of 400
    // runs was 5.4 times too short.
    [Theory, InlineData(0), InlineData(1), InlineData(2), InlineData(3)]
    public void An_answer_is_between_a_sixth_of_the_truth_and_all_of_it(int number)
    {
        const int slack = 30_000;
        var random = Seed.NewRandom(number);
        var rule = EvictionRule.Of(number % 2 == 0 ? Lru : MaxMemoryPolicy.NoEviction);
        long now = 1_700_000_000_000;
        var uses = new UseIntervals(now);
        var words = new ulong[300];
        var lastUse = new long[words.Length];
        for (int i = 0; i < words.Length; i++) Use(i);
        for (int step = 0; step < 40_000; step++)
        {
            if (random.Next(4) == 0) Use((int)(words.Length * Math.Pow(random.NextDouble(), 4)));
            for (int seconds = random.Next(100) == 0 ? random.Next(600) : 1; seconds > 0; seconds--)
            {
                now += random.Next(2000);
                uses.Advance(countsFrequency: false, now);
                if (!uses.Renames || random.Next(3) != 0) continue;
                for (int i = 0; i < words.Length; i++) words[i] = uses.Renamed(words[i]);
                uses.EndWalk();
            }

            int key = random.Next(words.Length);
            long idle = now - uses.LastUse(RecordWord.Use(words[key]), 0, now);
            long truth = now - lastUse[key];
            Assert.True(idle <= truth && idle >= (truth / 6) - slack,
                string.Create(CultureInfo.InvariantCulture, $"{Seed.Hint}: step {step}, {idle} of {truth}"));
        }

        void Use(int key)
        {
            uses.NoteUse();
            words[key] = RecordWord.WithUse(words[key], rule.UsedAgain(RecordWord.Use(words[key]), uses.Current));
            lastUse[key] = now;
        }
    }

    [Theory, InlineData(Lru), InlineData(MaxMemoryPolicy.NoEviction), InlineData(MaxMemoryPolicy.VolatileTtl)]
    public void A_read_shortens_it_and_time_does_not_stand_still_while_others_are_used(MaxMemoryPolicy policy)
    {
        using var test = Make(policy);
        foreach (string key in new[] { "read", "written", "both" }) test.Set(key, "v");
        long minutes = 0;
        for (; minutes < 60; minutes++)
        {
            if (minutes < 30) test.Get("read");
            if (minutes < 40) test.Get("both");
            test.Get("other");
            test.Set("other", "v");
            Pass(test, 60_000);
        }

        Assert.InRange(IdleOf(test, "other"), 0, 61);
        // The segment was written a minute ago, so of none of them it is known that it was then.
        Assert.InRange(IdleOf(test, "written"), 60 * 60 / 4, 60 * 60);
        Assert.InRange(IdleOf(test, "read"), 30 * 60 / 4, 31 * 60);
        Assert.InRange(IdleOf(test, "both"), 20 * 60 / 4, 21 * 60);
        test.Get("read");
        Assert.InRange(IdleOf(test, "read"), 0, 60);
    }

    [Fact]
    public void What_is_written_and_not_read_is_known_to_the_second()
    {
        using var test = Make(MaxMemoryPolicy.NoEviction);
        test.Set("key", "v");
        foreach (int seconds in new[] { 1, 10, 100, 1000, 100_000 })
        {
            Pass(test, seconds * 1000);
            Pass(test, 0);
        }

        Assert.Equal(101_111, IdleOf(test, "key"));
    }

    [Fact]
    public void Who_looks_or_leaves_no_trace_does_not_use()
    {
        using var test = Make(Lru);
        test.Set("key", "v");
        Pass(test, 100 * 1000);
        test.Session.LeavesNoTrace = true;
        test.Get("key");
        Assert.Equal(100, IdleOf(test, "key"));
        test.Session.LeavesNoTrace = false;
        test.Get("key");
        Assert.InRange(IdleOf(test, "key"), 0, 1);
    }

    // Counts look like intervals of long ago or of now.
    [Fact]
    public void What_was_counted_is_no_time_and_the_other_way_round()
    {
        using var test = Make(Lfu);
        test.Store.FrequencyLogFactor = 0;
        for (int key = 0; key < 64; key++)
        {
            test.Set("key" + key, "v");
            for (int i = 0; i < key; i++) test.Get("key" + key);
        }

        Pass(test, 1000 * 1000);
        test.Store.MaxMemoryPolicy = Lru;
        Pass(test, 0);
        // Of what was used again it is only known that it was before the change.
        for (int key = 0; key < 64; key++) Assert.Equal(key == 0 ? 1000 : 0, IdleOf(test, "key" + key));
        Pass(test, 1000 * 1000);
        Assert.Equal(1000, IdleOf(test, "key63"));
        test.Get("key5");
        Assert.InRange(IdleOf(test, "key5"), 0, 1);

        for (int i = 0; i < 20; i++)
        {
            Pass(test, 10 * 1000);
            test.Get("key7");
        }

        test.Store.MaxMemoryPolicy = Lfu;
        Pass(test, 0);
        for (int key = 0; key < 64; key++) Assert.InRange(Look(test, "key" + key).Use, 0, 3);
    }

    // Only what was counted is of a time that nobody knows.
    [Theory]
    [InlineData(3)]
    [InlineData(1000)]
    [InlineData(100_000)]
    [InlineData(20 * 86_400)]
    public void After_a_policy_that_counts_an_idle_time_that_is_told_is_kept_as_well(long told)
    {
        using var test = Make(Lfu);
        test.Set("key", "v");
        test.Store.MaxMemoryPolicy = Lru;
        Pass(test, 0);
        Assert.False(test.Store.Uses.Renames);
        int interval = test.Store.Uses.Ago(told, test.Clock.Ms);
        long idle = (test.Clock.Ms - test.Store.Uses.LastUse(RecordUse.Of(interval, 0), 0, test.Clock.Ms)) / 1000;
        Assert.InRange(idle, told / 5, told * 5);
    }

    // A record that moves behind the walk would keep a number that the next interval gets. Here the walk stands still.
    [Fact]
    public void What_is_moved_meanwhile_has_the_number_that_the_walk_would_give_it()
    {
        using var test = Make(MaxMemoryPolicy.NoEviction);
        string value = new('v', 1000);
        for (int i = 0; i < 6000; i++)
        {
            test.Set("stays" + i, value);
            test.Set("goes" + i, value);
        }

        UseIntervals uses = test.Store.Uses;
        int use = Look(test, "stays0").Use, renamed = use;
        for (int minute = 0; renamed == use; minute++)
        {
            Assert.True(minute < 10_000, "each number is merged with another some time");
            test.Clock.Advance(60_000);
            uses.NoteUse();
            if (!uses.Advance(countsFrequency: false, test.Clock.Ms)) continue;
            renamed = RecordWord.Use(uses.Renamed(RecordWord.WithUse(0, use)));
            if (renamed == use) uses.EndWalk();
        }

        for (int i = 0; i < 6000; i++) test.Delete("goes" + i);
        test.Settle();
        // The last ones are in a segment that is written to.
        for (int i = 0; i < 3000; i++) Assert.Equal(renamed, Look(test, "stays" + i).Use);
    }

    private static TestStore Make(MaxMemoryPolicy policy)
    {
        var test = new TestStore();
        test.Store.MaxMemoryPolicy = policy;
        test.Begin();
        return test;
    }

    /// <summary>Lets time pass, and upkeep do what is to be done by then.</summary>
    private static void Pass(TestStore test, long ms)
    {
        test.Session.GoOffline();
        test.Clock.Advance(ms);
        test.Store.Maintain();
        // A walk rests between its rounds.
        Eventually.Holds(() =>
        {
            test.Store.Maintain();
            return !test.Store.Uses.Renames;
        }, () => "the walk goes on");
        test.Begin();
    }

    private static long IdleOf(TestStore test, string key) => Look(test, key).Idle;

    private static ReadUse Look(TestStore test, string key)
    {
        var read = new ReadUse(test.Session);
        Assert.Equal(StoreStatus.Ok, test.Session.Read(test.Session.Key(TestStore.Bytes(key)), DataType.Any, ref read));
        return read;
    }

    private struct ReadUse(StoreSession session) : IValueRead
    {
        public long Idle;
        public int Use;

        public static bool IsUse => false;

        public void Read(in ValueView value) => (Idle, Use) = (session.IdleSeconds(value), value.Use);
    }
}
