using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>Amounts move in transactions between fields, scores and lists of several keys: those who look always find
/// the same sum.</summary>
public sealed class CollectionTransferTests
{
    private const int Keys = 2, Accounts = 6, Each = 100;
    private const int Sum = Keys * ((2 * Accounts * Each) + Each);

    private static readonly string[] s_all =
        [.. Enumerable.Range(0, Keys).SelectMany(i => (string[])[$"hash:{i}", $"scores:{i}", $"list:{i}"])];

    // The limits are such that collections become large and small again while amounts move: a list by its length, the
    // others made anew.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Amounts_that_are_moved_between_collections_always_sum_to_the_same(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2",
            "--hash-max-listpack-entries", "6", "--zset-max-listpack-entries", "6", "--list-max-listpack-size", "100");
        using (var client = server.Connect())
        {
            for (int i = 0; i < Keys; i++)
            {
                var accounts = Enumerable.Range(0, Accounts);
                client.Ok($"HSET hash:{i} {string.Join(' ', accounts.Select(field => $"f{field} {Each}"))}");
                client.Ok($"ZADD scores:{i} {string.Join(' ', accounts.Select(member => $"{Each} f{member}"))}");
                client.Ok($"RPUSH list:{i} {string.Join(' ', Enumerable.Repeat("coin", Each))}");
            }

            Check(client);
        }

        using var run = new ClientRun(server, TimeBudget.OfSeconds(1.5));
        for (int i = 0; i < 2; i++) run.Add(Transfer);
        run.Add(Spend);
        run.Add(Exchange);
        run.Add(Rebuild);
        for (int i = 0; i < 2; i++) run.Add((client, _) => Check(client));
        run.Finish();
        using var last = server.Connect();
        Check(last);
        server.Server.Store.CheckIntegrity();
    }

    // From any field, score or list to any other; a list pays and gets coins.
    private static void Transfer(RespClient client, Random random)
    {
        int amount = random.Next(1, 5);
        client.Ok("MULTI");
        Give(client, random, -amount);
        Give(client, random, amount);
        Run(client, 2);
    }

    private static void Give(RespClient client, Random random, int amount)
    {
        int key = random.Next(Keys), account = random.Next(Accounts);
        switch (random.Next(amount < 0 ? 2 : 3))
        {
            case 0:
                client.Ok($"HINCRBY hash:{key} f{account} {amount}");
                break;
            case 1:
                client.Ok($"ZINCRBY scores:{key} {amount} f{account}");
                break;
            default:
                client.Ok(
                    $"{(random.Next(2) == 0 ? "LPUSH" : "RPUSH")} list:{key} "
                    + $"{string.Join(' ', Enumerable.Repeat("coin", amount))}");
                break;
        }
    }

    // Coins are spent only if there are so many: that is what WATCH is for.
    private static void Spend(RespClient client, Random random)
    {
        string list = $"list:{random.Next(Keys)}";
        client.Ok($"WATCH {list}");
        long coins = client.Ok($"LLEN {list}").Integer, spent = Math.Min(coins, random.Next(1, 40));
        client.Ok("MULTI");
        if (spent > 0)
        {
            client.Ok($"{(random.Next(2) == 0 ? "LPOP" : "RPOP")} {list} {spent}");
            client.Ok($"HINCRBY hash:{random.Next(Keys)} f0 {spent}");
        }

        client.Ok("LMOVE list:0 list:1 LEFT RIGHT");
        client.Ok("EXEC");
    }

    // A list may have no coins left, and then no key: RENAME of it would fail, COPY copies nothing. So both get another
    // coin first, and give it back.
    private static void Exchange(RespClient client, Random random)
    {
        string kind = random.Next(3) switch { 0 => "hash", 1 => "scores", _ => "list" };
        client.Ok("MULTI");
        if (kind == "list") for (int i = 0; i < Keys; i++) client.Ok($"RPUSH list:{i} another");
        client.Ok($"RENAME {kind}:0 aside");
        client.Ok($"COPY {kind}:1 {kind}:0");
        client.Ok($"RENAME aside {kind}:1");
        if (kind == "list") for (int i = 0; i < Keys; i++) client.Ok($"RPOP list:{i}");
        if (random.Next(16) == 0) client.Ok("DBSIZE");      // everybody else stands still
        Assert.All(client.Ok("EXEC").Items!, reply => Assert.False(reply.IsError, reply.ToString()));
    }

    // Large ones become small by being made anew, of what they have.
    private static void Rebuild(RespClient client, Random random)
    {
        int key = random.Next(Keys);
        client.Ok($"WATCH hash:{key} scores:{key}");
        var fields = client.Ok($"HGETALL hash:{key}").Items!;
        client.Ok("MULTI");
        client.Ok($"HSET hash:{key} extra 0");      // the seventh: it is large now
        if (random.Next(2) == 0)
        {
            client.Ok($"DEL hash:{key}");
            client.Ok($"HSET hash:{key} {string.Join(' ', fields.Select(item => item.String))}");
        }

        client.Ok($"ZADD scores:{key} 0 extra");
        client.Ok($"ZUNIONSTORE scores:{key} 1 scores:{key}");
        client.Ok($"ZREM scores:{key} extra");
        client.Ok($"HDEL hash:{key} extra");
        client.Ok("EXEC");
    }

    private static void Run(RespClient client, int commands)
    {
        var replies = client.Ok("EXEC").Items!;
        Assert.Equal(commands, replies.Count);
        Assert.All(replies, reply => Assert.False(reply.IsError, reply.ToString()));
    }

    private static void Check(RespClient client)
    {
        client.Ok("MULTI");
        foreach (string key in s_all)
            client.Ok(key[0] switch { 'h' => $"HVALS {key}", 's' => $"ZRANGE {key} 0 -1 WITHSCORES",
                _ => $"LLEN {key}" });
        var replies = client.Ok("EXEC").Items!;
        long sum = 0;
        for (int i = 0; i < s_all.Length; i++)
        {
            sum += s_all[i][0] switch
            {
                'h' => replies[i].Items!.Sum(Number),
                's' => replies[i].Items!.Where((_, at) => at % 2 == 1).Sum(Number),
                _ => replies[i].Integer,
            };
        }

        Assert.True(sum == Sum, $"{sum}, not {Sum}: {Reply.Of('*', replies)}");
    }

    private static long Number(Reply reply) => long.Parse(reply.String, CultureInfo.InvariantCulture);
}
