using System.Globalization;
using System.Text;
using Kv.Server.Dispatch;
using Kv.Storage;
using Kv.Tests.Facts;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>MULTI and EXEC over sockets: at one instant for everybody else, and in order for the one who sent them.</summary>
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

    private static string AllAccounts(string command) => $"{command} {string.Join(' ', Enumerable.Range(0, Accounts).Select(Account))}";

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
