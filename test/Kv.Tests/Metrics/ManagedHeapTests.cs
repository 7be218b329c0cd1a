using Kv.Server.Metrics;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Metrics;

/// <summary>What of the managed heap counts as used.</summary>
public sealed class ManagedHeapTests : IDisposable
{
    private const long Mb = 1 << 20;

    private readonly MemoryBudget _budget = new();
    private readonly Heap _heap;
    private readonly ManagedHeap _managed;

    public ManagedHeapTests()
    {
        _heap = new Heap(_budget) { LiveBytes = 3 * Mb };
        _managed = new ManagedHeap(_budget, new NoTimers(), _heap);
    }

    public void Dispose()
    {
        _managed.Dispose();
        _budget.Dispose();
    }

    [Fact]
    public void Before_the_first_collection_it_is_what_the_start_has_allocated()
    {
        Assert.Equal(3 * Mb, _budget.HeapBytes);
        Assert.Equal(3 * Mb, _budget.UsedBytes);
        _budget.MaxBytes = 3 * Mb;
        Assert.False(_budget.IsOver);
        _budget.MaxBytes--;
        Assert.True(_budget.IsOver);
    }

    [Fact]
    public void What_is_charged_counts_once_and_at_once()
    {
        _budget.ChargeManaged(100 * Mb);
        Assert.Equal(103 * Mb, _budget.UsedBytes);
        Collect(live: 104 * Mb);
        Assert.Equal(104 * Mb, _budget.UsedBytes);
        _budget.ChargeManaged(-50 * Mb);
        Assert.Equal(54 * Mb, _budget.UsedBytes);
        _managed.Look();
        Assert.Equal(1, _heap.Wanted);      // 50 of 104 MB are known to be dead
        Collect(live: 54 * Mb);
        Assert.Equal(54 * Mb, _budget.UsedBytes);
        Assert.Equal(1, _heap.Wanted);
    }

    [Fact]
    public void Little_that_is_dead_is_left_to_the_runtime()
    {
        _budget.ChargeManaged(40 * Mb);
        _managed.Look();
        _budget.ChargeManaged(-16 * Mb);
        _managed.Look();
        Assert.Equal(0, _heap.Wanted);
        _budget.ChargeManaged(-1);
        _managed.Look();
        Assert.Equal(1, _heap.Wanted);
        Collect(live: 27 * Mb);
        _budget.ChargeManaged(200 * Mb);
        Collect(live: 227 * Mb);
        _budget.ChargeManaged(-40 * Mb);    // less than a quarter of what is left
        _managed.Look();
        Assert.Equal(1, _heap.Wanted);
    }

    // Whoever leaves is charged no more a little before he is let go of: a collection in between finds him.
    [Fact]
    public void What_was_found_on_its_way_out_is_looked_at_once_more_when_nothing_goes_any_more()
    {
        _budget.ChargeManaged(100 * Mb);
        _managed.Look();
        _budget.ChargeManaged(-90 * Mb);
        _managed.Look();
        _budget.ChargeManaged(-5 * Mb);
        Collect(live: 63 * Mb);
        int before = _heap.Wanted;
        Assert.Equal(1, before);
        _budget.ChargeManaged(-5 * Mb);
        _managed.Look();
        Assert.Equal(before, _heap.Wanted);
        _managed.Look();
        Assert.Equal(before + 1, _heap.Wanted);
        Collect(live: 3 * Mb);
        Assert.Equal(3 * Mb, _budget.UsedBytes);
        Assert.Equal(before + 1, _heap.Wanted);
    }

    [Fact]
    public void What_is_found_twice_is_believed()
    {
        Collect(live: 50 * Mb);
        Assert.Equal(1, _heap.Wanted);
        Collect(live: 50 * Mb);
        _managed.Look();
        Assert.Equal(50 * Mb, _budget.UsedBytes);
        Assert.Equal(1, _heap.Wanted);
    }

    // The last collection fell into a storm; then nothing is allocated any more, and the runtime would not collect.
    [Fact]
    public void A_heap_that_has_stayed_large_is_looked_at_again_less_and_less_often()
    {
        Collect(live: 500 * Mb);
        Collect(live: 500 * Mb);
        int wanted = _heap.Wanted, looks = 0;
        foreach (int expected in (int[])[80, 160, 320])
        {
            for (looks = 1; _heap.Wanted == wanted; looks++) _managed.Look();
            Assert.InRange(looks, expected / 2, 2 * expected);
            wanted = _heap.Wanted;
            Collect(live: 500 * Mb);
        }

        Collect(live: 4 * Mb);
        Assert.Equal(4 * Mb, _budget.UsedBytes);
        for (looks = 0; looks < 10_000; looks++) _managed.Look();
        Assert.Equal(wanted, _heap.Wanted);
    }

    // After a storm of ten minutes 40 MB that nobody had any more counted as used for up to a quarter of an hour.
    [Theory]
    [InlineData(20, 40)]
    [InlineData(40, 80)]
    [InlineData(400, 800)]
    [InlineData(4000, 3600)]
    public void However_long_it_stays_large_it_is_looked_at_again_within_half_a_second_a_megabyte(int mb, int ticks)
    {
        for (int i = 0; i < 20; i++) Collect(live: mb * Mb);
        int wanted = _heap.Wanted;
        for (int i = 0; i < ticks; i++) _managed.Look();
        Assert.Equal(wanted + 1, _heap.Wanted);
    }

    // What is dead would keep writes refused: it counts until it is collected.
    [Fact]
    public void Little_is_enough_while_writes_are_refused()
    {
        Collect(live: 15 * Mb);
        for (int i = 0; i < 5000; i++) _managed.Look();
        Assert.Equal(0, _heap.Wanted);
        _budget.MaxBytes = 12 * Mb;
        for (int i = 0; i < 120 && _heap.Wanted == 0; i++) _managed.Look();
        Assert.Equal(1, _heap.Wanted);
        Collect(live: 3 * Mb);
        Assert.False(_budget.IsOver);
    }

    // Collections of the runtime that fell into calls of EVAL found their arguments alive: an empty store refused all
    // writes for ten seconds and more.
    [Fact]
    public void What_was_alive_a_moment_ago_is_looked_at_again_within_two_seconds_while_writes_are_refused()
    {
        _budget.MaxBytes = 32 * Mb;
        for (int i = 0; i < 20; i++) Collect(live: (i % 2 == 0 ? 33 : 66) * Mb);
        Collect(live: 66 * Mb);     // asked for, as it had grown: it has not changed
        int wanted = _heap.Wanted;
        for (int i = 0; i < 8; i++) _managed.Look();
        Assert.Equal(wanted + 1, _heap.Wanted);
        // Where it stays it is looked at less and less often.
        int looks = 0;
        for (int i = 0; i < 10; i++)
        {
            wanted = _heap.Wanted;
            // Ends: within half a minute.
            for (looks = 0; looks < 200 && _heap.Wanted == wanted; looks++) _managed.Look();
            Collect(live: 66 * Mb);
        }

        Assert.InRange(looks, 100, 120);
    }

    // Clients came and left, and the next ones bring as much, of another kind: garbage of 12 MB lay beside that.
    [Fact]
    public void Little_is_enough_while_the_process_takes_more_than_it_may()
    {
        _budget.MaxBytes = 100 * Mb;
        _budget.ProgramBytes = 170 * Mb;
        _budget.ChargeManaged(12 * Mb);
        _managed.Look();
        _budget.ChargeManaged(-12 * Mb);
        _managed.Look();
        Assert.Equal(0, _heap.Wanted);      // 3 and 170 of 179 MB
        _budget.ProgramBytes = 177 * Mb;
        _managed.Look();
        Assert.Equal(1, _heap.Wanted);
        Assert.False(_budget.IsOver);
        Collect(live: 3 * Mb);
        for (int i = 0; i < 1000; i++) _managed.Look();
        Assert.Equal(1, _heap.Wanted);
    }

    // Holes between what is alive, and what is kept for later: no collection in the background gives them back.
    [Fact]
    public void Holes_are_closed_while_the_process_takes_more_than_it_may()
    {
        _budget.MaxBytes = 100 * Mb;
        _budget.ProgramBytes = 170 * Mb;
        _heap.FreeBytes = 40 * Mb;
        for (int i = 0; i < 100; i++) _managed.Look();
        Assert.Equal(0, _heap.Compactions);
        _budget.ProgramBytes = 177 * Mb;
        var looks = new List<int>();
        for (int i = 0; looks.Count < 6; i++)
        {
            int before = _heap.Compactions;
            _managed.Look();
            if (_heap.Compactions != before) looks.Add(i);
        }

        Assert.Equal([0, 8, 24, 56, 96, 136], looks);       // 2, 4, 8 and 10 s
        _heap.FreeBytes = 15 * Mb;
        for (int i = 0; i < 100; i++) _managed.Look();
        Assert.Equal(6, _heap.Compactions);
        (_heap.FreeBytes, _heap.LiveBytes) = (40 * Mb, 25 * Mb);
        for (int i = 0; i < 100; i++) _managed.Look();
        Assert.Equal(6, _heap.Compactions);
    }

    [Fact]
    public void What_nobody_has_is_given_back_once_the_runtime_has_let_the_heap_alone()
    {
        _heap.BesideBytes = 31 * Mb;
        for (int i = 0; i < 100; i++) _managed.Look();
        Assert.Equal(0, _heap.Wanted);
        _heap.BesideBytes = 500 * Mb;
        Collect(live: 3 * Mb);
        for (int i = 0; i < 39; i++) _managed.Look();
        Assert.Equal(0, _heap.Wanted);

        // The third gives back the first large part, and then each one some.
        for (int i = 0; i < 1000; i++)
        {
            if (_heap.Wanted > _heap.FullCollections - 1)
            {
                _heap.FullCollections++;
                if (_heap.Wanted == 3) _heap.BesideBytes -= 300 * Mb;
                else if (_heap.Wanted > 3) _heap.BesideBytes = Math.Max(60 * Mb, _heap.BesideBytes - (20 * Mb));
            }

            _managed.Look();
        }

        Assert.Equal(60 * Mb, _heap.BesideBytes);
        Assert.InRange(_heap.Wanted, 10, 15);
    }

    [Fact]
    public void What_cannot_be_given_back_is_tried_a_few_times_until_there_is_more()
    {
        for (int more = 1; more <= 3; more++)
        {
            _heap.BesideBytes += 33 * Mb;
            for (int i = 0; i < 1000; i++) _managed.Look();
            Assert.Equal(4 * more, _heap.Wanted);
        }
    }

    [Fact]
    public void Data_is_not_looked_for_in_the_heap()
    {
        _budget.ChargeLog(1000 * Mb);
        for (int i = 0; i < 1000; i++) _managed.Look();
        Assert.Equal(0, _heap.Wanted);
    }

    [Fact]
    public void It_is_looked_at_more_often_while_writes_are_refused_than_otherwise()
    {
        Collect(live: 50 * Mb);
        _budget.MaxBytes = 12 * Mb;
        for (int i = 0, wanted = _heap.Wanted; i < 20; i++, wanted = _heap.Wanted)
        {
            Collect(live: 50 * Mb);
            for (int look = 0; look < 120; look++) _managed.Look();
            Assert.NotEqual(wanted, _heap.Wanted);
        }
    }

    // One in the background takes a while.
    [Fact]
    public void What_was_asked_for_is_not_asked_for_with_each_look()
    {
        _budget.ChargeManaged(100 * Mb);
        _managed.Look();
        _budget.ChargeManaged(-90 * Mb);
        for (int i = 0; i < 40; i++) _managed.Look();
        Assert.Equal(1, _heap.Wanted);
        for (int i = 0; i < 40; i++) _managed.Look();
        Assert.Equal(2, _heap.Wanted);
    }

    private void Collect(long live)
    {
        _heap.LiveBytes = live;
        _heap.FullCollections++;
        _managed.Look();
    }

    private sealed class Heap(MemoryBudget budget) : IHeapFigures
    {
        public long AllocatedBytes => LiveBytes;

        public long LiveBytes { get; set; }

        public long FullCollections { get; set; }

        /// <summary>What is resident and in no account.</summary>
        public long BesideBytes { get; set; }

        public long ResidentBytes => budget.UsedBytes + BesideBytes;

        public int Wanted { get; private set; }

        public long FreeBytes { get; set; }

        public int Compactions { get; private set; }

        public void Collect() => Wanted++;

        public void Compact() => Compactions++;
    }
}
