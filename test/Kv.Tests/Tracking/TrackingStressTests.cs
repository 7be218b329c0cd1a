using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>Clients that keep copies while others write: when all messages have come, no copy is older than the
/// server's value.</summary>
public sealed class TrackingStressTests(ITestOutputHelper output)
{
    private const int Keys = 12, Writers = 2, BatchMax = 16;

    private static readonly string[] VeryMany = [.. Enumerable.Range(0, 1200).Select(i => $"k{i % Keys}")];

    private long _version, _compared;

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void No_copy_outlives_the_value_that_it_was_made_of(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "3");
        using var control = kv.Connect();
        int rounds = TimeBudget.Count(60);
        using var copies = new Disposables<CopyingClient>(
            [.. Enum.GetValues<CopyMode>().Select(mode => new CopyingClient(kv, mode))]);
        using var writers = new Disposables<RespClient>(
            [.. Enumerable.Range(0, Writers).Select(_ => kv.Connect(resp: 3))]);
        for (int round = 0; round < rounds; round++)
        {
            using var threads = new TestThreads();
            for (int i = 0; i < Writers; i++)
            {
                int number = i;
                var random = Seed.NewRandom((round * 100) + number);
                threads.Start(() => WriteMuch(writers.All[number], random));
            }

            for (int i = 0; i < copies.All.Length; i++)
            {
                int number = i;
                var random = Seed.NewRandom((round * 100) + 50 + number);
                threads.Start(() => ReadMuch(copies.All[number], random));
            }

            threads.Finish(TimeBudget.OfSeconds(0));
            Eventually.Holds(() => !HasExpiries(control), () => "keys have time to live still");
            Compare(control, copies.All, round);
        }

        output.WriteLine($"{_compared} copies, {copies.All.Sum(one => one.Invalidated)} messages; {Seed.Hint}");
        Assert.NotEqual(0, _compared);
        Assert.All(copies.All, one => Assert.NotEqual(0, one.Invalidated));
        for (int i = 0; i < copies.All.Length; i++) copies.All[i].Dispose();
        Eventually.Holds(() => control.Info("tracking_clients") == "0", () => "clients that left track keys still");
        Eventually.Holds(() => control.Info("tracking_total_items") == "0", () => control.Info("tracking_total_items"));
    }

    private static bool HasExpiries(RespClient control) =>
        control.Command("INFO keyspace").String is var text && text.Contains("expires=", StringComparison.Ordinal)
            && !text.Contains("expires=0", StringComparison.Ordinal);

    private void Compare(RespClient control, CopyingClient[] clients, int round)
    {
        foreach (var client in clients) client.AskForEnd();
        control.Ok(CopyingClient.EndCommand);
        foreach (var client in clients) client.AwaitEnd();
        for (int i = 0; i < Keys; i++)
        {
            // In RESP2 a null is another one.
            string value = control.Ok($"GET k{i}").ToString().Replace("$-1", "_", StringComparison.Ordinal);
            string hash = CopyingClient.HashText(control.Ok($"HGETALL h{i}"));
            foreach (var client in clients)
            {
                Check(client, $"k{i}", value);
                Check(client, $"h{i}", hash);
            }
        }

        void Check(CopyingClient client, string key, string value)
        {
            if (!client.Copies.TryGetValue(key, out string? copy)) return;
            _compared++;
            Assert.True(copy == value,
                $"round {round}, {client.Mode}: the copy of {key} is {copy}, not {value}; {Seed.Hint}");
        }
    }

    private void ReadMuch(CopyingClient client, Random random)
    {
        for (int batch = 0; batch < 12; batch++)
        {
            int count = random.Next(1, BatchMax);
            for (int i = 0; i < count; i++)
            {
                string key = $"k{random.Next(Keys)}";
                switch (random.Next(16))
                {
                    case 0: client.GetMany([key, $"k{random.Next(Keys)}"]); break;
                    case 1: client.GetByScript(key); break;
                    case 2: client.GetInTransaction(key, $"k{random.Next(Keys)}"); break;
                    case 3 or 4: client.GetHash($"h{random.Next(Keys)}"); break;
                    case 5: client.Write($"SET {key} {NextVersion()}", key); break;
                    case 6 when batch % 4 == 0: client.GetMany(VeryMany); break;
                    default: client.Get(key); break;
                }
            }

            client.Finish();
        }
    }

    private void WriteMuch(RespClient writer, Random random)
    {
        for (int batch = 0; batch < 12; batch++)
        {
            int count = random.Next(1, BatchMax);
            var lines = Enumerable.Range(0, count).SelectMany(_ => NextWrite(random)).ToArray();
            foreach (string line in lines) writer.Send(line);
            foreach (string line in lines) writer.Read();       // RENAME of what is not there is an error
        }
    }

    private string[] NextWrite(Random random)
    {
        string key = $"k{random.Next(Keys)}", other = $"k{random.Next(Keys)}", hash = $"h{random.Next(Keys)}";
        long version = NextVersion();
        return random.Next(20) switch
        {
            0 => [$"SET {key} {version} PX {random.Next(1, 10)}"],
            1 => [$"PEXPIRE {key} {random.Next(1, 10)}"],
            2 => [$"DEL {key}"],
            3 => [$"APPEND {key} x"],
            4 => [$"RENAME {key} {other}"],
            5 => [$"MSET {key} {version} {other} {version}"],
            6 => [$"EVAL \"return redis.call('SET', KEYS[1], '{version}')\" 1 {key}"],
            7 => ["MULTI", $"SET {key} {version}", $"DEL {other}", "EXEC"],
            8 => [$"SETRANGE {key} {random.Next(40)} v{version}"],
            9 => [$"COPY {key} {other} REPLACE"],
            10 or 11 => [$"HSET {hash} f{random.Next(5)} {version}"],
            12 => [$"HDEL {hash} f{random.Next(5)}"],
            13 => [$"HSET {hash} large {new string('h', 20 * (int)(version % 8))}{version}"],
            14 when random.Next(10) == 0 => ["FLUSHDB"],
            15 => [$"MSET {string.Join(' ', VeryMany.Select(one => $"{one} {version}"))}"],
            _ => [$"SET {key} {version}"],
        };
    }

    private long NextVersion() => Interlocked.Increment(ref _version);

    private sealed class Disposables<T>(T[] all) : IDisposable
        where T : IDisposable
    {
        public T[] All { get; } = all;

        public void Dispose()
        {
            foreach (var one in All) one.Dispose();
        }
    }
}
