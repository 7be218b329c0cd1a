using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands over several keys happen at one instant for everybody else, over sockets and on several
/// workers.</summary>
public class AtomicityTests
{
    private const int Rounds = 3_000;

    // Values of changing length, so that records are now written in place, now copied.
    [Fact]
    public void MGET_never_sees_half_an_MSET()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        Race(
            server,
            writers: 2,
            (client, writer, round) =>
            {
                string value = new((char)('a' + writer), 1 + ((round * 7) % 40));
                client.Ok($"MSET a {value}{round} b {value}{round} c {value}{round}");
            },
            client =>
            {
                var values = client.Ok("MGET a b c").Items!;
                Assert.True(
                    values.All(value => value.IsNull)
                    || values.All(value => !value.IsNull && value.String == values[0].String),
                    string.Join(" / ", values.Select(value => value.IsNull ? "nil" : value.String)));
            });
    }

    [Fact]
    public void MSETNX_sets_all_or_nothing_and_only_one_of_two_wins()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        int won = 0, deleted = 0;
        Race(
            server,
            writers: 2,
            (client, writer, round) =>
            {
                if (client.Ok($"MSETNX x {writer} y {writer} z {writer}").Integer == 1) Interlocked.Increment(ref won);
                if (client.Ok("DEL z x y").Integer is var gone && gone != 0)
                {
                    Assert.Equal(3, gone);
                    Interlocked.Increment(ref deleted);
                }
            },
            client =>
            {
                var values = client.Ok("MGET z y x").Items!;
                Assert.True(values.All(value => value.IsNull)
                    || values.All(value => !value.IsNull && value.String == values[0].String));
            });
        Assert.Equal(won, deleted);
        Assert.True(won >= Rounds, "each round begins without the keys for one of the two at least");
    }

    [Fact]
    public void A_renamed_value_is_at_exactly_one_of_two_keys()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using (var client = server.Connect()) client.Ok("SET a token EX 100000");
        Race(
            server,
            writers: 1,
            (client, _, round) => client.Ok(round % 2 == 0 ? "RENAME a b" : "RENAME b a"),
            client =>
            {
                Assert.Equal(1, client.Ok("EXISTS a b").Integer);
                var values = client.Ok("MGET b a").Items!;
                Assert.Equal("token", string.Concat(values.Select(value => value.IsNull ? "" : value.String)));
            });
    }

    // Setting a first expiry copies the record, SET takes it away: the count must survive both.
    [Fact]
    public void INCR_of_many_clients_is_exact_while_the_record_moves()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using (var client = server.Connect()) client.Ok("SET n 0");     // APPEND would make it no number
        Race(
            server,
            writers: 3,
            (client, _, _) => client.Ok("INCR n"),
            client =>
            {
                client.Ok("EXPIRE n 100000");
                client.Ok("APPEND n \"\"");
                client.Ok("PERSIST n");
            });
        using var last = server.Connect();
        Assert.Equal((3 * Rounds).ToString(System.Globalization.CultureInfo.InvariantCulture), last.Ok("GET n").String);
    }

    [Fact]
    public void MOVE_and_COPY_between_databases_hold_both_keys()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        int moved = 0;
        Race(
            server,
            writers: 2,
            (client, writer, round) =>
            {
                // Both put the key there and move it: it leaves as often as it arrives.
                client.Ok("SELECT 0");
                client.Ok($"SET k {writer}:{round}");
                if (client.Ok("MOVE k 1").Integer == 0) return;
                Interlocked.Increment(ref moved);
                client.Ok("SELECT 1");
                Assert.Equal(1, client.Ok("DEL k").Integer);
            },
            client => client.Ok("COPY k copy DB 2 REPLACE"));
        Assert.True(moved > 0);
    }

    /// <summary>Writers for so many rounds each, and one reader that looks until they are done.</summary>
    private static void Race(KvInstance server, int writers, Action<RespClient, int, int> write,
        Action<RespClient> look)
    {
        int left = writers;
        using var reader = server.Connect();
        look(reader);       // once at least, however soon the writers are done
        var tasks = Enumerable.Range(0, writers).Select(writer => Task.Factory.StartNew(
            () =>
            {
                try
                {
                    using var client = server.Connect();
                    for (int round = 0; round < Rounds; round++) write(client, writer, round);
                }
                finally
                {
                    Interlocked.Decrement(ref left);
                }
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default)).ToArray();

        // Ends: each writer counts itself out, also when it fails.
        while (Volatile.Read(ref left) > 0) look(reader);
        Task.WaitAll(tasks);
    }
}
