using System.Collections.Concurrent;
using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>Pipelines at the ends of large lists, which look ahead into them, while the lists grow, move, shrink and
/// are replaced.</summary>
public sealed class ListEndsStressTests(ITestOutputHelper output)
{
    private const int Clients = 3, Keys = 3, CommandsInPipeline = 40;

    [Fact]
    public void No_element_is_taken_twice_or_comes_from_nowhere_while_others_look_ahead()
    {
        using var server = KvInstance.Start("--list-max-listpack-size", "4");
        var store = server.Server.Store;
        store.Log.PoisonFreed = true;       // who believes what was looked ahead at reads nonsense
        var budget = TimeBudget.OfSeconds(3);
        var taken = new ConcurrentDictionary<string, bool>();
        int[] pushed = new int[Clients];
        using var threads = new TestThreads();
        for (int i = 0; i < Clients; i++)
        {
            int number = i;
            threads.Start(() =>
            {
                using var client = new WindowClient(server);
                Random random = Seed.NewRandom(number);
                while (!threads.IsStopping) Pipeline(client, number, ref pushed[number], random, taken, pushed);
            });
        }

        threads.Finish(budget, () => taken.Count > 100);
        output.WriteLine($"{pushed.Sum()} pushed, {taken.Count} taken; {store.Stats}");
        store.CheckIntegrity();
        using var last = new WindowClient(server);
        last.Run("DEL " + string.Join(' ', Enumerable.Range(0, Keys).Select(key => $"list:{key}")));
        Eventually.Holds(() => store.Stats.BlockBytes == 0,
            () => $"{store.Stats.BlockBytes} bytes of blocks are left; {Seed.Hint}");
    }

    private static void Pipeline(WindowClient client, int number, ref int pushed, Random random,
        ConcurrentDictionary<string, bool> taken, int[] allPushed)
    {
        var commands = new List<byte>();
        var kinds = new List<bool>();
        // Mostly one command after another, as the window takes its short way then.
        string command = "";
        for (int i = 0; i < CommandsInPipeline; i++)
        {
            if (i % 10 == 0)
                command = random.Next(8) switch { 0 or 1 or 2 => "LPUSH", 3
                    or 4 => "RPUSH", 5 => "LPOP", 6 => "RPOP", _ => "" };
            string key = $"list:{random.Next(Keys)}", other = $"list:{random.Next(Keys)}";
            // Interlocked: who sees the element sees that it was counted.
            int element = command is "LPUSH" or "RPUSH" ? Interlocked.Increment(ref pushed) : 0;
            string padding = new('x', random.Next(20) == 0 ? random.Next(1500) : random.Next(20));
            string line = command switch
            {
                "LPUSH" or "RPUSH" => $"{command} {key} {number}:{element}:{padding}",
                "LPOP" or "RPOP" => $"{command} {key}",
                _ => random.Next(30) switch { 0 => $"DEL {key}", 1 => $"RENAME {key} {other}",
                    2 => $"LTRIM {key} {random.Next(200)} -1", 3 => $"SADD {key} a b c d e", 4 => $"SET {key} v",
                    _ => $"LLEN {key}" },
            };
            kinds.Add(command is "LPOP" or "RPOP");
            commands.AddRange(RespText.Encode(line));
        }

        ReadOnlySpan<byte> replies = client.Run([.. commands]);
        int at = 0;
        foreach (bool takes in kinds)
        {
            var reply = Reply.Read(replies, ref at);
            if (!takes || reply.IsNull || reply.IsError) continue;
            string[] parts = reply.String.Split(':');
            Assert.True(parts.Length == 3 && int.Parse(parts[1]) <= Volatile.Read(ref allPushed[int.Parse(parts[0])])
                && parts[2].Trim('x').Length == 0,
                $"nobody has pushed {reply}");
            Assert.True(taken.TryAdd(parts[0] + ":" + parts[1], true), $"{reply} was taken twice");
        }
    }
}
