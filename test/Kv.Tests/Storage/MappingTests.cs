using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>How many mappings there are: few, whatever the values are, and never more than the system allows.</summary>
public sealed unsafe class MappingTests
{
    // With a mapping for each, the holes made of 12,000 values 6,000 mappings.
    [Fact]
    public void Large_values_with_holes_between_them_take_no_mappings()
    {
        if (!OperatingSystem.IsLinux()) Assert.Skip("/proc is Linux'");
        if (OwnProcess.Ran()) return;
        using var test = new TestStore();
        byte[] value = new byte[66_000];
        test.TrySet("first", value);
        int before = Mappings();
        long counted = VirtualMemory.Mappings.Count, failures = VirtualMemory.Failures;
        for (int i = 0; i < 12_000; i++)
        {
            if (i % 16 == 0) test.Begin();
            Assert.Equal(StoreStatus.Ok, test.TrySet("key" + i, value));
        }

        for (int i = 0; i < 12_000; i += 2) Assert.True(test.Delete("key" + i));
        test.Settle();
        Assert.InRange(Mappings() - before, int.MinValue, 100);     // the runtime's threads and heap change meanwhile
        Assert.InRange(VirtualMemory.Mappings.Count - counted, 0, 8);
        for (int i = 0; i < 400; i++) Assert.Equal(StoreStatus.Ok, test.TrySet("longer" + i, new byte[200_000]));
        test.Check();
        test.Store.FlushAll();
        test.Settle();
        Assert.Equal((0, failures), (test.Store.Stats.BlockBytes, VirtualMemory.Failures));
        Assert.InRange(Mappings() - before, int.MinValue, 100);
    }

    // Collections of half a megabyte to some megabytes share one mapping; only larger ones have their own.
    [Fact]
    public void Collections_of_megabytes_take_no_mappings()
    {
        if (OwnProcess.Ran()) return;
        using var budget = new MemoryBudget();
        Region.Create(budget, 600_000).Free();      // now the arena is there
        long counted = VirtualMemory.Mappings.Count;
        var regions = new List<Region>();
        for (int i = 0; i < 300; i++)
        {
            Region region = Region.Create(budget, 600_000 + (i * 10_000));
            region.Take(600_000);
            regions.Add(region);
        }

        Assert.Equal(counted, VirtualMemory.Mappings.Count);
        foreach (Region region in regions) region.Free();
        Assert.Equal((0L, counted), (budget.BlockBytes, VirtualMemory.Mappings.Count));
    }

    // From an extent to addresses of its own. The limit is lowered to what there is.
    [Fact]
    public void A_region_that_needs_a_mapping_too_many_is_refused_and_as_it_was()
    {
        if (OwnProcess.Ran()) return;
        using var budget = new MemoryBudget();
        Region region = Region.Create(budget, 600_000);
        var pieces = new List<uint>();
        long max = VirtualMemory.Mappings.Max;
        VirtualMemory.Mappings.Max = VirtualMemory.Mappings.Count;
        try
        {
            while (Region.TryReserve(ref region, budget, 100_000))
            {
                uint piece = region.Take(100_000);
                *(long*)region.At(piece) = pieces.Count;
                pieces.Add(piece);
                Assert.InRange(pieces.Count, 0, 400);
            }

            Assert.InRange(pieces.Count, 100, 400);
            CheckPieces(region, pieces);
            Assert.True(Region.Create(budget, 20 << 20).IsNone);
            VirtualMemory.Mappings.Max = max;
            for (long more = 0; more < 100; more++)
            {
                Assert.True(Region.TryReserve(ref region, budget, 100_000));
                uint piece = region.Take(100_000);
                *(long*)region.At(piece) = pieces.Count;
                pieces.Add(piece);
            }

            CheckPieces(region, pieces);
        }
        finally
        {
            VirtualMemory.Mappings.Max = max;
        }

        long withOwn = VirtualMemory.Mappings.Count;
        region.Free();
        Assert.InRange(VirtualMemory.Mappings.Count, 0, withOwn - 1);
        Assert.Equal(0, budget.BlockBytes);
    }

    private static void CheckPieces(Region region, List<uint> pieces)
    {
        region.Check();
        for (int i = 0; i < pieces.Count; i++) Assert.Equal(i, *(long*)region.At(pieces[i]));
    }

    // The second time it is two mappings, with the border in the middle of a piece that is moved.
    [Fact]
    public void A_range_is_moved_again_and_again_with_all_of_its_content()
    {
        if (OwnProcess.Ran()) return;
        const long page = 4096;
        long pages = 1100, counted = VirtualMemory.Mappings.Count;
        byte* at = VirtualMemory.Reserve((nuint)(8 << 20), mappings: 3);
        nuint bytes = 8 << 20;
        for (long i = 0; i < pages; i++) *(long*)(at + (i * page)) = i;
        for (int move = 0; move < 4; move++)
        {
            byte* target = VirtualMemory.MoveAway(at, (nuint)(pages * page) - 5, 2 * bytes, 3);
            Assert.True(target != null);
            for (long i = 0; i < pages; i++)
                Assert.True(*(long*)(target + (i * page)) == i, $"page {i} after move {move}");
            for (long i = pages; i < 2 * pages + 7; i++) *(long*)(target + (i * page)) = i;
            if (OperatingSystem.IsLinux()) Assert.Equal(0, at[0]);       // still readable, and empty
            VirtualMemory.Release(at, bytes, 3);
            at = target;
            pages = (2 * pages) + 7;
            bytes *= 2;
        }

        VirtualMemory.Release(at, bytes, 3);
        Assert.Equal(counted, VirtualMemory.Mappings.Count);
    }

    [Fact]
    public void A_limit_counts_up_to_its_last_mapping()
    {
        var limit = new MappingLimit(5);
        Assert.True(limit.TryAdd(3));
        Assert.False(limit.TryAdd(3));
        Assert.Equal(3, limit.Count);
        Assert.True(limit.TryAdd(2));
        Assert.False(limit.TryAdd(1));
        limit.Remove(1);
        Assert.True(limit.TryAdd(1));
        Assert.InRange(MappingLimit.OfSystem().Max, MappingLimit.SystemMax / 2, MappingLimit.SystemMax - 1);
    }

    private static int Mappings() => File.ReadLines("/proc/self/maps").Count();
}
