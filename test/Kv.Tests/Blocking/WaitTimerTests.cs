using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Storage;

namespace Kv.Tests.Blocking;

/// <summary>How long blocking commands wait, by a clock that only the test moves.</summary>
public sealed class WaitTimerTests
{
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_wait_ends_at_its_millisecond_and_not_before(string transport)
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--transport", transport);
        using var client = server.Connect();
        foreach ((string timeout, long ms) in new[] { ("1", 1000L), ("0.25", 250), ("0.0001", 1), ("1.0005", 1001),
            ("16.1", 16_100), ("1e-9", 1), ("3e4", 30_000_000), ("0x1p-1", 500) })
        {
            client.Send($"BLPOP a b {timeout}");
            Eventually.Holds(() => server.Server.Blocked.TimedCount == 1, () => "it does not wait");
            clock.Advance(ms - 1);
            Assert.Equal(1, server.Server.Blocked.TimedCount);
            Assert.False(client.HasInput);
            clock.Advance(1);
            Assert.Equal("*-1", client.Read().ToString());
            Assert.Equal(0, server.Server.Blocked.Count);
        }

        client.Send("BLPOP a 0");
        server.AwaitBlocked(1);
        Assert.Equal(0, server.Server.Blocked.TimedCount);
    }

    // Against a sorted list: who is due by when, and who was served or unblocked before.
    [Fact]
    public void Waits_of_many_lengths_end_in_their_order()
    {
        var random = Seed.NewRandom();
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--worker-threads", "2");
        using var other = server.Connect();
        for (int round = 0; round < 20; round++)
        {
            var waiting = new List<(RespClient Client, long Due, int Number)>();
            long begin = clock.Ms;
            for (int i = 0; i < 40; i++)
            {
                var client = server.Connect();
                long ms = random.Next(1, 50);
                client.Send($"BLPOP k{i} {ms / 1000.0:F3}");
                waiting.Add((client, begin + ms, i));
            }

            Eventually.Holds(() => server.Server.Blocked.TimedCount == 40, () => "they do not wait");
            while (waiting.Count > 0)
            {
                if (random.Next(3) == 0)
                {
                    var served = waiting[random.Next(waiting.Count)];
                    other.Ok($"RPUSH k{served.Number} x");
                    Assert.Equal($"[\"k{served.Number}\" \"x\"]", served.Client.Read().ToString());
                    served.Client.Dispose();
                    waiting.Remove(served);
                    continue;
                }

                clock.Advance(random.Next(1, 10));
                foreach (var due in waiting.Where(one => one.Due <= clock.Ms).ToArray())
                {
                    Assert.True(due.Client.Read().IsNull, Seed.Hint);
                    due.Client.Dispose();
                    waiting.Remove(due);
                }

                Assert.All(waiting, one => Assert.False(one.Client.HasInput, Seed.Hint));
            }

            Eventually.Holds(() => server.Server.Blocked.TimedCount == 0, () => "a timer is left");
        }
    }

    [Fact]
    public void The_system_s_clock_ends_waits_too()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        foreach (string command in new[] { "BLPOP k 0.01", "BLMOVE k j LEFT LEFT 0.001", "BZMPOP 0.02 1 k MIN" })
            Assert.Equal("*-1", client.Command(command).ToString());
    }
}
