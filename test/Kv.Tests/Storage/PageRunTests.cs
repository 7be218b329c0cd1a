using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Ranges of addresses for regions: each is somebody's alone, and what is given back is used again.</summary>
public sealed unsafe class PageRunTests
{
    [Fact]
    public void No_two_runs_overlap_and_each_holds_what_is_written()
    {
        var random = Seed.NewRandom(0);
        var runs = new List<(nint Start, long Size, byte Mark)>();
        for (int i = 0; i < 4000; i++)
        {
            if (runs.Count > 0 && random.Next(3) == 0)
            {
                int index = random.Next(runs.Count);
                var (start, size, mark) = runs[index];
                Assert.Equal(mark, *(byte*)start);
                Assert.Equal(mark, *(byte*)(start + (nint)size - 1));
                PageRuns.Give((byte*)start, size, size);
                runs.RemoveAt(index);
                continue;
            }

            long wanted = random.NextInt64(8 * 1024, PageRuns.BytesMax + 1), got = wanted;
            byte* run = PageRuns.TryTake(ref got);
            Assert.True(run != null && got >= wanted, $"{got} bytes for {wanted}");
            byte sign = (byte)i;
            run[0] = run[got - 1] = sign;
            runs.Add(((nint)run, got, sign));
        }

        var sorted = runs.OrderBy(run => run.Start).ToList();
        for (int i = 1; i < sorted.Count; i++)
            Assert.True(sorted[i - 1].Start + (nint)sorted[i - 1].Size <= sorted[i].Start, Seed.Hint);
        foreach (var run in runs)
        {
            Assert.Equal(run.Mark, *(byte*)run.Start);
            PageRuns.Give((byte*)run.Start, run.Size, run.Size);
        }
    }

    // From the heap through both sizes of runs to addresses of its own, with the content.
    [Fact]
    public void A_region_keeps_its_pieces_through_every_home()
    {
        using var budget = new MemoryBudget();
        Region region = Region.Create(budget, 100);
        var pieces = new List<uint>();
        for (int i = 0; i < 30_000; i++)
        {
            Assert.True(Region.TryReserve(ref region, budget, 64, out Region left));
            if (!left.IsNone) left.FreeMemory();
            uint piece = region.Take(64);
            *(int*)region.At(piece) = i;
            pieces.Add(piece);
            Assert.True(budget.BlockBytes >= region.UsedBytes, "used, and not charged");
        }

        for (int i = 0; i < pieces.Count; i++) Assert.Equal(i, *(int*)region.At(pieces[i]));
        region.Check();
        region.Free();
        Assert.Equal(0, budget.BlockBytes);
    }
}
