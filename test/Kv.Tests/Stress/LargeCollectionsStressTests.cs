using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>Collections of 10,000 to 50,000 elements are built, read, cut and deleted while small keys keep the store
/// moving.</summary>
public sealed class LargeCollectionsStressTests(ITestOutputHelper output)
{
    private const int Builders = 3, Writers = 2, SmallKeys = 20_000;
    private const int Chunk = 1000;

    private static readonly string[] Kinds = ["list", "set", "hash", "sorted set", "stream"];

    // Nobody else changes a builder's key, so it knows each answer. Readers look into all of them, at any moment.
    [Fact]
    public async Task Large_collections_come_and_go_while_small_keys_make_the_log_reclaim_and_the_index_grow()
    {
        using var server = KvInstance.Start();
        var store = server.Server.Store;
        store.Log.PoisonFreed = true;       // who still reads a freed segment reads nonsense
        var budget = TimeBudget.OfSeconds(3);
        int built = 0, read = 0;
        var threads = new List<Task>();
        void Start(Action<WindowClient, Random> body)
        {
            int number = threads.Count;
            threads.Add(Task.Factory.StartNew(() =>
            {
                using var client = new WindowClient(server);
                Random random = Seed.NewRandom(number);
                do body(client, random);
                while (budget.Continues);
            }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default));
        }

        for (int i = 0; i < Builders; i++)
        {
            string key = $"large:{i}";
            int round = i;
            Start((client, random) =>
            {
                Live(client, key, Kinds[round++ % Kinds.Length], random);
                Interlocked.Increment(ref built);
            });
        }

        for (int i = 0; i < Writers; i++)
        {
            string prefix = $"small:{i}:";
            Start((client, random) => FillAndEmpty(client, prefix, random));
        }

        Start((client, random) => read += Look(client, $"large:{random.Next(Builders)}", random) ? 1 : 0);
        try
        {
            await Task.WhenAll(threads);
        }
        catch (Exception failure)
        {
            Assert.Fail($"{failure}\n{Seed.Hint}");
        }

        using var last = new WindowClient(server);
        foreach (string kind in Kinds) Build(last, "last:" + kind[..2], kind, 10_000, "");
        store.CheckIntegrity();
        Assert.True(store.Stats.BlockBytes > 0);
        output.WriteLine($"{built} collections, {read} reads; {store.Stats}");
        Assert.Equal($":{Kinds.Length}\r\n",
            last.Run("DEL " + string.Join(' ', Kinds.Select(kind => "last:" + kind[..2]))));
        Assert.Equal(":0\r\n", last.Run("DBSIZE"));
        Assert.True(store.Stats.IndexGrowths > 0, "the index has not grown");
        Eventually.Holds(() => store.Stats.ReclaimedSegments > 0, () => "no segment was reclaimed");
        Eventually.Holds(() => store.Stats.BlockBytes == 0,
            () => $"{store.Stats.BlockBytes} bytes of blocks are left; {Seed.Hint}");
        store.CheckIntegrity();
    }

    /// <summary>The life of one collection.</summary>
    private static void Live(WindowClient client, string key, string kind, Random random)
    {
        int size = random.Next(10_000, 50_001), cut = random.Next(1, size);
        string padding = new('x', random.Next(40));
        Build(client, key, kind, size, padding);
        Assert.Equal($":{size}\r\n", client.Run(Count(kind, key)));
        AssertHolds(client, key, kind, 0, size, padding);
        switch (kind)
        {
            case "list": client.Run($"LTRIM {key} {cut} -1"); break;
            case "stream": Assert.Equal($":{cut}\r\n", client.Run($"XTRIM {key} MAXLEN {size - cut}")); break;
            default:
                string remove = kind == "set" ? "SREM" : kind == "hash" ? "HDEL" : "ZREM";
                foreach (int[] some in Enumerable.Range(0, cut).Chunk(Chunk))
                    Assert.Equal($":{some.Length}\r\n",
                        client.Run($"{remove} {key} {string.Join(' ', some.Select(i => $"e{i}{padding}"))}"));
                break;
        }

        Assert.Equal($":{size - cut}\r\n", client.Run(Count(kind, key)));
        AssertHolds(client, key, kind, cut, size, padding);
        string[] ways = [$"DEL {key}", $"UNLINK {key}", $"PEXPIRE {key} -1", $"RENAME {key} {key}:b", $"SET {key} v"];
        client.Run(ways[random.Next(ways.Length)]);
        client.Run($"DEL {key} {key}:b");
        Assert.Equal(":0\r\n", client.Run($"EXISTS {key} {key}:b"));
    }

    private static void Build(WindowClient client, string key, string kind, int size, string padding)
    {
        foreach (int[] some in Enumerable.Range(0, size).Chunk(Chunk))
        {
            var names = some.Select(i => $"e{i}{padding}");
            switch (kind)
            {
                case "list": client.Run($"RPUSH {key} {string.Join(' ', names)}"); break;
                case "set": client.Run($"SADD {key} {string.Join(' ', names)}"); break;
                case "hash": client.Run($"HSET {key} {string.Join(' ', names.Select(name => $"{name} v"))}"); break;
                case "sorted set": client.Run(
                    $"ZADD {key} {string.Join(' ', some.Select(i => $"{i % 977} e{i}{padding}"))}"); break;
                default: client.Run(
                    [.. some.SelectMany(i => RespText.Encode($"XADD {key} {i + 1}-0 f e{i}{padding}"))]); break;
            }
        }
    }

    private static string Count(string kind, string key) => kind switch
    {
        "list" => "LLEN ",
        "set" => "SCARD ",
        "hash" => "HLEN ",
        "sorted set" => "ZCARD ",
        _ => "XLEN ",
    } + key;

    /// <summary>That all elements from one to before another are there, each once, and nothing else.</summary>
    private static void AssertHolds(WindowClient client, string key, string kind, int first, int end, string padding)
    {
        string reply = client.Run(kind switch
        {
            "list" => $"LRANGE {key} 0 -1",
            "set" => $"SMEMBERS {key}",
            "hash" => $"HKEYS {key}",
            "sorted set" => $"ZRANGE {key} 0 -1",
            _ => $"XRANGE {key} - +",
        });
        Assert.StartsWith($"*{end - first}\r\n", reply, StringComparison.Ordinal);
        var numbers = reply.Split("\r\n").Where(line => line.StartsWith('e'))
            .Select(line => int.Parse(line.AsSpan(1, line.Length - 1 - padding.Length))).ToArray();
        if (kind is not ("list" or "stream")) Array.Sort(numbers);
        Assert.True(numbers.AsSpan().SequenceEqual(Enumerable.Range(first, end - first).ToArray()),
            $"{kind} of {first} to {end} has others");
    }

    /// <summary>Reads some of whatever a key holds.</summary>
    /// <returns>Whether there was something of the type that was asked for.</returns>
    private static bool Look(WindowClient client, string key, Random random)
    {
        int from = random.Next(30_000);
        string[] commands =
        [
            $"LRANGE {key} {from} {from + 100}", $"SRANDMEMBER {key} 100", $"HRANDFIELD {key} 100",
            $"ZRANGE {key} {from} {from + 100}",
            $"ZRANGE {key} 100 300 BYSCORE LIMIT 0 100", $"LINDEX {key} {from}", $"XRANGE {key} {from} + COUNT 50",
        ];
        string reply = client.Run(commands[random.Next(commands.Length)]);
        if (reply.StartsWith("-WRONGTYPE", StringComparison.Ordinal)) return false;
        string[] lines = reply.Split("\r\n", StringSplitOptions.RemoveEmptyEntries);
        // Heads, elements, and of streams IDs and the field.
        Assert.All(lines, line => Assert.True(line[0] is '*' or '$' or 'e' or 'f'
            || line.EndsWith("-0", StringComparison.Ordinal), $"{line} in {reply}"));
        return lines.Length > 1;
    }

    /// <summary>Writes many small keys, writes some of them again, and deletes them all.</summary>
    private static void FillAndEmpty(WindowClient client, string prefix, Random random)
    {
        foreach (int[] some in Enumerable.Range(0, SmallKeys).Chunk(Chunk / 10))
        {
            string value = new('v', random.Next(50, 800));
            client.Run([.. some.SelectMany(i => RespText.Encode($"SET {prefix}{i} {value}"))]);
            client.Run($"SET {prefix}{random.Next(some[0] + 1)} {value}");
        }

        foreach (int[] some in Enumerable.Range(0, SmallKeys).Chunk(Chunk))
            Assert.Equal($":{some.Length}\r\n", client.Run("DEL " + string.Join(' ', some.Select(i => prefix + i))));
    }
}
