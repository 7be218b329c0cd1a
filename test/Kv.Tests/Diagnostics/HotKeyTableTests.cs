using System.Buffers.Binary;
using System.Globalization;
using System.Text;
using Kv.Server.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>Which keys a table of samples remembers, and as how much used.</summary>
public sealed class HotKeyTableTests
{
    private const long Start = 1_700_000_000_000, Second = 1000;

    [Fact]
    public void While_there_are_few_uses_each_is_counted()
    {
        var table = new HotKeyTable(Start, seed: 1);
        for (int i = 0; i < 300; i++)
        {
            Assert.Equal(1, table.NextGap(Start));
            Add(table, i % 3 == 0 ? "a" : "b", isWrite: i % 6 == 0, nowMs: Start);
        }

        var keys = Read(table, Start + (10 * Second), out double total);
        Assert.Equal(30, total);
        Assert.Equal(["b 20 0", "a 5 5"],
            keys.Select(key => $"{Name(key)} {key.ReadsPerSecond} {key.WritesPerSecond}"));
    }

    [Fact]
    public void What_is_past_counts_half_after_each_half_minute_and_then_goes()
    {
        var table = new HotKeyTable(Start, seed: 1);
        long now = Start;
        // 8 a second of one key, for five minutes: what is said of it does not change.
        for (int i = 0; i < 300; i++, now += Second)
        {
            for (int use = 0; use < 8; use++) Add(table, "steady", isWrite: false, now);
            if (i > 0) Assert.InRange(Read(table, now + Second - 1, out _).Single().ReadsPerSecond, 7.9, 8.3);
        }

        double before = Read(table, now, out _).Single().ReadsPerSecond;
        Assert.InRange(Read(table, now + HotKeyTable.HalfLifeMs, out _).Single().ReadsPerSecond, 0, before * 0.8);
        Assert.Empty(Read(table, now + (20 * HotKeyTable.HalfLifeMs), out _));
        // And after any time it begins anew.
        now += 1_000_000 * Second;
        Add(table, "late", isWrite: true, now);
        Assert.Equal("late", Name(Read(table, now + Second, out _).Single()));
    }

    [Fact]
    public void Of_very_many_keys_those_are_found_that_are_used_often()
    {
        // 20 keys have 2 % of all uses each, a million keys share the rest: and a pipeline repeats itself.
        var table = new HotKeyTable(Start, seed: (uint)Seed.NewRandom(4141).Next(1, 1 << 30));
        var random = Seed.NewRandom(4142);
        const int uses = 3_000_000, second = 300_000;
        int next = 1;
        for (int i = 0; i < uses; i++)
        {
            if (--next > 0) continue;
            int place = i % 1000;
            long now = Start + ((long)i * Second / second);
            string key = place < 400 ? $"hot{place / 20}" : $"cold{random.Next(1_000_000)}";
            Add(table, key, isWrite: place % 2 == 0, now);
            next = table.NextGap(now);
        }

        var keys = Read(table, Start + (10 * Second), out double total);
        Assert.InRange(total, 0.9 * second, 1.1 * second);
        var first = keys.Take(20).ToList();
        Assert.All(first, key =>
        {
            Assert.StartsWith("hot", Name(key), StringComparison.Ordinal);
            Assert.InRange(key.UsesPerSecond, 0.012 * second, 0.028 * second);
            Assert.InRange(key.ReadsPerSecond / key.UsesPerSecond, 0.25, 0.75);
        });
        Assert.Equal(20, first.Select(Name).Distinct().Count());
        // What was sampled once or twice is no news.
        Assert.All(keys.Skip(20), key => Assert.True(key.UsesPerSecond < 0.008 * second, $"{Name(key)} {key}"));
    }

    [Fact]
    public void Where_many_keys_are_used_rather_often_the_first_ten_have_the_uses_that_they_have()
    {
        // Zipf's law of 0.8: the first of 100,000 keys has 2.2 % of all uses, the tenth 0.35 %.
        const int count = 100_000, second = 300_000, uses = 10 * second;
        double[] upTo = new double[count];
        for (int i = 0; i < count; i++) upTo[i] = Math.Pow(i + 1, -0.8) + (i > 0 ? upTo[i - 1] : 0);
        var table = new HotKeyTable(Start, seed: (uint)Seed.NewRandom(4143).Next(1, 1 << 30));
        var random = Seed.NewRandom(4144);
        int next = 1;
        for (int i = 0; i < uses; i++)
        {
            if (--next > 0) continue;
            long now = Start + ((long)i * Second / second);
            int key = Array.BinarySearch(upTo, random.NextDouble() * upTo[^1]);
            Add(table, $"{(key < 0 ? ~key : key)}", isWrite: false, now);
            next = table.NextGap(now);
        }

        var keys = Read(table, Start + (10 * Second), out _);
        Assert.All(keys.Take(10), key =>
        {
            int place = int.Parse(Name(key), CultureInfo.InvariantCulture);
            Assert.InRange(place, 0, 19);
            double real = second * Math.Pow(place + 1, -0.8) / upTo[^1];
            Assert.InRange(key.ReadsPerSecond, real * 0.5, real * 1.6);
        });
    }

    [Fact]
    public void Samples_become_rarer_the_more_uses_there_are_and_more_frequent_again()
    {
        var table = new HotKeyTable(Start, seed: 1);
        long samples = 0;
        int next = 1;
        // Ten million uses within a quarter of a second.
        for (int i = 0; i < 10_000_000; i++)
        {
            if (--next > 0) continue;
            Add(table, "k", isWrite: false, Start);
            next = table.NextGap(Start);
            samples++;
        }

        Assert.InRange(samples, 1000, 10_000);
        Assert.InRange(Read(table, Start + Second, out double total).Single().ReadsPerSecond, 7e6, 13e6);
        Assert.InRange(total, 7e6, 13e6);
        for (long now = Start; now < Start + (10 * Second); now += 250) table.NextGap(now);
        Assert.Equal(1, table.NextGap(Start + (10 * Second)));
    }

    [Fact]
    public void Databases_are_told_apart_and_of_a_long_name_the_beginning_is_kept()
    {
        var table = new HotKeyTable(Start, seed: 1);
        string name = new('n', 5000);
        for (int i = 0; i < 10; i++) Add(table, "same", isWrite: false, Start, database: i % 2);
        for (int i = 0; i < 9; i++) Add(table, name, isWrite: false, Start);
        var keys = Read(table, Start + Second, out _);
        Assert.Equal(3, keys.Count);
        Assert.Equal((5000, true, name[..HotKeyTable.NameBytesMax]), (keys[0].NameBytes, keys[0].IsCut, Name(keys[0])));
        Assert.Equal([0, 1], keys.Skip(1).Select(key => key.Database).Order());
        Assert.All(keys.Skip(1), key => Assert.Equal(5, key.ReadsPerSecond));
        table.Reset(Start + Second);
        Assert.Empty(Read(table, Start + (2 * Second), out double total));
        Assert.Equal(0, total);
    }

    [Fact]
    public void A_command_of_several_keys_counts_as_a_use_of_each()
    {
        var table = new HotKeyTable(Start, seed: 1);
        for (int i = 0; i < 100; i++) Add(table, $"k{i % 2}", isWrite: true, Start, keys: 2);
        Assert.All(Read(table, Start + Second, out double total), key => Assert.Equal(100, key.WritesPerSecond));
        Assert.Equal(200, total);
    }

    [Fact]
    public void Adding_allocates_nothing_and_readers_are_in_nobodys_way()
    {
        var keys = new HotKeys(TimeProvider.System);
        var table = keys.Create();
        using var threads = new TestThreads();
        long read = 0;
        threads.Start(() =>
        {
            while (!threads.IsStopping)
            {
                var found = keys.Read();
                Assert.All(found.Keys, key => Assert.StartsWith("key", Name(key), StringComparison.Ordinal));
                Interlocked.Increment(ref read);
            }
        });
        threads.Start(() =>
        {
            byte[][] names = [.. Enumerable.Range(0, 1000).Select(i => Encoding.ASCII.GetBytes($"key{i}"))];
            ulong[] hashes = [.. names.Select(HashOf)];
            long now = Start, allocated = 0;
            for (int round = 0; !threads.IsStopping; round++)
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int i = 0; i < names.Length; i++)
                    table.Add(hashes[i], 0, names[i], isWrite: false, keys: 1, now++);
                if (round > 0) allocated += GC.GetAllocatedBytesForCurrentThread() - before;
            }

            Assert.Equal(0, allocated);
        });
        threads.Finish(TimeBudget.OfSeconds(0.5), () => Interlocked.Read(ref read) > 10);
        keys.Remove(table);
        Assert.Empty(keys.Read().Keys);
    }

    private static void Add(HotKeyTable table, string key, bool isWrite, long nowMs, int database = 0, int keys = 1)
    {
        byte[] name = Encoding.ASCII.GetBytes(key);
        table.Add(HashOf(name), database, name, isWrite, keys, nowMs);
    }

    private static ulong HashOf(byte[] name) => BinaryPrimitives.ReadUInt64LittleEndian(
        System.Security.Cryptography.SHA256.HashData(name));

    private static List<HotKey> Read(HotKeyTable table, long nowMs, out double total)
    {
        var sum = new Dictionary<ulong, HotKey>();
        total = table.AddTo(sum, nowMs);
        return [.. sum.Values.OrderByDescending(key => key.UsesPerSecond)];
    }

    private static string Name(HotKey key) => Encoding.ASCII.GetString(key.Name);
}
