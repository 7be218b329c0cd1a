using Kv.Storage;

namespace Kv.Tests.Collections;

/// <summary>How much memory a large list takes beside its elements, by how it has come to be.</summary>
public sealed class ListGrowthTests
{
    private static readonly byte[] Element = new byte[64];

    [Theory]
    [InlineData(8, 2_000, false)]
    [InlineData(8, 2_000, true)]
    [InlineData(64, 1_000, false)]
    [InlineData(8, 300_000, true)]
    [InlineData(64, 100_000, false)]
    public void A_list_that_grows_at_one_end_has_little_to_spare(int length, int count, bool left)
    {
        using var budget = new MemoryBudget();
        Region region = NewRegion(budget);
        var list = new LargeList(region);
        for (int i = 0; i < count; i++) Push(ref region, budget, left, length);
        list = new LargeList(region);
        list.Check();
        long elements = (long)count * length;
        // A leaf's last 64th, its header and what is too short for an element; a table of leaves, half of it and those
        // before it spare.
        Assert.InRange(region.TouchedBytes, elements, (long)(elements * 1.025) + 2048);
        region.Free();
    }

    [Theory]
    [InlineData(45, 2_048)]
    [InlineData(1_000, 30_000)]
    public void A_queue_stays_as_small_as_what_is_in_it(int count, int bytesMax)
    {
        using var budget = new MemoryBudget();
        Region region = NewRegion(budget);
        for (int i = 0; i < 100_000; i++)
        {
            Push(ref region, budget, left: false, length: 8);
            if (i >= count) new LargeList(region).Remove(0, 1);
        }

        new LargeList(region).Check();
        Assert.InRange(region.TouchedBytes, count * 8, bytesMax);
        region.Free();
    }

    private static Region NewRegion(MemoryBudget budget) =>
        Region.Create(budget, LargeList.PushBytes(default, false, new ListPush(Element.Length)));

    private static void Push(ref Region region, MemoryBudget budget, bool left, int length)
    {
        Assert.True(Region.TryReserve(ref region, budget, LargeList.PushBytes(region, left, new ListPush(length)),
            out Region moved));
        if (!moved.IsNone) moved.FreeMemory();
        new LargeList(region).Push(left, Element.AsSpan(0, length));
    }
}
