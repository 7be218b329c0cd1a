using System.Globalization;
using Kv.Server.Metrics;
using Kv.Tests.Harness;

namespace Kv.Tests.Metrics;

public class MeasuringTimeTests
{
    private static readonly TimeSpan Quarter = TimeSpan.FromMilliseconds(250);

    [Fact]
    public void Timers_are_called_in_their_order_by_one_thread_that_is_none_of_the_pool()
    {
        var called = new List<string>();
        var threads = new HashSet<(string? Name, bool IsOfPool)>();
        var time = new MeasuringTime();
        using var rare = time.CreateTimer(_ => Note("rare"), null, 2 * Quarter, 2 * Quarter);
        using var often = time.CreateTimer(_ => Note("often"), null, Quarter, Quarter);
        Eventually.Holds(() =>
        {
            lock (called) return called.Count(name => name == "rare") == 3;
        }, () => "the timers are called");
        time.Dispose();

        int second = called.IndexOf("rare", called.IndexOf("rare") + 1);
        Assert.Equal(["rare", "often", "often", "rare"], called[second..(second + 4)]);
        Assert.Equal(("kv-measure", false), Assert.Single(threads));

        void Note(string name)
        {
            lock (called)
            {
                called.Add(name);
                threads.Add((Thread.CurrentThread.Name, Thread.CurrentThread.IsThreadPoolThread));
            }
        }
    }

    [Fact]
    public void A_timer_that_has_ended_is_not_called_and_none_is_after_the_end()
    {
        int ended = 0, others = 0;
        var time = new MeasuringTime();
        time.CreateTimer(_ => Interlocked.Increment(ref ended), null, Quarter, Quarter).Dispose();
        using var other = time.CreateTimer(_ => Interlocked.Increment(ref others), null, Quarter, Quarter);
        Eventually.Holds(() => Volatile.Read(ref others) >= 2, () => "the other timer is called");
        Assert.Equal(0, ended);

        time.Dispose();
        int atTheEnd = others;
        using var late = time.CreateTimer(_ => Interlocked.Increment(ref others), null, Quarter, Quarter);
        Assert.Equal(atTheEnd, others);
    }

    // What a server at rest does four times a second for ever wakes nobody but the thread that does it.
    [Fact]
    public void A_server_at_rest_measures_on_a_thread_of_its_own()
    {
        using var kv = KvProcess.Start();
        Assert.Contains("kv-measure", kv.ThreadNames);
    }

    [Fact]
    public void What_is_resident_is_what_the_system_says()
    {
        using var kv = KvProcess.Start();
        using var client = kv.Connect();
        long resident = long.Parse(client.Info("used_memory_rss"), CultureInfo.InvariantCulture);
        const long others = 16 << 20;       // what comes and goes between two looks
        Assert.InRange(resident, kv.ResidentBytes - others, kv.ResidentBytes + others);
    }
}
