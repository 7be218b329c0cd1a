using System.Globalization;
using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Facts;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>MULTI and EXEC over sockets: at one instant for everybody else, and in order for the one who sent
/// them.</summary>
public sealed class TransactionTests
{
    private const int Accounts = 8, Each = 1000;

    private static string Account(int number) => $"account:{number}";

    // Some clients move amounts between keys, some rename the keys, some make the records move; those who look, each in
    // another way, always find the same sum.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Amounts_that_are_moved_in_transactions_always_sum_to_the_same(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using (var client = server.Connect())
            for (int i = 0; i < Accounts; i++) client.Ok($"SET {Account(i)} {Each}");
        using var run = new ClientRun(server, TimeBudget.OfSeconds(3));
        for (int i = 0; i < 2; i++) run.Add(Transfer);
        run.Add(Exchange);
        run.Add(Move);
        run.Add((client, _) => Check(client.Ok(AllAccounts("MGET"))));
        run.Add((client, _) => CheckTransaction(client));
        run.Add((client, _) => CheckAlone(client));
        run.Finish();
        using var last = server.Connect();
        Check(last.Ok(AllAccounts("MGET")));
        server.Server.Store.CheckIntegrity();
    }

    // On a server of its own: the limit is everybody's.
    [Fact]
    public void Out_of_memory_is_said_when_a_command_is_queued_and_again_by_EXEC()
    {
        using var server = KvInstance.Start();
        Transcript.Check(server, """
        > SET some thing
        < +OK
        > CONFIG SET maxmemory 1
        < +OK
        > MULTI
        < +OK
        > SET a 1
        < -OOM command not allowed when used memory > 'maxmemory'.
        > GET a
        < +QUEUED
        > EXEC
        < -EXECABORT Transaction discarded because of previous errors.
        > MULTI
        < +OK
        > DISCARD
        < +OK
        > MULTI
        < +OK
        > EXEC
        < []
        > CONFIG SET maxmemory 0
        < +OK
        > MULTI
        < +OK
        > SET a 1
        < +QUEUED
        b> CONFIG SET maxmemory 1
        b< +OK
        > EXEC
        < -EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.
        b> CONFIG SET maxmemory 0
        b< +OK
        > EXEC
        < -ERR EXEC without MULTI
        > GET a
        < nil
        > MULTI
        < +OK
        > GET a
        < +QUEUED
        b> CONFIG SET maxmemory 1
        b< +OK
        > EXEC
        < [nil]
        b> CONFIG SET maxmemory 0
        b< +OK
        """);
    }

    // Clients add 1 by WATCH, GET, SET; others by INCR. The record moves, gets an expiry, and is made anew. No addition
    // is lost.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_EXEC_writes_behind_WATCH_never_replaces_what_was_not_seen(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var run = new ClientRun(server, TimeBudget.OfSeconds(3));
        long added = 0, set = 0;
        for (int i = 0; i < 2; i++)
        {
            run.Add((client, random) =>
            {
                client.Ok("WATCH n");
                var seen = client.Ok("GET n");
                long next = 1 + (seen.IsNull ? 0 : long.Parse(seen.String, CultureInfo.InvariantCulture));
                client.Ok("MULTI");
                client.Ok(random.Next(2) == 0 ? $"SET n {next}" : $"SET n {next} EX 100000");
                if (random.Next(16) == 0) client.Ok("DBSIZE");
                if (client.Ok("EXEC").IsNull) return;
                Interlocked.Increment(ref added);
                Interlocked.Increment(ref set);
            });
        }

        run.Add((client, random) =>
        {
            if (random.Next(2) == 0)
            {
                client.Ok("INCR n");
            }
            else
            {
                client.Ok("MULTI");
                client.Ok("INCR n");
                client.Ok("EXEC");
            }

            Interlocked.Increment(ref added);
        });
        // The key is away for a moment, and back: its value is the same, and a watcher fails all the same.
        run.Add((client, _) =>
        {
            client.Command("RENAME n aside");
            client.Ok("EXISTS n");
            client.Command("RENAMENX aside n");
            var left = client.Ok("GETDEL aside");
            // Somebody began from nothing meanwhile: that is put together again.
            if (!left.IsNull) client.Ok($"INCRBY n {left.String}");
        });
        run.Add((client, random) => client.Ok(random.Next(2) == 0 ? "PERSIST n" : "EXPIRE n 100000"));
        run.Finish(() => Volatile.Read(ref set) > 0);
        using var last = server.Connect();
        Assert.Equal(added, long.Parse(last.Ok("GET n").String, CultureInfo.InvariantCulture));
        server.Server.Store.CheckIntegrity();
        Assert.Equal(0, server.Server.Store.Watches.Count);
    }

    // An absent key is a lock that is free. Some take it by WATCH and EXEC, some by SETNX, MSETNX, RENAMENX: one at a
    // time has it.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Who_sets_an_absent_key_behind_WATCH_is_the_only_one(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using (var alone = server.Connect())
        {
            // Each way does get it where nobody is in its way.
            for (int way = 0; way < 4; way++)
            {
                Assert.True(TryTake(alone, way, new Random(way)), $"way {way}");
                alone.Ok("DEL lock");
            }
        }

        using var run = new ClientRun(server, TimeBudget.OfSeconds(3));
        int owners = 0;
        long[] taken = new long[4];
        for (int i = 0; i < 5; i++)
        {
            int way = i % 4;
            run.Add((client, random) =>
            {
                if (!TryTake(client, way, random)) return;
                taken[way]++;
                int now = Interlocked.Increment(ref owners);
                Interlocked.Decrement(ref owners);
                Assert.Equal(1, now);
                Assert.Equal(1, client.Ok("DEL lock").Integer);
            });
        }

        run.Finish(() => taken.Sum() > 0);
    }

    private static bool TryTake(RespClient client, int way, Random random)
    {
        switch (way)
        {
            case 0:
                client.Ok("WATCH lock");
                bool free = client.Ok("GET lock").IsNull;
                client.Ok("MULTI");
                if (random.Next(4) == 0) client.Ok("SET other 1");
                client.Ok("SET lock mine");
                if (free) return !client.Ok("EXEC").IsNull;
                client.Ok("DISCARD");
                return false;
            case 1:
                return client.Ok("SETNX lock mine").Integer == 1;
            case 2:
                return client.Ok("MSETNX lock mine another mine2").Integer == 1
                    && client.Ok("DEL another").Integer == 1;
            default:
                client.Ok("SET token mine");
                return client.Command("RENAMENX token lock") is { IsError: false, Integer: 1 };
        }
    }

    private static void Transfer(RespClient client, Random random)
    {
        int from = random.Next(Accounts), to = random.Next(Accounts), amount = random.Next(1, 100);
        client.Ok("MULTI");
        client.Ok($"DECRBY {Account(from)} {amount}");
        client.Ok($"INCRBY {Account(to)} {amount}");
        Assert.Equal(2, client.Ok("EXEC").Items!.Count);
    }

    private static void Exchange(RespClient client, Random random)
    {
        int first = random.Next(Accounts), second = (first + random.Next(1, Accounts)) % Accounts;
        client.Ok("MULTI");
        client.Ok($"RENAME {Account(first)} aside");
        client.Ok($"RENAME {Account(second)} {Account(first)}");
        client.Ok($"RENAME aside {Account(second)}");
        if (random.Next(8) == 0) client.Ok("DBSIZE");       // everybody else stands still
        Assert.All(client.Ok("EXEC").Items!, reply => Assert.False(reply.IsError, reply.ToString()));
    }

    // A first expiry copies the record, a longer text moves it, and SET shortens it: in the end the number is the same.
    private static void Move(RespClient client, Random random)
    {
        string account = Account(random.Next(Accounts));
        client.Ok("MULTI");
        client.Ok($"RENAME {account} long");
        client.Ok("COPY long aside");
        client.Ok("APPEND long .5555555555555555555555555555555555555555555");
        client.Ok("EXPIRE long 100000");
        client.Ok("SETRANGE long 100 x");
        client.Ok("UNLINK long");
        client.Ok($"RENAMENX aside {account}");
        client.Ok($"PERSIST {account}");
        Assert.All(client.Ok("EXEC").Items!, reply => Assert.False(reply.IsError, reply.ToString()));
    }

    private static string AllAccounts(string command) =>
        $"{command} {string.Join(' ', Enumerable.Range(0, Accounts).Select(Account))}";

    private static void CheckTransaction(RespClient client)
    {
        client.Ok("MULTI");
        for (int i = 0; i < Accounts; i++) client.Ok($"GET {Account(i)}");
        Check(client.Ok("EXEC"));
    }

    private static void CheckAlone(RespClient client)
    {
        client.Ok("MULTI");
        for (int i = Accounts - 1; i >= 0; i--) client.Ok($"GET {Account(i)}");
        client.Ok("DBSIZE");
        client.Ok("KEYS account:*");
        var replies = client.Ok("EXEC").Items!;
        Check(Reply.Of('*', [.. replies.Take(Accounts)]));
        Assert.Equal(Accounts, replies[Accounts].Integer);
        Assert.Equal(Accounts, replies[Accounts + 1].Items!.Count);
    }

    private static void Check(Reply amounts)
    {
        long sum = 0;
        foreach (var amount in amounts.Items!)
        {
            Assert.False(amount.IsNull, amounts.ToString());
            sum += long.Parse(amount.String.Split('.')[0], CultureInfo.InvariantCulture);
        }

        Assert.True(sum == Accounts * Each, $"{sum}: {amounts}");
    }
}
