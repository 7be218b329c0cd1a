using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Rdb;

public class LzfTests
{
    [Fact]
    public void What_is_compressed_expands_to_what_it_was()
    {
        Random random = Seed.NewRandom(901);
        using var lzf = new Lzf();
        for (int round = 0; round < 4000; round++)
        {
            byte[] input = RandomText(random, round % 10 == 0 ? random.Next(100_000) : random.Next(1, 300));
            byte[] output = new byte[input.Length + (input.Length / 16) + 64];
            int length = lzf.Compress(input, output);
            if (input.Length == 0) continue;
            Assert.True(length > 0, Seed.Hint);
            byte[] again = new byte[input.Length];
            Assert.True(Lzf.TryExpand(output.AsSpan(0, length), again), Seed.Hint);
            Assert.Equal(input, again);
            Assert.True(input.Length <= Lzf.ExpansionMax * length, "no three bytes stand for more than 264");
        }
    }

    [Fact]
    public void It_writes_nothing_behind_the_room_it_has()
    {
        Random random = Seed.NewRandom(902);
        using var lzf = new Lzf();
        for (int round = 0; round < 3000; round++)
        {
            byte[] input = RandomText(random, random.Next(1, 200));
            int room = random.Next(1, input.Length + 40);
            byte[] output = new byte[room + 32];
            Array.Fill(output, (byte)0xEE, room, 32);
            int length = lzf.Compress(input, output.AsSpan(0, room));
            Assert.InRange(length, 0, room);
            Assert.All(output[room..], next => Assert.Equal(0xEE, next));
            byte[] again = new byte[input.Length];
            if (length != 0)
                Assert.True(Lzf.TryExpand(output.AsSpan(0, length), again)
                    && again.AsSpan().SequenceEqual(input), Seed.Hint);
        }
    }

    [Fact]
    public void The_same_input_gives_the_same_bytes_whatever_came_before()
    {
        Random random = Seed.NewRandom(903);
        using var used = new Lzf();
        for (int round = 0; round < 300; round++)
        {
            byte[] input = RandomText(random, random.Next(1, 3000));
            byte[] first = new byte[input.Length + 500], second = new byte[input.Length + 500];
            using var fresh = new Lzf();
            int length = used.Compress(input, first);
            Assert.Equal(length, fresh.Compress(input, second));
            Assert.True(first.AsSpan(0, length).SequenceEqual(second.AsSpan(0, length)), Seed.Hint);
        }
    }

    [Fact]
    public void Damaged_input_is_refused_or_expands_to_what_was_said()
    {
        Random random = Seed.NewRandom(904);
        for (int round = 0; round < 200_000; round++)
        {
            byte[] input = new byte[random.Next(1, 20)];
            random.NextBytes(input);
            byte[] output = new byte[random.Next(0, 300) + 16];
            Array.Fill(output, (byte)0xEE);
            Lzf.TryExpand(input, output.AsSpan(0, output.Length - 16));
            Assert.True(output.AsSpan(output.Length - 16).IndexOfAnyExcept((byte)0xEE) < 0, Seed.Hint);
        }
    }

    internal static byte[] RandomText(Random random, int length)
    {
        byte[] text = new byte[length];
        int letters = random.Next(1, 256);
        for (int i = 0; i < length; i++) text[i] = (byte)random.Next(letters);
        // Copies from before, near and far.
        for (int copies = random.Next(length / 8 + 1); copies > 0; copies--)
        {
            int count = random.Next(1, Math.Min(length, 400)), from = random.Next(length - count + 1),
                to = random.Next(length - count + 1);
            Array.Copy(text, from, text, to, count);
        }

        return text;
    }
}
