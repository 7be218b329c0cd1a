using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Differential;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>BGSAVE: what the file has is what there was at its instant, whatever is changed while it is
/// written.</summary>
public sealed class BackgroundSnapshotTests(ITestOutputHelper output) : IDisposable
{
    /// <summary>It is compared, kept and written four times for each way of transport; once, below, it is as large as
    /// those of other tests.</summary>
    private const int HugeBytes = 2_000_000;

    private const int Batch = 200;

    /// <summary>Commands that write and do not wait.</summary>
    private static readonly string[] Writing = [.. AllCommands.Table.All
        .Where(command => (command.Flags & (CommandFlags.Write | CommandFlags.Blocking)) == CommandFlags.Write)
        .Select(command => command.Name).Where(CommandGenerators.All.ContainsKey)];

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-bgsave-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void The_file_has_what_there_was_at_the_instant_whatever_is_written_meanwhile(string transport)
    {
        ulong seed = Seed.Value;
        output.WriteLine($"KV_SEED={seed}");
        for (int round = 0; round < 4; round++)
        {
            SortedDictionary<string, string> content;
            using (var kv = Start("--transport", transport, "--worker-threads", "2"))
            using (var client = kv.Connect())
            {
                var random = new Random((int)seed + round);
                client.Ok("FLUSHALL");
                DataOfAllTypes.Fill(client, random, HugeBytes);
                foreach (int keys in Enumerable.Range(0, 20))
                {
                    client.Ok("DEBUG POPULATE 2000 p" + keys + " 30");
                }

                // What random commands leave, too.
                Flood(client, new Gen(random), 2000, [.. Writing.Where(name => name.StartsWith("FLUSH",
                    StringComparison.Ordinal) || name.Contains("EXPIRE", StringComparison.Ordinal))]);
                foreach (string[] some in KeysOf(client).Chunk(Batch)) Ask(client, some, "PERSIST");
                content = Content(client);
                long before = client.Ok("LASTSAVE").Integer;
                Assert.InRange(before, 1, long.MaxValue);
                Assert.StartsWith("Background saving", client.Ok("BGSAVE").String, StringComparison.Ordinal);
                Eventually.Holds(() => kv.Log.Contains(" beside clients: ", StringComparison.Ordinal), () => kv.Log);
                ChangeEverything(client, random, round);
                Flood(client, new Gen(random), 3000);
                AwaitSave(client);
                Assert.Equal("1", client.Info("rdb_saves"));
                client.Ok("DEBUG INTEGRITY");
            }

            using var next = Start();
            using var again = next.Connect();
            var found = Content(again);
            Assert.Empty(content.Keys.Union(found.Keys)
                .Where(key => content.GetValueOrDefault(key) != found.GetValueOrDefault(key))
                .Select(key => $"{key}: {content.GetValueOrDefault(key)}, then {found.GetValueOrDefault(key)}"));
            again.Ok("DEBUG INTEGRITY");
        }
    }

    [Fact]
    public async Task Sums_of_transfers_hold_in_every_snapshot()
    {
        const int accounts = 20_000, clients = 3;
        using var kv = Start("--worker-threads", "2");
        using var client = kv.Connect();
        for (int i = 0; i < accounts; i++) client.Send($"SET account:{i} 100");
        for (int i = 0; i < accounts; i++) client.Read();
        bool isOver = false;
        var movers = Enumerable.Range(0, clients).Select(number => Task.Run(() =>
        {
            using var mover = kv.Connect();
            var random = new Random(number);
            while (!Volatile.Read(ref isOver))
            {
                for (int i = 0; i < 20; i++)
                {
                    int sum = random.Next(10);
                    mover.Send($"MULTI");
                    mover.Send($"DECRBY account:{random.Next(accounts)} {sum}");
                    mover.Send($"INCRBY account:{random.Next(accounts)} {sum}");
                    mover.Send("EXEC");
                }

                for (int i = 0; i < 80; i++) mover.Read();
            }
        })).ToArray();
        try
        {
            for (int round = 0; round < 5; round++)
            {
                AwaitSave(client);
                client.Ok("BGSAVE");
                Eventually.Holds(() => client.Info("rdb_saves") == $"{round + 1}", () => kv.Log);
                using var next = Start();
                using var reader = next.Connect();
                long sum = 0;
                for (int i = 0; i < accounts; i++) reader.Send($"GET account:{i}");
                for (int i = 0; i < accounts; i++) sum += long.Parse(reader.Read().String);
                Assert.Equal(accounts * 100L, sum);
            }
        }
        finally
        {
            Volatile.Write(ref isOver, true);
        }

        await Task.WhenAll(movers);
        client.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void What_is_flushed_while_it_is_written_is_in_the_file_and_freed_afterwards()
    {
        string digest;
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            client.Ok("DEBUG POPULATE 100000 k 100");
            client.Ok("SELECT 5");
            DataOfAllTypes.Fill(client, Seed.NewRandom());
            digest = client.Ok("DEBUG DIGEST").String;
            client.Ok("BGSAVE");
            client.Ok("FLUSHALL");
            client.Ok("SET after 1");
            AwaitSave(client);
            Assert.Equal(1, client.Ok("DBSIZE").Integer);
            client.Ok("DEBUG INTEGRITY");
            Eventually.Holds(() => long.Parse(client.Info("used_memory")) < 30_000_000, () => "it has come to nothing");
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
    }

    [Fact]
    public void A_folder_that_cannot_be_written_to_refuses_writes_until_a_snapshot_succeeds()
    {
        string folder = Path.Combine(_directory, "gone");
        Directory.CreateDirectory(folder);
        using var kv = KvProcess.Start("--dir", folder, "--save", "3600 1");
        using var client = kv.Connect();
        client.Ok("SET k v");
        Directory.Delete(folder, recursive: true);
        client.Ok("BGSAVE");
        AwaitSave(client);
        Assert.Equal("err", client.Info("rdb_last_bgsave_status"));
        Assert.StartsWith("MISCONF", client.Command("SET k w").String, StringComparison.Ordinal);
        Assert.StartsWith("MISCONF", client.Command("PING").String, StringComparison.Ordinal);
        Assert.Equal("v", client.Ok("GET k").String);
        Directory.CreateDirectory(folder);
        client.Ok("BGSAVE");
        AwaitSave(client);
        client.Ok("SET k w");
        Assert.Equal("ok", client.Info("rdb_last_bgsave_status"));
    }

    [Fact]
    public void A_save_point_begins_a_snapshot_and_the_end_of_the_process_saves_too()
    {
        using (var kv = KvProcess.Start("--dir", _directory, "--save", "1 3"))
        using (var client = kv.Connect())
        {
            client.Ok("SET a 1");
            client.Ok("SET b 1");
            client.Ok("SET c 1");
            Eventually.Holds(() => client.Info("rdb_saves") == "1", () => "it has come to nothing");
            Eventually.Holds(() => client.Info("rdb_changes_since_last_save") == "0", () => "it has come to nothing");
            client.Ok("SET last 1");
            Assert.Equal("1", client.Info("rdb_changes_since_last_save"));
            kv.Signal("TERM");
            Assert.Equal(0, kv.WaitForExit());
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal(4, again.Ok("EXISTS a b c last").Integer);
    }

    [Theory]
    [InlineData("a client asks for it", true)]
    [InlineData("it is due", false)]
    public void It_waits_for_a_script_that_holds_keys_and_others_do_not(string what, bool isAsked)
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--worker-threads", "1", "--busy-reply-threshold", "0",
            "--script-time-limit", "0");
        using RespClient runs = kv.Connect(), waits = kv.Connect(), asks = kv.Connect();
        runs.Send(RespText.Encode("EVAL \"while true do end\" 1 k"));
        Eventually.Holds(() => asks.Ok("CLIENT LIST").String!.Contains("cmd=eval", StringComparison.Ordinal),
            () => "the script does not run");
        if (isAsked) waits.Send("BGSAVE");
        else kv.Server.SaveSchedule.Ask();
        // Several times as long as it takes until somebody looks whether a snapshot is due.
        for (var time = Stopwatch.StartNew(); time.ElapsedMilliseconds < 400;)
            Assert.Equal("+PONG", asks.Ok("PING").ToString());
        Assert.Equal("0", asks.Info("rdb_saves"));
        asks.Ok("SCRIPT KILL");
        Assert.True(runs.Read().IsError, what);
        if (isAsked) Assert.Equal("Background saving started", waits.Read().String);
        Eventually.Holds(() => asks.Info("rdb_saves") == "1", () => "it has come to nothing");
    }

    [Fact]
    public void BGSAVE_answers_as_the_reference_does()
    {
        using var kv = Start();
        using var client = kv.Connect();
        Assert.StartsWith("ERR syntax error", client.Command("BGSAVE x").String, StringComparison.Ordinal);
        client.Ok("MULTI");
        client.Ok("BGSAVE");
        Assert.Equal("Background saving scheduled", client.Ok("EXEC").Items![0].String);
        Eventually.Holds(() => client.Info("rdb_saves") == "1", () => "it has come to nothing");
        AwaitSave(client);      // it says that it has saved before it says that it has ended
        Assert.InRange(long.Parse(client.Info("rdb_last_bgsave_time_sec")), 0, 1000);
    }

    /// <summary>Each key of two databases, with what it holds.</summary>
    private static SortedDictionary<string, string> Content(RespClient client)
    {
        var content = new SortedDictionary<string, string>(StringComparer.Ordinal);
        foreach (int database in (int[])[9, 0])
        {
            client.Ok($"SELECT {database}");
            foreach (string[] some in KeysOf(client).Chunk(Batch))
            {
                string[] types = [.. Ask(client, some, "TYPE").Select(reply => reply.String)],
                    digests = [.. Ask(client, some, "DEBUG", "DIGEST-VALUE").Select(reply => reply.Items![0].String)];
                for (int i = 0; i < some.Length; i++) content[$"{database} {some[i]}"] = $"{types[i]} {digests[i]}";
            }
        }

        return content;
    }

    /// <summary>Sends a command for each of some keys at once.</summary>
    private static Reply[] Ask(RespClient client, string[] keys, params string[] command) =>
        Pipeline(client, keys.Select(key => RespText.Encode([.. command.Append(key).Select(RespText.Bytes)])));

    private static Reply[] Pipeline(RespClient client, IEnumerable<byte[]> commands)
    {
        byte[][] all = [.. commands];
        client.Send([.. all.SelectMany(bytes => bytes)]);
        return [.. all.Select(_ => client.Read())];
    }

    private static IEnumerable<string> KeysOf(RespClient client) =>
        client.Ok("KEYS *").Items!.Select(item => item.String);

    private KvProcess Start(params string[] options) =>
        KvProcess.Start(["--dir", _directory, "--enable-debug-command", "local", .. options]);

    private static void AwaitSave(RespClient client) =>
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => "it has come to nothing");

    /// <summary>Random commands, whatever they answer.</summary>
    private static void Flood(RespClient client, Gen gen, int count, params string[] but)
    {
        string[] names = [.. Writing.Except(but)];
        for (int i = 0; i < count; i += 50)
        {
            Pipeline(client, Enumerable.Range(0, 50)
                .SelectMany(_ => CommandGenerators.Next(gen, gen.Pick(names))).Select(RespText.Encode));
        }
    }

    /// <summary>Changes, moves or removes every key there is, of all types, and adds others.</summary>
    private static void ChangeEverything(RespClient client, Random random, int round)
    {
        foreach (int database in (int[])[0, 9])
        {
            client.Ok($"SELECT {database}");
            string[] keys = [.. KeysOf(client)];
            random.Shuffle(keys);
            foreach (string[] some in keys.Chunk(Batch))
            {
                string[] types = [.. Ask(client, some, "TYPE").Select(reply => reply.String)];
                Pipeline(client, some.Select((key, i) => RespText.Encode(Change(key, types[i], random))));
            }
        }

        if (round % 2 == 1) client.Ok("SWAPDB 0 9");
        client.Ok("SELECT 0");
    }

    private static byte[][] Change(string key, string type, Random random)
    {
        string[] words = (random.Next(4) == 0 ? "none" : type) switch
        {
            "string" => random.Next(2) == 0 ? ["SETRANGE", key, "3", "changed"] : ["SET", key, "changed"],
            "list" => random.Next(2) == 0 ? ["RPUSH", key, "more"] : ["LTRIM", key, "1", "-2"],
            "hash" => ["HSET", key, "more", "field"],
            "set" => random.Next(2) == 0 ? ["SADD", key, "more"] : ["SPOP", key],
            "zset" => ["ZADD", key, "5", "more"],
            "stream" => random.Next(2) == 0 ? ["XADD", key, "*", "a", "b"] : ["XTRIM", key, "MAXLEN", "1"],
            _ => random.Next(3) switch
            {
                0 => ["DEL", key],
                1 => ["RENAME", key, "renamed:" + key],
                _ => ["PEXPIRE", key, "1"],
            },
        };
        return [.. words.Select(RespText.Bytes)];
    }
}
