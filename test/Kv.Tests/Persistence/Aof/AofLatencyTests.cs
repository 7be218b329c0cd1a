using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>A disk that takes long is seen in LATENCY.</summary>
public sealed class AofLatencyTests
{
    [Theory]
    [InlineData(AppendFsync.Always, "aof-fsync-always")]
    [InlineData(AppendFsync.EverySec, "aof-fsync")]
    public void Writes_and_syncs_that_take_long_are_events(AppendFsync policy, string sync)
    {
        var disk = new MemoryDisk();
        using var bed = NewBed(disk, policy);
        var writer = bed.Open();
        disk.AtCall = () => Take(30);
        writer.Write(AofBed.Resp("SET k v"), 0, 1);
        writer.Flush();
        Eventually.Holds(() => writer.DurableTicket == 1, () => "it is not synced");
        disk.AtCall = null;
        Assert.Equal([sync, "aof-write"], Noted(bed));
        Assert.All(bed.Latency.All(), series => Assert.True(series.WorstMilliseconds >= 30));
    }

    [Fact]
    public void Whoever_is_held_up_until_the_disk_is_done_is_an_event()
    {
        var disk = new MemoryDisk();
        using var bed = NewBed(disk, AppendFsync.EverySec);
        bed.Options.AofBufferLimit = 1 << 20;
        var writer = bed.Open();
        disk.AtCall = () =>
        {
            if (Thread.CurrentThread.Name == "kv-aof") Take(30);
        };
        writer.Write(AofBed.Resp($"SET k {new string('v', 2 << 20)}"), 0, 1);
        writer.Flush();
        disk.AtCall = null;
        Assert.Contains("aof-write-pending-fsync", Noted(bed));
    }

    private static AofBed NewBed(MemoryDisk disk, AppendFsync policy)
    {
        var bed = new AofBed(disk, policy);
        bed.Options.LatencyMonitorThreshold = 20;
        bed.Latency.Follow(bed.Options);
        return bed;
    }

    private static string[] Noted(AofBed bed) => [.. bed.Latency.All().Select(series => series.Name).Order()];

    private static void Take(int milliseconds)
    {
        long end = Stopwatch.GetTimestamp() + (milliseconds * Stopwatch.Frequency / 1000);
        while (Stopwatch.GetTimestamp() < end) Thread.SpinWait(100);
    }
}
