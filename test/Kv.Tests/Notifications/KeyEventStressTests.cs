using Kv.Tests.Harness;

namespace Kv.Tests.Notifications;

/// <summary>The events of a key have the order of its changes, whichever workers make them: read one by one they tell
/// what the key is, at every moment.</summary>
public sealed class KeyEventStressTests(ITestOutputHelper output)
{
    private const int Clients = 4, Keys = 12, BatchMax = 24;

    public static TheoryData<string, string> Servers => new()
    {
        { "epoll", "yes" }, { "pipelines", "yes" }, { "epoll", "no" },
    };

    [Theory, MemberData(nameof(Servers))]
    public void Read_one_by_one_they_tell_what_each_key_is(string transport, string sweeps)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "3",
            "--notify-keyspace-events", "KAn", "--enable-debug-command", "yes");
        using var subscriber = kv.Connect();
        using var control = kv.Connect();
        control.Ok("CONFIG SET client-output-buffer-limit \"pubsub 0 0 0\"");
        control.Ok($"DEBUG SET-ACTIVE-EXPIRE {(sweeps == "yes" ? 1 : 0)}");
        subscriber.Send("PSUBSCRIBE __key*");
        subscriber.Read();
        int rounds = TimeBudget.Count(300);
        var model = new KeyModel();
        using var reading = new TestThreads();
        reading.Start(() => model.ReadUntilEnd(subscriber));
        using var working = new TestThreads();
        for (int i = 0; i < Clients; i++)
        {
            int client = i;
            working.Start(() => Work(kv, client, rounds));
        }

        working.Finish(TimeBudget.OfSeconds(0));
        // What is left has its time, too, and then everything is quiet.
        control.Ok("DEBUG SET-ACTIVE-EXPIRE 1");
        Eventually.Holds(() => control.Info("db0").Contains("expires=0", StringComparison.Ordinal),
            () => control.Info("db0"));
        control.Ok("PUBLISH __keyspace@0__:end end");
        reading.Finish(TimeBudget.OfSeconds(0));
        output.WriteLine($"{model.Events} events, {model.Expired} expired; {Seed.Hint}");
        Assert.True(model.Mistake == null, $"{model.Mistake}; {Seed.Hint}");
        Assert.NotEqual(0, model.Expired);
        for (int i = 0; i < Keys; i++)
            Assert.Equal((i, model.Exists($"k{i}")), (i, control.Ok($"EXISTS k{i}").Integer == 1));
    }

    private static void Work(KvInstance kv, int client, int rounds)
    {
        var random = Seed.NewRandom(client);
        using var connection = kv.Connect();
        for (int round = 0; round < rounds; round++)
        {
            int count = random.Next(1, BatchMax);
            var lines = new List<string>();
            bool isTransaction = random.Next(8) == 0;
            if (isTransaction) lines.Add("MULTI");
            for (int i = 0; i < count; i++) lines.Add(Next(random));
            if (isTransaction) lines.Add("EXEC");
            foreach (string line in lines) connection.Send(line);
            foreach (string _ in lines) connection.Read();
        }
    }

    private static string Next(Random random)
    {
        string key = $"k{random.Next(Keys)}", value = new('v', random.Next(3) * 20 + 1);
        return random.Next(12) switch
        {
            0 or 1 => $"SET {key} {value} PX {random.Next(1, 20)}",
            2 => $"SET {key} {value}",
            3 => $"APPEND {key} x",
            4 => $"PEXPIRE {key} {random.Next(1, 20)}",
            5 => $"PERSIST {key}",
            6 => $"DEL {key}",
            7 => $"GET {key}",
            8 => $"SETNX {key} {value}",
            9 => $"EVAL \"redis.call('SET', '{key}', '1', 'PX', 5) redis.call('DEL', '{key}')\" 1 {key}",
            10 => $"MSET {key} 1 k{random.Next(Keys)} 2",
            _ => $"RENAME {key} k{random.Next(Keys)}",
        };
    }

    /// <summary>What each key is, by its events alone.</summary>
    private sealed class KeyModel
    {
        private readonly Dictionary<string, (bool Exists, bool MayExpire, string Last)> _keys = [];

        // Keys of which "new" was said while they were there: only RENAME does that.
        private readonly HashSet<string> _isOver = [];

        public long Events { get; private set; }

        public long Expired { get; private set; }

        public string? Mistake { get; private set; }

        public bool Exists(string key) => _keys.TryGetValue(key, out var state) && state.Exists;

        public void ReadUntilEnd(RespClient subscriber)
        {
            while (true)
            {
                var message = subscriber.Read();
                string channel = message.Items![2].String, what = message.Items[3].String;
                string key = channel[(channel.IndexOf("__:", StringComparison.Ordinal) + 3)..];
                if (key == "end") return;
                Events++;
                Take(key, what);
            }
        }

        private void Take(string key, string what)
        {
            var (exists, mayExpire, last) = _keys.GetValueOrDefault(key, (false, false, "nothing"));
            bool isRight = what switch
            {
                "new" => last != "new",         // RENAME says so of a key that was there, too
                "rename_to" => last == "new",
                "expired" or "persist" => exists && mayExpire,
                _ => exists,
            };
            // A new key is new to its first event only.
            isRight &= last != "new" || what is "set" or "append" or "rename_to";
            isRight &= what != "new" || !exists || _isOver.Add(key);
            isRight &= what == "new" || what == "rename_to" || !_isOver.Remove(key);
            if (what == "rename_to") _isOver.Remove(key);
            if (!isRight) Mistake ??= $"{what} of {key}, event {Events}, after {last}";
            if (what == "expired") Expired++;
            bool isThere = what is not ("del" or "expired" or "rename_from");
            // What RENAME brings has the time that it had, or none.
            bool expires = what is "expire" or "rename_to" || (what == "append" && mayExpire);
            _keys[key] = (isThere, expires, what);
        }
    }
}
