using System.Numerics;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Bitmaps that are worked on in steps, against the obvious loops.</summary>
public class LongBitmapTests
{
    private const int Bytes = 5_000_000;

    [Fact]
    public void Long_bitmaps_are_counted_and_searched_as_a_whole()
    {
        byte[] value = new byte[Bytes];
        Seed.NewRandom(41).NextBytes(value.AsSpan(0, Bytes / 2));       // the rest is zeros
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Command("SET"u8.ToArray(), "k"u8.ToArray(), value);
        long ones = value.Sum(b => (long)BitOperations.PopCount(b));
        Assert.Equal(ones, client.Command("BITCOUNT k").Integer);
        Assert.Equal(ones - BitOperations.PopCount(value[0]), client.Command("BITCOUNT k 1 -1").Integer);
        Assert.Equal(value.Skip(1).Take(3_999_999).Sum(b => (long)BitOperations.PopCount(b)),
            client.Command("BITCOUNT k 8 31999999 BIT").Integer);
        Assert.Equal(0, client.Command("BITCOUNT k 4000000 -1").Integer);

        long lastOne = LastOne(value);
        Assert.Equal(lastOne, client.Command($"BITPOS k 1 {lastOne} -1 BIT").Integer);
        Assert.Equal(-1, client.Command($"BITPOS k 1 {lastOne + 1} -1 BIT").Integer);
        Assert.Equal(lastOne + 1, client.Command($"BITPOS k 0 {lastOne} -1 BIT").Integer);
        client.Command("BITOP NOT k k");
        Assert.Equal((Bytes * 8L) - ones, client.Command("BITCOUNT k").Integer);
        client.Command("SET"u8.ToArray(), "ones"u8.ToArray(), Enumerable.Repeat((byte)0xFF, Bytes).ToArray());
        Assert.Equal(Bytes * 8L, client.Command("BITPOS ones 0").Integer);
        Assert.Equal(-1, client.Command("BITPOS ones 0 0 -1").Integer);
    }

    [Theory]
    [InlineData("AND")]
    [InlineData("OR")]
    [InlineData("XOR")]
    public void Long_bitmaps_are_combined_also_into_one_of_them(string operation)
    {
        Random random = Seed.NewRandom(42);
        byte[] a = new byte[Bytes], b = new byte[Bytes - 1000], c = new byte[100];
        random.NextBytes(a);
        random.NextBytes(b);
        random.NextBytes(c);
        using var server = KvInstance.Start();
        using var client = server.Connect();
        foreach ((string key, byte[] value) in (ReadOnlySpan<(string, byte[])>)[("a", a), ("b", b), ("c", c)])
            client.Command("SET"u8.ToArray(), System.Text.Encoding.ASCII.GetBytes(key), value);

        var expected = new byte[Bytes];
        for (int i = 0; i < Bytes; i++)
            expected[i] = Of(operation, Of(operation, a[i], i < b.Length ? b[i] : (byte)0),
                i < c.Length ? c[i] : (byte)0);
        Assert.Equal(Bytes, client.Command($"BITOP {operation} d a b c").Integer);
        Assert.True(expected.AsSpan().SequenceEqual(client.Command("GET d").Text), operation);
        Assert.Equal(Bytes, client.Command($"BITOP {operation} b a b c").Integer);
        Assert.True(expected.AsSpan().SequenceEqual(client.Command("GET b").Text), operation);
        Assert.Equal(Bytes, client.Command($"BITOP {operation} b b b").Integer);
    }

    [Fact]
    public void A_long_combination_is_of_sources_that_existed_at_one_instant()
    {
        // Two halves that are always opposites: whatever the moment, their XOR is ones. A mix of two moments would not
        // be.
        byte[] zeros = new byte[Bytes], ones = [.. Enumerable.Repeat((byte)0xFF, Bytes)];
        using var server = KvInstance.Start("--worker-threads", "2");
        using RespClient writer = server.Connect(), reader = server.Connect();
        writer.Command("MSET"u8.ToArray(), "a"u8.ToArray(), zeros, "b"u8.ToArray(), ones);
        for (int round = 0; round < TimeBudget.Count(6); round++)
        {
            reader.Send("BITOP XOR d a b");
            bool swapped = round % 2 == 0;
            writer.Command("MSET"u8.ToArray(), "a"u8.ToArray(), swapped ? ones : zeros, "b"u8.ToArray(),
                swapped ? zeros : ones);
            Assert.Equal(Bytes, reader.Read().Integer);
            Assert.Equal(Bytes * 8L, reader.Command("BITCOUNT d").Integer);
        }
    }

    private static byte Of(string operation, byte left, byte right) =>
        (byte)(operation switch { "AND" => left & right, "OR" => left | right, _ => left ^ right });

    private static long LastOne(byte[] value)
    {
        int at = Array.FindLastIndex(value, b => b != 0);
        return (at * 8L) + 7 - BitOperations.TrailingZeroCount(value[at]);
    }
}
