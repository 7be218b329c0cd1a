using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Extents on shelves: each is somebody's alone, whatever is given back beside it.</summary>
public sealed unsafe class PageShelfTests
{
    [Fact]
    public void What_is_written_stays_whoever_beside_it_comes_and_goes()
    {
        var random = Seed.NewRandom(0);
        var extents = new List<(nint Start, long Size, byte Mark)>();
        for (int i = 0; i < 20_000; i++)
        {
            // Up to some hundred, then down to none, over and over.
            bool gives = extents.Count > 0 && (i / 1000 % 2 == 0 ? random.Next(3) == 0 : random.Next(3) != 0);
            if (gives)
            {
                int index = random.Next(extents.Count);
                Check(extents[index]);
                PageShelves.Give((byte*)extents[index].Start, extents[index].Size);
                extents.RemoveAt(index);
                continue;
            }

            long wanted = random.Next(4) == 0 ? random.NextInt64(1, PageShelves.BytesMax + 1)
                : random.NextInt64(8 * 1024, 9 * 1024), got = wanted;
            byte* start = PageShelves.TryTake(ref got);
            Assert.True(start != null && got >= wanted && got < wanted + 1024, $"{got} bytes for {wanted}");
            byte mark = (byte)(i | 1);
            new Span<byte>(start, (int)got).Fill(mark);
            extents.Add(((nint)start, got, mark));
        }

        var sorted = extents.OrderBy(extent => extent.Start).ToList();
        for (int i = 1; i < sorted.Count; i++)
            Assert.True(sorted[i - 1].Start + (nint)sorted[i - 1].Size <= sorted[i].Start, Seed.Hint);
        foreach (var extent in extents)
        {
            Check(extent);
            PageShelves.Give((byte*)extent.Start, extent.Size);
        }
    }

    private static void Check((nint Start, long Size, byte Mark) extent) =>
        Assert.False(new ReadOnlySpan<byte>((byte*)extent.Start, (int)extent.Size)
            .ContainsAnyExcept(extent.Mark), Seed.Hint);
}
