using Kv.Server.Persistence.Aof;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>What waits for the disk is whole, and its memory is in the account.</summary>
public sealed class AofTailTests
{
    [Fact]
    public void What_is_kept_is_what_was_put_in_less_what_was_dropped()
    {
        long charged = 0;
        var tail = new AofTail(bytes => charged += bytes);
        Random random = Seed.NewRandom(0);
        var expected = new List<byte>();
        for (int round = 0; round < 300; round++)
        {
            byte[] bytes = new byte[random.Next(100_000)];
            random.NextBytes(bytes);
            tail.Append(bytes);
            expected.AddRange(bytes);
            Assert.True(charged >= tail.Bytes, $"{tail.Bytes} bytes are kept, {charged} are charged");
            if (random.Next(4) != 0) continue;
            int drop = random.Next(4) == 0 ? expected.Count : random.Next(expected.Count + 1);
            tail.Drop(drop);
            expected.RemoveRange(0, drop);
            var kept = new List<byte>();
            tail.Visit(piece => kept.AddRange(piece.Span));
            Assert.Equal(expected, kept);
            Assert.Equal(expected.Count, tail.Bytes);
        }

        tail.Drop(tail.Bytes);
        Assert.InRange(charged, 0, 4 << 20);        // what is used again
        tail.Append(new byte[10 << 20]);
        tail.Clear();
        Assert.Equal((0, 0), (tail.Bytes, charged));
    }
}
