using System.Globalization;
using Kv.Server.Configuration;
using Kv.Server.Persistence.Aof;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Persistence.Aof;

/// <summary>What was said to be on the disk is there after a power cut, and a disk that fails costs nothing but
/// time.</summary>
public sealed class AofWriterTests : IDisposable
{
    private readonly KvInstance _kv = KvInstance.Start();

    public void Dispose() => _kv.Dispose();

    [Theory]
    [InlineData(AppendFsync.Always)]
    [InlineData(AppendFsync.EverySec)]
    [InlineData(AppendFsync.No)]
    public void What_was_written_is_loaded_and_gone_on_with(AppendFsync policy)
    {
        var disk = new MemoryDisk();
        AofEnd? end = null;
        var expected = new Dictionary<string, string>();
        for (int run = 0; run < 3; run++)
        {
            using (var bed = new AofBed(disk, policy))
            {
                bed.Files.TryOpen();
                var writer = bed.Open(end);
                for (int i = 0; i < 20; i++)
                {
                    writer.Write(AofBed.Resp($"SET k{run}-{i} v{i}"), 0, i + 1);
                    if (i % 3 == 0) writer.Flush();
                    expected[$"k{run}-{i}"] = $"v{i}";
                }

                writer.Flush();
                Assert.Null(writer.Error);
            }

            Assert.Equal(expected.OrderBy(pair => pair.Key), AofBed.Load(_kv, disk, out end).OrderBy(pair => pair.Key));
            Assert.Equal(disk[end!.Value.File is var file ? $"{AofBed.Folder}/{file.Name}" : ""].Length,
                end.Value.Length);
        }

        Assert.Single(AofBed.NewFiles(disk) is var files && files.TryOpen() ? files.Manifest.Increments : []);
    }

    [Fact]
    public void After_a_gap_nothing_more_is_written_and_what_came_before_it_is_loaded()
    {
        var disk = new MemoryDisk();
        using (var bed = new AofBed(disk))
        {
            var writer = bed.Open();
            writer.Write(AofBed.Resp("SET a 1"), 0, 1);
            writer.Flush();
            writer.Write(AofBed.Resp("SET b 1"), 0, 2);
            int told = bed.Told;
            writer.Fail(new OutOfMemoryException("no memory"));
            Assert.Equal(told + 1, bed.Told);       // replies that wait to be written go
            writer.Write(AofBed.Resp("SET a 3"), 0, 3);
            writer.Flush();
            Assert.Contains("no memory", writer.Error, StringComparison.Ordinal);
            Assert.Equal(1, writer.DurableTicket);
            Assert.NotNull(writer.Sync());
        }

        Assert.Equal(["a"], AofBed.Load(_kv, disk, out _).Keys);
    }

    [Fact]
    public void A_gap_in_the_midst_of_a_sync_takes_nothing_from_it()
    {
        var disk = new MemoryDisk();
        using ManualResetEventSlim isSyncing = new(), mayGoOn = new();
        using var bed = new AofBed(disk, AppendFsync.EverySec);
        var writer = bed.Open();
        disk.AtCall = () =>
        {
            if (Thread.CurrentThread.Name != "kv-aof") return;
            isSyncing.Set();
            mayGoOn.Wait();
        };
        writer.Write(AofBed.Resp("SET a 1"), 0, 1);
        writer.Flush();
        isSyncing.Wait();
        var feed = new Thread(() => writer.Fail(new OutOfMemoryException("no memory")));
        feed.Start();
        Eventually.Holds(() => !feed.IsAlive || (feed.ThreadState & ThreadState.WaitSleepJoin) != 0,
            () => $"it is {feed.ThreadState}");
        mayGoOn.Set();
        feed.Join();
        Assert.Equal((1, 0), (writer.DurableTicket, writer.TailBytes));
        Assert.Contains("no memory", writer.Error, StringComparison.Ordinal);
    }

    [Fact]
    public void Always_syncs_before_it_says_so_and_a_group_at_once()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk) { Time = new TestClock() };       // a group ends with time, too
        var writer = bed.Open();
        int syncs = disk.Syncs;
        for (int i = 1; i <= 50; i++) writer.Write(AofBed.Resp($"SET k{i} v"), 0, i);
        Assert.Equal(0, writer.DurableTicket);
        writer.Flush();
        Assert.Equal((50, syncs + 1), (writer.DurableTicket, disk.Syncs));
        writer.Write([], 0, 51);       // it changed nothing
        writer.Flush();
        Assert.Equal((51, syncs + 1), (writer.DurableTicket, disk.Syncs));
        Assert.Equal(2, bed.Told);
    }

    [Fact]
    public void Everysec_syncs_by_itself_and_notes_it_in_the_file()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk, AppendFsync.EverySec);
        var writer = bed.Open();
        writer.Write(AofBed.Resp("SET k v"), 0, 1);
        writer.Flush();
        long bytes = writer.FileBytes;
        Eventually.Holds(() => writer.DurableTicket == 1, () => "it is not synced");
        Eventually.Holds(() => writer.FileBytes == bytes + AofGroup.LineBytes, () => "it is not noted");
        Assert.Equal(0, writer.TailBytes);
    }

    // The feed flushes when it has nothing more, which under steady load may be never.
    [Fact]
    public void What_comes_without_a_pause_is_written_all_the_same()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk);
        var writer = bed.Open();
        long ticket = 0;
        Eventually.Holds(() =>
        {
            writer.Write(AofBed.Resp("SET k v"), 0, ++ticket);
            return writer.DurableTicket > 0;
        }, () => $"nothing of {ticket} commands is on the disk");
        Assert.True(ticket * 30 < 1 << 20, "it was written for its size");
    }

    [Fact]
    public void More_than_may_wait_for_the_disk_holds_the_feed_up()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk, AppendFsync.EverySec);
        bed.Options.AofBufferLimit = 1 << 20;
        var writer = bed.Open();
        string value = new('v', 300_000);
        for (int i = 1; i <= 20; i++)
        {
            writer.Write(AofBed.Resp($"SET k{i} {value}"), 0, i);
            writer.Flush();
            Assert.True(writer.TailBytes <= 1 << 20);
        }

        Assert.True(writer.Delayed > 0);
    }

    // A power cut before each call that changes the disk, with any of what was not synced on it.
    [Theory]
    [InlineData(AppendFsync.Always)]
    [InlineData(AppendFsync.EverySec)]
    public void After_a_power_cut_there_is_a_prefix_with_all_that_was_said_to_be_there(AppendFsync policy)
    {
        var random = Seed.NewRandom();
        int rounds = TimeBudget.Count(3);
        for (int round = 0; round < rounds; round++)
        {
            var disk = new MemoryDisk();
            var crashed = new List<(MemoryDisk Disk, long Durable, long Written)>();
            using (var bed = new AofBed(disk, policy))
            {
                long written = 0;
                disk.AtCall = () => crashed.Add((disk.Crash(random), bed.Writer?.DurableTicket ?? 0, written));
                var writer = bed.Open();
                for (int i = 1; i <= 40; i++)
                {
                    written = i;
                    writer.Write(i % 5 == 0 ? AofBed.Resp("MULTI", $"SET n {i}", $"SET m {i}", "EXEC")
                        : AofBed.Resp($"SET n {i}"), 0, i);
                    if (random.Next(3) == 0) writer.Flush();
                    if (random.Next(10) == 0) writer.Sync();
                    if (random.Next(12) == 0) Assert.NotNull(writer.TrySwitch(out _));
                }

                disk.AtCall = null;
            }

            foreach (var (left, durable, written) in crashed) Check(left, durable, written);
        }
    }

    // Each call that changes the disk fails in turn: nothing is lost, nothing is said to be there that is not.
    [Theory]
    [InlineData(AppendFsync.Always)]
    [InlineData(AppendFsync.EverySec)]
    public void Whatever_fails_once_it_goes_on_with_nothing_missing(AppendFsync policy)
    {
        for (int nth = 1; ; nth++)
        {
            var disk = new MemoryDisk();
            using var bed = new AofBed(disk, policy) { SyncMs = 10 };
            var writer = bed.Open();
            disk.FailAt(nth);
            int before = disk.Calls;
            bool hasFailed = false;
            for (int i = 1; i <= 12; i++)
            {
                writer.Write(AofBed.Resp($"APPEND s {i},"), 0, i);
                writer.Flush();
                if (i % 4 == 0) writer.Sync();
                if (i == 6) writer.TrySwitch(out _);
                hasFailed |= writer.Error != null;
                Check(disk.Crash(Seed.NewRandom()), i, writer.DurableTicket);
            }

            Eventually.Holds(() => writer.Error == null, () => $"it does not go on after call {nth}: {writer.Error}");
            Eventually.Holds(() => writer.DurableTicket == 12, () => "not all is on the disk");
            string all = string.Concat(Enumerable.Range(1, 12).Select(i => $"{i},"));
            Assert.Equal(all, AofBed.Load(_kv, disk.Crash(Seed.NewRandom()), out _)["s"]);
            if (disk.Calls < before + nth) break;
        }

        void Check(MemoryDisk left, int written, long durable)
        {
            string found = AofBed.Load(_kv, left, out _).GetValueOrDefault("s", "");
            string all = string.Concat(Enumerable.Range(1, written).Select(i => $"{i},"));
            Assert.StartsWith(found, all, StringComparison.Ordinal);
            Assert.True(found.Count(c => c == ',') >= durable, $"{found} has not all up to {durable}");
        }
    }

    [Fact]
    public void A_full_disk_refuses_and_goes_on_by_itself_when_there_is_space()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk) { SyncMs = 10 };
        var writer = bed.Open();
        writer.Write(AofBed.Resp("SET a 1"), 0, 1);
        writer.Flush();
        disk.SetSpace(70);
        writer.Write(AofBed.Resp("SET b 2", "SET c 3"), 0, 2);
        writer.Flush();
        Assert.Equal("No space left on device", writer.Error);
        Assert.Equal(1, writer.DurableTicket);
        Assert.Equal(["a"], AofBed.Load(_kv, disk.Kill(), out _).Keys);
        int calls = disk.Calls;
        Eventually.Holds(() => disk.Calls > calls + 20, () => "it is tried again and again");
        disk.SetSpace(long.MaxValue);
        Eventually.Holds(() => writer.Error == null, () => writer.Error!);
        Eventually.Holds(() => writer.DurableTicket == 2, () => "not all is on the disk");
        writer.Write(AofBed.Resp("SET d 4"), 0, 3);
        writer.Flush();
        Assert.Equal(["a", "b", "c", "d"], AofBed.Load(_kv, disk.Kill(), out _).Keys.Order());
        Assert.Equal(bed.Files.Manifest.Files.Select(file => bed.Files.PathOf(file.Name)).Order(),
            disk.Paths.Where(path => path.EndsWith(".incr.aof", StringComparison.Ordinal)).Order());
    }

    // What the system had when the disk failed is there at every moment until it goes on, and once only.
    [Theory]
    [InlineData(AppendFsync.EverySec)]
    [InlineData(AppendFsync.No)]
    public void A_kill_while_it_goes_on_costs_nothing_that_was_written(AppendFsync policy)
    {
        var disk = new MemoryDisk();
        var killed = new List<MemoryDisk>();
        using (var bed = new AofBed(disk, policy) { SyncMs = 10 })
        {
            bed.Options.AppendFsync = AppendFsync.No;       // until there is a tail
            var writer = bed.Open();
            for (int i = 1; i <= 3; i++) Put(i);
            bed.Options.AppendFsync = policy;
            disk.AtCall = () => killed.Add(disk.Kill());
            disk.SetSpace(1000);
            for (int i = 4; writer.Error == null; i++) Put(i);
            killed.Clear();
            disk.SetSpace(long.MaxValue);
            Eventually.Holds(() => writer.Error == null, () => writer.Error!);
            disk.AtCall = null;

            void Put(int i)
            {
                writer.Write(AofBed.Resp($"APPEND s {i},"), 0, i);
                writer.Flush();
            }
        }

        Assert.True(killed.Count >= 5, $"{killed.Count} calls");
        string all = AofBed.Load(_kv, disk, out _)["s"], before = all[..(all.TrimEnd(',').LastIndexOf(',') + 1)];
        // The last one was refused by the system, and is there when the new file is.
        Assert.All(killed, left => Assert.Contains(AofBed.Load(_kv, left, out _)["s"], new[] { before, all }));
    }

    // What is kept for the case that it does not get to the disk, and what is left to the system, are one order.
    [Fact]
    public void A_full_disk_costs_nothing_that_was_written_since_the_policy_was_changed()
    {
        var disk = new MemoryDisk();
        using var bed = new AofBed(disk);
        var writer = bed.Open();
        long ticket = 0;
        Put("a", AppendFsync.EverySec);
        Put("b", AppendFsync.No);
        Put("c", AppendFsync.No);
        disk.SetSpace(70);
        Put("d", AppendFsync.No);
        Assert.NotNull(writer.Error);
        disk.SetSpace(long.MaxValue);
        Eventually.Holds(() => writer.Error == null, () => writer.Error!);
        Assert.Equal(["a", "b", "c", "d"], AofBed.Load(_kv, disk.Kill(), out _).Keys.Order());

        void Put(string key, AppendFsync policy)
        {
            bed.Options.AppendFsync = policy;
            writer.Write(AofBed.Resp($"SET {key} 1"), 0, ++ticket);
            writer.Flush();
        }
    }

    [Fact]
    public void Whatever_fails_once_while_the_policy_changes_it_goes_on_with_nothing_missing()
    {
        const int writes = 16;
        var random = Seed.NewRandom();
        int rounds = TimeBudget.Count(30);
        for (int round = 0; round < rounds; round++)
        {
            var disk = new MemoryDisk();
            using var bed = new AofBed(disk, (AppendFsync)random.Next(3)) { SyncMs = 10 };
            var writer = bed.Open();
            disk.FailAt(random.Next(1, 3 * writes));
            for (int i = 1; i <= writes; i++)
            {
                if (random.Next(3) == 0) bed.Options.AppendFsync = (AppendFsync)random.Next(3);
                writer.Write(AofBed.Resp($"APPEND s {i},"), 0, i);
                writer.Flush();
                if (random.Next(8) == 0) writer.TrySwitch(out _);
                Assert.StartsWith(Found(disk), List(i), StringComparison.Ordinal);
            }

            disk.FailAt(int.MaxValue);
            Eventually.Holds(() => writer.Error == null && Found(disk) == List(writes),
                () => $"it goes on with {Found(disk)}; {writer.Error}");
        }

        string Found(MemoryDisk disk) => AofBed.Load(_kv, disk.Kill(), out _).GetValueOrDefault("s", "");
        static string List(int last) => string.Concat(Enumerable.Range(1, last).Select(i => $"{i},"));
    }

    private void Check(MemoryDisk left, long durable, long written)
    {
        var found = AofBed.Load(_kv, left, out _);
        long n = long.Parse(found.GetValueOrDefault("n", "0"), CultureInfo.InvariantCulture);
        Assert.InRange(n, durable, written);
        Assert.Equal(n / 5 * 5, long.Parse(found.GetValueOrDefault("m", "0"), CultureInfo.InvariantCulture));
    }
}
