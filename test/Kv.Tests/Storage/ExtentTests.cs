using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>Extents against what is obvious: nobody has what somebody else has, what is given back is whole again, and
/// the sums are right.</summary>
public sealed unsafe class ExtentTests
{
    private const long Page = 4096;

    private readonly record struct Piece(nint Start, long Bytes, bool IsZeroed, int Mark);

    // Lengths from a page to megabytes, warm and zeroed, touched whole or in part, trimmed now and then.
    [Fact]
    public void Extents_never_overlap_are_zeros_where_asked_and_join_to_nothing()
    {
        for (int round = 0; round < TimeBudget.Count(6); round++)
        {
            var random = Seed.NewRandom(round);
            var extents = new Extents(1L << 30);
            var pieces = new List<Piece>();
            for (int step = 0; step < 4000; step++)
            {
                if (pieces.Count > 0 && random.Next(100) < (step / 1000 % 2 == 0 ? 35 : 65))
                {
                    int index = random.Next(pieces.Count);
                    Return(extents, pieces[index], random);
                    pieces.RemoveAt(index);
                }
                else if (Take(extents, random, step) is { } piece) pieces.Add(piece);

                if (random.Next(100) == 0) extents.TrimTo(random.Next(8 << 20));
                if (random.Next(50) != 0) continue;
                extents.Check();
                Assert.Equal(pieces.Sum(one => one.Bytes), extents.TakenBytes);
                Assert.InRange(extents.WarmBytes, 0, (48 << 20) + (64 << 20) + (1L << 30) / 16 + (4 << 20));
            }

            var sorted = pieces.OrderBy(one => one.Start).ToList();
            for (int i = 1; i < sorted.Count; i++)
                Assert.True(sorted[i - 1].Start + (nint)sorted[i - 1].Bytes <= sorted[i].Start, Seed.Hint);
            foreach (var piece in pieces) Return(extents, piece, random);
            Assert.Equal(0, extents.TakenBytes);
            extents.TrimTo(0);
            Assert.Equal((0, 0L), (extents.Check(), extents.WarmBytes));
        }
    }

    private static Piece? Take(Extents extents, Random random, int mark)
    {
        bool isZeroed = random.Next(3) == 0;
        long wanted = random.Next(4) switch
        {
            0 => random.Next(1, (int)(3 * Page)),
            1 => random.Next(65_000, 400_000),
            2 => random.Next(1 << 20, 4 << 20),
            _ => 70_000,
        };
        long bytes = wanted;
        byte* start = extents.TryTake(ref bytes, isZeroed);
        if (start == null) return null;
        Assert.True(bytes >= wanted && bytes < wanted + Page && bytes % Page == 0, $"{bytes} for {wanted}");
        if (isZeroed)
            Assert.True(new Span<byte>(start, (int)bytes).IndexOfAnyExcept((byte)0) < 0, $"not zeros; {Seed.Hint}");
        *(int*)start = mark;
        *(int*)(start + bytes - sizeof(int)) = mark;
        return new Piece((nint)start, bytes, isZeroed, mark);
    }

    private static void Return(Extents extents, Piece piece, Random random)
    {
        byte* start = (byte*)piece.Start;
        Assert.True(*(int*)start == piece.Mark
            && *(int*)(start + piece.Bytes - sizeof(int)) == piece.Mark, $"somebody else wrote there; {Seed.Hint}");
        // Who has touched the end says so; some touch it and take it back.
        long touched = piece.Bytes;
        if (piece.IsZeroed && random.Next(2) == 0)
        {
            *(int*)(start + piece.Bytes - sizeof(int)) = 0;
            touched = Math.Min(piece.Bytes, sizeof(int));
        }

        extents.Give(start, piece.Bytes, touched);
    }

    // Without a limit 48 MB stay warm, and 64 more until upkeep; with one a quarter of what all else leaves of what the
    // process may take, 1.15 of the limit and 64 MB, and twice as much until upkeep.
    [Theory]
    [InlineData(0, 0, 0, 64, 64, 48)]
    [InlineData(200, 0, 0, 64, 64, 48)]
    [InlineData(200, 188, 0, 64, 21, 11)]
    [InlineData(200, 200, 0, 64, 15, 8)]
    [InlineData(200, 200, 0, 74, 10, 5)]
    [InlineData(200, 200, 0, 44, 25, 13)]
    [InlineData(200, 200, 20, 64, 5, 3)]
    [InlineData(200, 200, 28, 66, 2, 1)]
    [InlineData(200, 500, 0, 64, 2, 1)]
    [InlineData(4096, 4096, 0, 64, 64, 48)]
    public void No_more_is_kept_warm_than_the_limit_leaves_room_for(long limitMb, long usedMb, long idleMb,
        long programMb, long atOnceMb, long afterMb)
    {
        const long mb = 1 << 20;
        using var account = new MemoryBudget { MaxBytes = limitMb * mb, ProgramBytes = programMb * mb };
        account.ChargeExternal(usedMb * mb);
        account.ChargeIdle(idleMb * mb);
        var extents = new Extents(1L << 30) { Account = account };
        var pieces = new List<nint>();
        for (int i = 0; i < 64; i++)
        {
            long bytes = mb;
            pieces.Add((nint)extents.TryTake(ref bytes, isZeroed: false));
        }

        foreach (nint piece in pieces) extents.Give((byte*)piece, mb, mb);
        Assert.InRange(extents.WarmBytes, Math.Max(0, atOnceMb - 8) / 2 * mb, atOnceMb * mb);
        extents.Trim();
        Assert.InRange(extents.WarmBytes, 0, afterMb * mb);
        account.ChargeExternal(-usedMb * mb);
        extents.TrimTo(0);
    }

    // What is warm was little when it was given back; then others take memory, and nothing more is given back. The
    // store's thread may not come by for half a second beside programs that use every processor.
    [Fact]
    public void What_others_take_makes_what_is_warm_go_without_the_thread()
    {
        const long mb = 1 << 20;
        using var account = new MemoryBudget { MaxBytes = 200 * mb };
        var extents = new Extents(1L << 30) { Account = account };
        long bytes = 60 * mb;
        byte* start = extents.TryTake(ref bytes, isZeroed: false);
        extents.Give(start, bytes, bytes);
        account.ChargeExternal(110 * mb);
        extents.TrimIfOver();
        Assert.Equal(60 * mb, extents.WarmBytes);       // half of 230 + 64 - 64 - 110
        account.ChargeExternal(80 * mb);
        for (int turn = 0; turn < 10; turn++) extents.TrimIfOver();
        Assert.InRange(extents.WarmBytes, mb, 20 * mb);
        account.ChargeExternal(60 * mb);
        for (int turn = 0; turn < 10; turn++) extents.TrimIfOver();
        Assert.InRange(extents.WarmBytes, 0, 2 * mb);
        account.ChargeExternal(-250 * mb);
        extents.TrimTo(0);
    }

    [Fact]
    public void Threads_take_and_give_back_without_meeting_each_other()
    {
        var extents = new Extents(8L << 30);
        using (var threads = new TestThreads())
        {
            for (int i = 0; i < 4; i++)
            {
                int number = i + 1;
                threads.Start(() =>
                {
                    var random = Seed.NewRandom(number);
                    var mine = new Queue<(nint Start, long Bytes)>();
                    for (int step = 0; !threads.IsStopping; step++)
                    {
                        long bytes = random.Next(1, 300_000);
                        byte* start = extents.TryTake(ref bytes, random.Next(4) == 0);
                        *(long*)start = *(long*)(start + bytes - 8) = ((long)number << 32) + step;
                        mine.Enqueue(((nint)start, bytes));
                        if (step % 1000 == 0) extents.TrimTo(1 << 20);
                        if (mine.Count < 50) continue;
                        var (old, length) = mine.Dequeue();
                        Assert.Equal(((long)number << 32) + step - 49, *(long*)old);
                        Assert.Equal(((long)number << 32) + step - 49, *(long*)(old + (nint)length - 8));
                        extents.Give((byte*)old, length, length);
                    }

                    foreach (var (start, length) in mine) extents.Give((byte*)start, length, length);
                });
            }

            threads.Finish(TimeBudget.OfSeconds(0.5));
        }

        Assert.Equal(0, extents.TakenBytes);
        extents.TrimTo(0);
        Assert.Equal(0, extents.Check());
    }

    // Limits: all of the arena but page 0, one page more, and all again out of gaps that are warm.
    [Fact]
    public void An_arena_is_given_out_to_its_last_page_and_refuses_one_more()
    {
        const int pages = 1024;
        var extents = new Extents(pages * Page);
        long all = (pages - 1) * Page, none = pages * Page, one = 1;
        Assert.True(extents.TryTake(ref none, false) == null);
        byte* whole = extents.TryTake(ref all, false);
        Assert.True(whole != null);
        Assert.True(extents.TryTake(ref one, false) == null);
        extents.Give(whole, all, all);

        byte*[] single = new byte*[pages - 1];
        for (int i = 0; i < single.Length; i++)
        {
            one = 1;
            single[i] = extents.TryTake(ref one, isZeroed: i % 2 == 0);
            Assert.True(single[i] != null, $"page {i}");
            *single[i] = 1;
        }

        // Every other is cold, the rest warm: no two of one state are neighbours.
        for (int i = 0; i < single.Length; i++) extents.Give(single[i], Page, 1);
        for (int i = 0; i < 2; i++)
        {
            all = (pages - 1) * Page;
            whole = extents.TryTake(ref all, isZeroed: true);
            Assert.True(whole != null);
            Assert.True(new Span<byte>(whole, (int)all).IndexOfAnyExcept((byte)0) < 0);
            new Span<byte>(whole, (int)all).Fill(1);
            extents.Give(whole, all, all);
        }

        extents.TrimTo(0);
        Assert.Equal(0, extents.Check());
    }

    [Fact]
    public void What_is_given_back_far_above_the_bound_goes_to_the_system_at_once()
    {
        var extents = new Extents(4L << 30);
        long bytes = 1L << 30;
        byte* start = extents.TryTake(ref bytes, false);
        start[0] = start[bytes - 1] = 1;
        Assert.InRange(extents.Room, 1, bytes - 1);
        extents.Give(start, bytes, bytes);
        Assert.InRange(extents.WarmBytes, 0, extents.WarmBytesMax);
        extents.TrimTo(0);
        Assert.Equal((0L, 0), (extents.WarmBytes, extents.Check()));
        byte* again = extents.TryTake(ref bytes, false);
        Assert.Equal((0, 0), (again[0], again[bytes - 1]));
        extents.Give(again, bytes, 1);
        extents.TrimTo(0);

        bytes = 8 << 20;
        start = extents.TryTake(ref bytes, false);
        start[0] = 1;
        Assert.Equal(0, start[bytes - 1]);
        extents.Give(start, bytes, bytes);
        Assert.Equal(8 << 20, extents.WarmBytes);
        Assert.Equal((nint)start, (nint)extents.TryTake(ref bytes, false));
        Assert.Equal((1, 0L), (start[0], extents.WarmBytes));
        extents.Give(start, bytes, bytes);
        extents.TrimTo(0);
        Assert.Equal(0, extents.Check());
    }

    // Every other of very many is given back: no two are neighbours, and hundreds go to the system in one call.
    [Fact]
    public void Many_extents_between_others_go_to_the_system_and_are_zeros_then()
    {
        var extents = new Extents(4L << 30);
        var kept = new List<nint>();
        var given = new List<nint>();
        for (int i = 0; i < 6000; i++)
        {
            long bytes = 70_000;
            byte* start = extents.TryTake(ref bytes, isZeroed: false);
            new Span<byte>(start, 70_000).Fill(0x77);
            (i % 2 == 0 ? kept : given).Add((nint)start);
        }

        foreach (nint start in given) extents.Give((byte*)start, 70_000, 70_000);
        Assert.InRange(extents.WarmBytes, 0, extents.WarmBytesMax + (64 << 20));
        extents.TrimTo(0);
        Assert.Equal((0L, 6000 - 1), (extents.WarmBytes, extents.Check()));
        foreach (nint start in given) Assert.True(new Span<byte>((byte*)start, 70_000).IndexOfAnyExcept((byte)0) < 0);
        foreach (nint start in kept) Assert.True(new Span<byte>((byte*)start, 70_000).IndexOfAnyExcept((byte)0x77) < 0);
        foreach (nint start in kept) extents.Give((byte*)start, 70_000, 70_000);
        extents.TrimTo(0);
        Assert.Equal(0, extents.Check());
    }
}
