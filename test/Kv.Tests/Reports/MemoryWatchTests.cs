using System.Globalization;
using System.Runtime.InteropServices;
using Kv.Server.Reports;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Reports;

/// <summary>What the log and INFO say of memory that is short.</summary>
public sealed class MemoryWatchTests
{
    private const long Mb = 1 << 20, Second = 1000;

    [Fact]
    public void It_is_said_when_memory_is_short_and_seldom_again()
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 4 * Mb });
        var log = new CapturedLog();
        using var watch = new MemoryWatch(test.Store, log, new NoTimers(), extents: null);
        long now = 0;
        watch.Look(now);
        Assert.Equal(MemoryState.Ok, watch.State);
        Fill(test);
        watch.Look(now += Second);
        Assert.Equal(MemoryState.Full, watch.State);
        string line = Assert.Single(log.Lines);
        Assert.Matches(
            "^Warning Memory is short, 4[.]..M of 4[.]00M: writes are refused, and nothing may be evicted[.] It is "
            + "held by log [34][.]..M, index [0-9.]*K, blocks 0B, clients 0B, feed 0B, tables 0B, managed 0B$", line);

        // After 10 seconds, 20, 40 and so on up to an hour.
        var seconds = new List<long>();
        for (int i = 0; i < 20_000; i++)
        {
            int lines = log.Lines.Count;
            watch.Look(now += Second);
            if (log.Lines.Count != lines) seconds.Add((now / Second) - 1);
        }

        Assert.Equal([10, 30, 70, 150, 310, 630, 1270, 2550, 5110, 8710, 12310, 15910, 19510], seconds);
    }

    [Fact]
    public void What_the_program_takes_is_the_most_of_late()
    {
        if (OwnProcess.Ran()) return;
        using var test = new TestStore();
        MemoryBudget budget = test.Store.Budget;
        using (var watch = new MemoryWatch(test.Store, new CapturedLog(), new NoTimers(), extents: null))
        {
            budget.ProgramBytes = 1;
            watch.Measure();
            Assert.Equal(1, budget.ProgramBytes);       // there may be other stores
        }

        using (var watch = new MemoryWatch(test.Store, new CapturedLog(), new NoTimers(), new Extents(64 * Mb)))
        {
            watch.Measure();
            Assert.InRange(budget.ProgramBytes, 8 * Mb, Environment.WorkingSet * 2);
            budget.ProgramBytes = 1024 * 1024 * Mb;
            for (int i = 0; i < 4; i++) watch.Measure();        // a second's
            Assert.Equal((1024 * 1024 * Mb) - Mb, budget.ProgramBytes);
        }
    }

    // Every eighth of very many pieces stays: none of what is free is at the heap's end.
    [Fact]
    public unsafe void Holes_of_the_heap_go_to_the_system_while_the_process_takes_more_than_it_may()
    {
        Requires.Linux("the heap of glibc");
        // What other tests have let go of would go, too.
        if (OwnProcess.Ran()) return;
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 16 * Mb });
        using var watch = new MemoryWatch(test.Store, new CapturedLog(), new NoTimers(), new Extents(64 * Mb));
        const int pieces = 16_000, bytes = 16_000;
        nint[] starts = new nint[pieces];
        for (int i = 0; i < pieces; i++)
        {
            starts[i] = (nint)NativeMemory.Alloc(bytes);
            new Span<byte>((byte*)starts[i], bytes).Fill(1);
        }

        for (int i = 0; i < pieces; i++)
            if (i % 8 != 0) NativeMemory.Free((void*)starts[i]);
        test.Store.MaxMemoryBytes = 0;
        watch.Measure();
        long before = Environment.WorkingSet;
        test.Store.MaxMemoryBytes = 16 * Mb;
        watch.Measure();
        Assert.InRange(before - Environment.WorkingSet, 100 * Mb, 256 * Mb);
        for (int i = 0; i < pieces; i += 8) NativeMemory.Free((void*)starts[i]);
    }

    [Fact]
    public void What_becomes_worse_is_said_after_ten_seconds_and_what_was_well_for_a_minute_at_once()
    {
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = 4 * Mb });
        var log = new CapturedLog();
        using var watch = new MemoryWatch(test.Store, log, new NoTimers(), extents: null);
        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.AllKeysLru;
        for (int i = 0; i < 10_000; i++) Put(test, "key" + i);
        watch.Look(0);
        Assert.Equal(MemoryState.Evicting, watch.State);
        Assert.StartsWith("Information Memory is short, ", Assert.Single(log.Lines), StringComparison.Ordinal);
        Assert.Contains(
            string.Create(CultureInfo.InvariantCulture, $": {test.Store.Stats.EvictedKeys} keys were evicted. It is "),
            Assert.Single(log.Lines), StringComparison.Ordinal);

        test.Store.MaxMemoryPolicy = MaxMemoryPolicy.NoEviction;
        Fill(test);
        watch.Look(10 * Second - 1);
        Assert.Equal(MemoryState.Full, watch.State);
        Assert.Single(log.Lines);
        watch.Look(10 * Second);
        Assert.Equal(2, log.Lines.Count);

        test.Store.MaxMemoryBytes = 0;
        watch.Look(70 * Second - 1);
        Assert.Equal(MemoryState.Ok, watch.State);
        test.Store.MaxMemoryBytes = 4 * Mb;
        Fill(test);
        watch.Look(70 * Second - 1);    // ten seconds have passed, and no minute
        Assert.Equal(3, log.Lines.Count);
        test.Store.MaxMemoryBytes = 0;
        watch.Look(130 * Second);
        test.Store.MaxMemoryBytes = 4 * Mb;
        Fill(test);
        watch.Look(130 * Second);
        Assert.Equal(4, log.Lines.Count);
    }

    // Segments, an index that doubles, blocks, large collections, clients, evicted keys.
    [Fact]
    public void The_parts_are_the_sum_and_with_what_is_free_the_process()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start(
            "--maxmemory", "128mb", "--maxmemory-policy", "allkeys-lfu", "--worker-threads", "1");
        using RespClient client = kv.Connect(timeoutMs: 120_000), other = kv.Connect(timeoutMs: 120_000);
        long program = Number(client, "kv_mem_program");
        // What the runtime maps before its first use.
        Assert.InRange(program, 0, 100 * Mb);
        other.Ok("SETRANGE keeps 10000000 x");
        foreach ((int count, int bytes) in ((int, int)[])[(200_000, 100), (20_000, 4_000), (500, 300_000)])
        {
            string value = new('v', bytes);
            int deep = Math.Clamp(1_000_000 / bytes, 1, 500);
            for (int i = 0; i < count; i += deep)
            {
                var batch = new MemoryStream();
                for (int key = i; key < i + deep; key++) batch.Write(RespText.Encode($"SET {bytes}:{key} {value}"));
                client.Send(batch.ToArray());
                for (int key = 0; key < deep; key++) Assert.Equal("+OK", client.Read().ToString());
            }

            string words = string.Join(' ', Enumerable.Range(0, 20_000).Select(i => $"f{i} {i * 1000003L}"));
            client.Ok($"HSET hash{bytes} {words}");
            other.Ok("MULTI");
            other.Command($"SET queued {new string('q', 3_000_000)}");
            Eventually.Holds(() => IsSum(client), () => client.Ok("INFO memory").String);
            // Two kinds of figures that are taken one after the other, and pages that were charged and never touched.
            Eventually.Holds(() => Math.Abs(Number(client, "kv_mem_program") - program) < 64 * Mb,
                () => $"{program >> 20} MB at the start\n{client.Ok("INFO memory").String}");
            other.Ok("DISCARD");
        }

        Assert.NotEqual("0", client.Info("kv_mem_tables"));
        Assert.NotEqual("0", client.Info("kv_mem_blocks"));
        Assert.NotEqual("0", client.Info("evicted_keys"));
        Eventually.Holds(() => kv.Log.Contains("Memory is short, ", StringComparison.Ordinal), () => kv.Log);
    }

    // Of one INFO, when nothing else happens.
    private static bool IsSum(RespClient client)
    {
        var fields = client.Ok("INFO memory").String.Split("\r\n").Select(line => line.Split(':'))
            .Where(parts => parts.Length == 2).ToDictionary(parts => parts[0], parts => parts[1]);
        long Of(string name) => long.Parse(fields[name], CultureInfo.InvariantCulture);
        long used = Of("kv_mem_log") + Of("kv_mem_index") + Of("kv_mem_blocks") + Of("kv_mem_clients")
            + Of("kv_mem_feed") + Of("kv_mem_tables") + Of("kv_mem_managed");
        return used == Of("used_memory") && used + Of("kv_mem_retired") + Of("kv_mem_warm") + Of("kv_mem_collector")
            + Of("kv_mem_program") == Of("used_memory_rss");
    }

    private static void Fill(TestStore test)
    {
        // Ends: the store is full.
        for (int i = 0; TryMakeRoom(test); i++) test.Set("fill" + i, new string('v', 1000));
    }

    private static void Put(TestStore test, string key)
    {
        Assert.True(TryMakeRoom(test));
        test.Set(key, new string('v', 1000));
    }

    private static bool TryMakeRoom(TestStore test)
    {
        // Ends: each round wins room, or decides that there is none.
        while (true)
        {
            if (test.Session.AskRoom() is not StoreRoom.Soon and var room) return room == StoreRoom.Free;
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin();
        }
    }

    private static long Number(RespClient client, string field) =>
        long.Parse(client.Info(field), CultureInfo.InvariantCulture);
}
