using System.Globalization;
using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>Values over 64 KB: blocks of their own, adopted, shared and leased.</summary>
public sealed unsafe class BlockTests
{
    private static byte[] Random(int length, int seed)
    {
        byte[] bytes = new byte[length];
        new System.Random(seed).NextBytes(bytes);
        return bytes;
    }

    private static byte[]? Read(TestStore test, string key)
    {
        var take = default(TakeBytes);
        return test.Session.Read(test.Session.Key(TestStore.Bytes(key)), DataType.String, ref take) == StoreStatus.Ok
            ? take.Bytes : null;
    }

    internal static StoreStatus AppendTo(TestStore test, string key, byte[] tail)
    {
        var append = new Append(tail);
        return test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.String, ref append);
    }

    // Every length around the border, reached by SET from any other, and by APPEND from just below.
    [Fact]
    public void Values_around_64_KB_are_kept_whichever_way_they_came()
    {
        using var test = new TestStore();
        int[] lengths = [0, 1, 65_523, 65_524, 65_531, 65_532, 65_533, 65_536, 65_537, 65_544, 131_072,
            1_048_575, 1_048_577];
        foreach (int from in lengths)
        {
            foreach (int to in lengths)
            {
                Assert.Equal(StoreStatus.Ok, test.TrySet("key", Random(from, from)));
                Assert.Equal(StoreStatus.Ok, test.TrySet("key", Random(to, to + 1)));
                Assert.Equal(Random(to, to + 1), Read(test, "key"));
                test.Begin();
            }

            byte[] expected = Random(from, from);
            test.TrySet("grown", expected);
            foreach (int more in new[] { 1, 7, 70_000, 0, 3 })
            {
                byte[] tail = Random(more, more);
                Assert.Equal(StoreStatus.Ok, AppendTo(test, "grown", tail));
                expected = [.. expected, .. tail];
                Assert.Equal(expected, Read(test, "grown"));
            }
        }

        test.Settle();
        test.Check();
        Assert.True(test.Delete("key"));
        Assert.True(test.Delete("grown"));
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    [Fact]
    public void A_block_that_arrived_is_adopted_without_a_copy_and_a_lease_outlives_the_key()
    {
        using var test = new TestStore();
        byte[] content = Random(300_000, 1);
        Block arrived = test.Session.AllocateBlock(content.Length);
        Assert.Equal(Block.HeaderBytes, test.Store.Stats.BlockBytes);      // paid for as it arrives
        content.CopyTo(new Span<byte>(arrived.Content, content.Length));
        test.Session.ChargeBlock(arrived, content.Length);
        Key key = test.Session.Key("key"u8);
        Assert.Equal(StoreStatus.Ok, test.Session.Set(key, default, arrived, NewValue.NoExpiry));
        test.Session.Release(arrived);

        var lease = default(TakeLease);
        Assert.Equal(StoreStatus.Ok, test.Session.Read(key, DataType.String, ref lease));
        Assert.Equal((nint)arrived.Start, (nint)lease.Block.Start);
        Assert.True(test.Session.Delete(key));
        test.Settle();
        Assert.InRange(test.Store.Stats.BlockBytes, content.Length, content.Length + 8192);
        Assert.True(lease.Block.Span.SequenceEqual(content));
        test.Session.Release(lease.Block);
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    // All of it was charged for a moment, for which others had keys evicted, or were refused.
    [Fact]
    public void A_block_that_is_to_arrive_is_never_charged_whole()
    {
        using var test = new TestStore();
        long most = 0;
        bool isOver = false;
        var looks = new Thread(() =>
        {
            while (!Volatile.Read(ref isOver)) most = Math.Max(most, test.Store.Stats.BlockBytes);
        });
        looks.Start();
        for (int i = 0; i < 20_000; i++) test.Session.Release(test.Session.AllocateBlock(1 << 20));
        Volatile.Write(ref isOver, true);
        looks.Join();
        Assert.InRange(most, 0, 2 * Block.HeaderBytes);
    }

    [Fact]
    public void An_append_to_a_leased_or_copied_value_leaves_the_others_alone()
    {
        using var test = new TestStore();
        byte[] content = Random(100_000, 2), tail = Random(10, 3);
        test.TrySet("from", content);
        test.Session.Keys.Clear();
        byte* names = stackalloc byte[] { (byte)'f', (byte)'r', (byte)'o', (byte)'m', (byte)'t', (byte)'o' };
        test.Session.Keys.Add(names, 4, 0);
        test.Session.Keys.Add(names + 4, 2, 0);
        using (HeldKeys held = test.Session.Hold(test.Session.Keys))
            Assert.Equal(StoreStatus.Ok, held.Copy(0, 1, NewValue.NoExpiry));
        Assert.InRange(test.Store.Stats.BlockBytes, 100_000, 150_000);      // shared

        var lease = default(TakeLease);
        test.Session.Read(test.Session.Key("to"u8), DataType.String, ref lease);
        Assert.Equal(StoreStatus.Ok, AppendTo(test, "to", tail));
        Assert.Equal(content, Read(test, "from"));
        Assert.Equal([.. content, .. tail], Read(test, "to")!);
        Assert.True(lease.Block.Span.SequenceEqual(content));
        test.Session.Release(lease.Block);

        // Now nobody shares it: the next append goes where it is.
        test.Settle();
        test.Session.Read(test.Session.Key("to"u8), DataType.String, ref lease);
        nint before = (nint)lease.Block.Start;
        test.Session.Release(lease.Block);
        Assert.Equal(StoreStatus.Ok, AppendTo(test, "to", tail));
        test.Session.Read(test.Session.Key("to"u8), DataType.String, ref lease);
        Assert.Equal(before, (nint)lease.Block.Start);
        test.Session.Release(lease.Block);
        Assert.Equal([.. content, .. tail, .. tail], Read(test, "to")!);
        test.Settle();
        test.Check();
    }

    [Theory]
    [InlineData(1022)]
    [InlineData(1023)]
    [InlineData(1024)]
    [InlineData(200_000)]
    public void Long_keys_live_move_and_die_as_others_do(int length)
    {
        using var test = new TestStore();
        for (int round = 0; round < 3; round++)
        {
            for (int i = 0; i < 20; i++)
            {
                string key = new string('k', length - 2) + i.ToString("00", CultureInfo.InvariantCulture);
                test.Set(key, new string('v', 10 + round * 20));
                Assert.Null(test.Get(key[..^1] + "x"));
            }
        }

        Assert.Equal(20, test.Store.Count(0));
        test.Check();
        for (int i = 0; i < 20; i++)
        {
            string key = new string('k', length - 2) + i.ToString("00", CultureInfo.InvariantCulture);
            Assert.Equal(50, test.Get(key)!.Length);
            var expire = new ExpireAt(test.Clock.Ms + 100);
            Assert.Equal(StoreStatus.Ok,
                test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.Any, ref expire));
        }

        test.Check();
        test.Clock.Advance(5000);
        test.Settle();
        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    private struct TakeLease : IValueRead
    {
        public Block Block;

        public void Read(in ValueView value)
        {
            Block = value.Block;
            Block.AddReference();
        }
    }

    internal static long ResidentBytes() =>
        long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1], CultureInfo.InvariantCulture)
        * Environment.SystemPageSize;
}
