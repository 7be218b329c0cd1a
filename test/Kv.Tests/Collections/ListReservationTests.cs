using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Collections;

/// <summary>What is reserved before elements are pushed is enough for them, wherever and of whatever lengths they are:
/// nothing behind it may fail.</summary>
public sealed class ListReservationTests
{
    private const int Rounds = 30_000;

    [Fact]
    public void Pushing_takes_no_more_than_was_reserved_for_it()
    {
        var random = Seed.NewRandom(0);
        using var budget = new MemoryBudget();
        byte[] element = new byte[5000];
        Region region = default;
        for (int round = 0; round < Rounds; round++)
        {
            // A new list now and then: the first pushes are the closest to what was reserved.
            if (region.IsNone || random.Next(20) == 0)
            {
                if (!region.IsNone) region.Free();
                region = Region.Create(budget, 64 << 20);
            }

            var list = new LargeList(region);
            bool left = random.Next(2) == 0;
            int[] lengths = Lengths(random);
            long bytes = lengths.Sum(length => (long)length), longest = lengths.Max();
            var push = new ListPush(lengths.Length, bytes, (int)longest);
            long reserved = LargeList.PushBytes(region, left, push), before = region.TouchedBytes;
            Assert.True(Region.TryReserve(ref region, budget, reserved, out Region moved) && moved.IsNone);
            foreach (int length in lengths)
            {
                list.Push(left, element.AsSpan(0, length), push);
                push = push.Behind(length);
            }

            Assert.True(region.TouchedBytes - before <= reserved,
                $"{region.TouchedBytes - before} bytes for {string.Join(' ', lengths)}, {reserved} were reserved; "
                + $"{Seed.Hint}");
            list.Check();
            if (random.Next(4) == 0) list.Remove(0, random.NextInt64(list.Count));
        }

        region.Free();
    }

    private static int[] Lengths(Random random)
    {
        int count = random.Next(3) == 0 ? 1 : random.Next(2, 80);
        int kind = random.Next(9), fix = random.Next(1, 1025), width = random.Next(1, 4) * random.Next(1, 5);
        return [.. Enumerable.Range(0, count).Select(_ => kind switch
        {
            0 => random.Next(0, 20),
            1 => random.Next(0, 1025),
            2 => random.Next(10) == 0 ? random.Next(1025, 5000) : random.Next(0, 1025),
            3 => random.Next(8) == 0 ? 2000 : random.Next(249, 256),
            4 => fix,
            // The same width again and again, in this push and from push to push, and now and then another.
            6 => width,
            5 => 1024 + fix,     // each is alone
            7 => random.Next(30) == 0 ? random.Next(0, 20) : 8,
            _ => random.Next(1025, 3000),
        })];
    }
}
