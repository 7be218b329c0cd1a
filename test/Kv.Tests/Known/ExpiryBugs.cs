using System.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about expiry, as clients meet them. Clocks that jump are tested at the
/// store.</summary>
public class ExpiryBugs(ITestOutputHelper output)
{
    [Fact]
    public void Known_E01_extreme_times_err_or_delete_and_never_wrap()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string command in (string[])["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"])
        {
            foreach (string time in (string[])["9223372036854775807", "9223372036854775806", "-9223372036854775808",
                "-9223372036854775807",
                         "9223372036854775", "9223372036854776", "-9223372036854776", "0", "-1"])
            {
                client.Ok("SET k v");
                var reply = client.Command($"{command} k {time}");
                long left = client.Ok("PTTL k").Integer;
                if (reply.IsError)
                    Assert.Equal($"-ERR invalid expire time in '{command.ToLowerInvariant()}' command",
                        reply.ToString());
                // Refused: as before. Taken: far ahead when the number is positive, gone when it is not.
                if (reply.IsError) Assert.Equal(-1, left);
                else if (time[0] == '-' || time == "0") Assert.Equal(-2, left);
                else Assert.InRange(left, 1L << 40, long.MaxValue);
            }
        }
    }

    [Fact]
    public void Known_E03_a_write_in_the_millisecond_of_expiry_is_before_or_after_never_a_mix()
    {
        using var borrowed = SharedServers.Kv();
        using var writer = borrowed.Server.Connect();
        using var other = borrowed.Server.Connect();
        var time = TimeBudget.OfSeconds(1);
        while (time.Continues)
        {
            other.Ok("SET k 5 PX 2");
            // Sent together with the end of the key's life: INCR finds 5 and keeps its time, or begins at 1 without
            // one.
            for (int i = 0; i < 40; i++)
            {
                long value = writer.Ok("INCR k").Integer;
                if (value > 5 + i) continue;
                Assert.InRange(value, 1, 1 + i);
                Assert.Equal(-1, writer.Ok("PTTL k").Integer);
                break;
            }
        }
    }

    [Fact]
    public void Known_E04_every_command_agrees_that_an_expired_key_is_gone()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        for (int i = 0; i < 200; i++) client.Ok($"SET k{i} v PX 1");
        client.Ok("SET stays v");
        // From the first moment that one of them is gone for GET, it is gone for all others, on any connection.
        Eventually.Holds(() => client.Command("GET k199").IsNull, () => "k199 lives");
        using var other = borrowed.Server.Connect();
        Assert.Equal(":0", other.Command("EXISTS k199").ToString());
        Assert.Equal("+none", other.Command("TYPE k199").ToString());
        Assert.Equal(":-2", other.Command("TTL k199").ToString());
        Assert.Equal("[\"stays\"]", other.Command("KEYS *").ToString());
        for (int i = 0; i < 20; i++) Assert.Equal("\"stays\"", other.Command("RANDOMKEY").ToString());
        Eventually.Holds(() => client.Ok("DBSIZE").Integer == 1, () => $"DBSIZE is {client.Ok("DBSIZE")}");
    }

    [Fact]
    public void Known_E05_many_keys_that_expire_at_once_do_not_hold_up_others()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        int count = TimeBudget.Count(100_000);
        long at = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + 1500;
        for (int done = 0; done < count; done += 1000)
        {
            client.Send(
                RespText.Bytes(string.Concat(Enumerable.Range(done, 1000).Select(i => $"SET k{i} v PXAT {at}\r\n"))));
            client.Skip(5 * 1000);
        }

        var slowest = TimeSpan.Zero;
        Eventually.Holds(() =>
        {
            long begin = Stopwatch.GetTimestamp();
            long left = client.Ok("DBSIZE").Integer;
            var took = Stopwatch.GetElapsedTime(begin);
            if (took > slowest) slowest = took;
            return left == 0;
        }, () => $"{client.Ok("DBSIZE")} keys are left");
        // The promise is 50 ms at p99.9, which benchmarks measure: here others may have the processors for longer.
        output.WriteLine($"the slowest of those who asked meanwhile took {slowest.TotalMilliseconds:F1} ms");
    }

    [Fact]
    public void Known_E06_what_keeps_and_what_clears_an_expiry() => Transcript.Check("""
        > SET k 1 EX 1000
        < +OK
        > INCR k
        < :2
        > APPEND k 0
        < :2
        > SETRANGE k 0 3
        < :2
        > GETEX k
        < "30"
        > SET k v KEEPTTL
        < +OK
        > TTL k
        < <int 990..1000>
        > SET other v EX 500
        < +OK
        > RENAME k other
        < +OK
        > TTL other
        < <int 990..1000>
        > GETSET other x
        < "v"
        > TTL other
        < :-1
        > EXPIRE other 1000
        < :1
        > SET other y
        < +OK
        > TTL other
        < :-1
        """);
}
