using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>Clients whose commands meet the keys of each other's long ones, come again, or do the rest of
/// those.</summary>
public sealed class MetKeysStressTests(ITestOutputHelper output)
{
    private const int Clients = 4, CommandsInPipeline = 12, Elements = 6000;

    [Fact]
    public void What_comes_again_is_done_once()
    {
        using var server = KvInstance.Start();
        using (var first = new WindowClient(server))
        {
            for (int i = 0; i < Elements; i += 1000)
            {
                var part = Enumerable.Range(i, 1000);
                first.Run("HSET h " + string.Join(' ', part.Select(n => $"f{n} 0")));
                first.Run("ZADD z " + string.Join(' ', part.Select(n => $"0 m{n}")));
                first.Run("RPUSH l " + string.Join(' ', part));
            }
        }

        long[] fields = new long[Clients], scores = new long[Clients], pushed = new long[Clients],
            numbers = new long[Clients], turns = new long[Clients];
        var budget = TimeBudget.OfSeconds(3);
        using var threads = new TestThreads();
        for (int i = 0; i < Clients; i++)
        {
            int number = i;
            threads.Start(() =>
            {
                using var client = new WindowClient(server);
                Random random = Seed.NewRandom(number);
                Interruptions.Begin(random);
                while (!threads.IsStopping)
                {
                    var lines = new List<string>();
                    for (int c = 0; c < CommandsInPipeline; c++) lines.Add(Next(random));
                    fields[number] += lines.Count(line => line.StartsWith("HINCRBY", StringComparison.Ordinal));
                    scores[number] += lines.Count(line => line.StartsWith("ZINCRBY", StringComparison.Ordinal));
                    pushed[number] += lines.Count(line => line.StartsWith("RPUSH", StringComparison.Ordinal));
                    numbers[number] += lines.Count(line => line.StartsWith("INCR ", StringComparison.Ordinal));
                    ReadOnlySpan<byte> replies = client.Run([.. lines.SelectMany(line => RespText.Encode(line))]);
                    int at = 0;
                    foreach (string line in lines)
                    {
                        var reply = Reply.Read(replies, ref at);
                        Assert.False(reply.IsError, $"{line[..Math.Min(40, line.Length)]}: {reply}; {Seed.Hint}");
                    }

                    Assert.Equal(replies.Length, at);
                    turns[number] += client.Turns;
                }
            });
        }

        threads.Finish(budget, () => turns.Sum() > 1000);
        using var last = server.Connect();
        output.WriteLine($"{turns.Sum()} turns, {fields.Sum()} fields, {scores.Sum()} scores, {pushed.Sum()} pushed");
        Assert.Equal(fields.Sum(), last.Command("HVALS h").Items!.Sum(value => long.Parse(value.String)));
        Assert.Equal(scores.Sum(), last.Command("ZRANGE z 0 -1 WITHSCORES").Items!.Where((_, i) => i % 2 == 1)
            .Sum(score => long.Parse(score.String)));
        Assert.Equal(Elements + pushed.Sum(), last.Command("LLEN l").Integer);
        Assert.Equal(numbers.Sum(), last.Command("GET n") is { IsNull: false } value ? long.Parse(value.String) : 0);
        server.Server.Store.CheckIntegrity();
    }

    [Fact]
    public void Who_waits_for_what_is_made_in_steps_gets_it()
    {
        using var server = KvInstance.Start();
        using (var first = new WindowClient(server))
            first.Run("ZADD z " + string.Join(' ', Enumerable.Range(0, Elements).Select(n => $"{n} m{n}")));
        int served = 0, waiting = Clients;
        using var threads = new TestThreads();
        for (int i = 0; i < Clients; i++)
        {
            threads.Start(() =>
            {
                using var client = server.Connect();
                try
                {
                    while (!threads.IsStopping)
                    {
                        string reply = client.Command("BZPOPMIN made 0").ToString();
                        Assert.True(reply.StartsWith("[\"made\" ", StringComparison.Ordinal), reply);
                        Interlocked.Increment(ref served);
                    }
                }
                finally
                {
                    Interlocked.Decrement(ref waiting);
                }
            });
        }

        threads.Start(() =>
        {
            using var client = new WindowClient(server);
            // The last one who waits is served, too.
            while (Volatile.Read(ref waiting) > 0)
            {
                Assert.Equal($":{Elements}\r\n", client.Run("ZUNIONSTORE made 1 z"));
                client.Run("DEL made");
                Thread.Yield();
            }
        });
        threads.Finish(TimeBudget.OfSeconds(2), () => Volatile.Read(ref served) > 100);
        output.WriteLine($"{served} served");
        server.Server.Store.CheckIntegrity();
    }

    private static string Next(Random random) => random.Next(24) switch
    {
        0 => "HGETALL h",
        1 => "LRANGE l 0 -1",
        2 => "ZRANGE z 0 -1",
        3 => "COPY h h2 REPLACE",
        4 => "HMGET h " + string.Join(' ', Enumerable.Range(0, 5000).Select(n => $"f{n}")),
        5 => "ZUNIONSTORE z2 1 z",
        6 => "LPOS l none",
        7 => "EXISTS h z l",
        8 or 9 or 10 or 11 => $"HINCRBY h f{random.Next(Elements)} 1",
        12 or 13 or 14 => $"ZINCRBY z 1 m{random.Next(Elements)}",
        15 or 16 or 17 => $"RPUSH l {random.Next(1000)}",
        18 or 19 => "INCR n",
        20 => $"HGET h f{random.Next(Elements)}",
        21 => "LLEN l",
        22 => "HLEN h",
        _ => "ZCARD z",
    };
}
