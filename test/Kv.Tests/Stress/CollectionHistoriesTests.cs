using System.Collections.Concurrent;
using Kv.Tests.Commands;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Stress;

/// <summary>Calls of several clients on one collection, or on two in transactions, happen as if one by one, while it
/// becomes large and small.</summary>
public sealed class CollectionHistoriesTests(ITestOutputHelper output)
{
    private const int Clients = 4;

    // A fifth element makes a collection large, a third integer makes a set no array of them; the last removal begins
    // anew.
    private static KvInstance Start(params string[] options) => KvInstance.Start([
        "--list-max-listpack-size", "4", "--hash-max-listpack-entries", "3", "--set-max-listpack-entries", "3",
        "--set-max-intset-entries", "2",
        "--zset-max-listpack-entries", "3", .. options]);

    public static TheoryData<string, bool> Kinds()
    {
        var kinds = new TheoryData<string, bool>();
        foreach (string kind in KeyspaceCommands.Kinds)
            foreach (bool two in (bool[])[false, true]) kinds.Add(kind, two);
        return kinds;
    }

    // Each on a thread of its own in the store, which moves records, grows and frees meanwhile.
    [Theory, MemberData(nameof(Kinds))]
    public void Clients_of_a_collection_see_one_order_of_what_all_of_them_do(string kind, bool twoKeys)
    {
        using var server = Start();
        server.Server.Store.Log.PoisonFreed = true;
        var run = new KeyspaceRun(kind, twoKeys, TimeBudget.Count(1500), TimeBudget.OfSeconds(1));
        Run(server, run, () =>
        {
            var client = new WindowClient(server);
            return ((wire, count) => Replies(client.Run(wire), count), client);
        });
        output.WriteLine($"{run.Check()}; {server.Server.Store.Stats}");
        server.Server.Store.CheckIntegrity();
    }

    public static TheoryData<string, string> KindsByTransport()
    {
        var kinds = new TheoryData<string, string>();
        foreach (var transport in Transports.Both)
            foreach (string kind in KeyspaceCommands.Kinds) kinds.Add(transport.Data, kind);
        return kinds;
    }

    [Theory, MemberData(nameof(KindsByTransport))]
    public void Clients_of_two_collections_see_one_order_over_sockets_too(string transport, string kind)
    {
        using var server = Start("--transport", transport, "--worker-threads", "2");
        server.Server.Store.Log.PoisonFreed = true;
        var run = new KeyspaceRun(kind, twoKeys: true, TimeBudget.Count(400), TimeBudget.OfSeconds(0.5));
        Run(server, run, () =>
        {
            var client = server.Connect();
            return ((wire, count) =>
            {
                client.Send(wire);
                return [.. Enumerable.Range(0, count).Select(_ => client.Read())];
            }, client);
        });
        output.WriteLine(run.Check());
        server.Server.Store.CheckIntegrity();
    }

    private static Reply[] Replies(ReadOnlySpan<byte> bytes, int count)
    {
        var replies = new Reply[count];
        int at = 0;
        for (int i = 0; i < count; i++) replies[i] = Reply.Read(bytes, ref at);
        Assert.Equal(bytes.Length, at);
        return replies;
    }

    private static void Run(KvInstance server, KeyspaceRun run,
        Func<(Func<byte[], int, Reply[]> Send, IDisposable Client)> connect)
    {
        var failures = new ConcurrentQueue<Exception>();
        using var stop = new CancellationTokenSource();
        var weather = Start(() => Weather(server, stop.Token), failures);
        var threads = Enumerable.Range(0, Clients).Select(number => Start(
            () =>
            {
                var (send, client) = connect();
                Interruptions.Begin(Seed.NewRandom(100 + number));
                using (client) run.Call(number, Seed.NewRandom(number), send, failures);
            },
            failures)).ToList();
        threads.ForEach(thread => thread.Join());
        stop.Cancel();
        weather.Join();
        if (failures.TryPeek(out var failure)) Assert.Fail($"{failure}\n{Seed.Hint}");
    }

    /// <summary>Other keys come and go, so that the index doubles and segments are emptied, moved and freed.</summary>
    private static void Weather(KvInstance server, CancellationToken stop)
    {
        using var client = new WindowClient(server);
        var random = Seed.NewRandom(1000);
        const int keys = 8192, step = 128;
        var sets = Enumerable.Range(0, keys / step).Select(i => RespText.Encode("MSET " + string.Join(' ',
            Enumerable.Range(i * step, step)
                .Select(name => $"weather{name} {new string('w', random.Next(100, 900))}")))).ToArray();
        var deletes = Enumerable.Range(0, keys / step).Select(i => RespText.Encode("DEL " + string.Join(' ',
            Enumerable.Range(i * step, step).Where(name => name % 10 != 0)
                .Select(name => $"weather{name}")))).ToArray();
        for (int at = 0; !stop.IsCancellationRequested; at++)
        {
            client.Run((at / sets.Length % 2 == 0 ? sets : deletes)[at % sets.Length]);
            server.Server.Store.Maintain();
            if (at % 16 == 0) GC.Collect(0);
            Thread.Sleep(1);        // the clients are what matters
        }
    }

    private static Thread Start(Action body, ConcurrentQueue<Exception> failures)
    {
        var thread = new Thread(() =>
        {
            try
            {
                body();
            }
            catch (Exception failure)
            {
                failures.Enqueue(failure);
            }
        }) { IsBackground = true };
        thread.Start();
        return thread;
    }
}
