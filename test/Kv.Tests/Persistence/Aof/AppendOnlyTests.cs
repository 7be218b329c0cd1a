using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>The append-only file of the program: it starts from it, changes it while clients go on, and exchanges it
/// with redis-server.</summary>
public sealed class AppendOnlyTests : IDisposable
{
    /// <summary>In the file it is a short SETRANGE, or a base of the kind that SnapshotTests look at with ten times
    /// as many bytes.</summary>
    private const int HugeBytes = 2_000_000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-aof-").FullName;

    private string Folder => Path.Combine(_directory, "appendonlydir");

    private string Manifest => Path.Combine(Folder, "appendonly.aof.manifest");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("everysec", "TERM")]
    [InlineData("everysec", "KILL")]
    [InlineData("always", "KILL")]
    [InlineData("no", "TERM")]
    public void A_server_starts_with_what_the_last_one_had(string policy, string signal)
    {
        string digest;
        using (var kv = Start("--appendfsync", policy))
        using (var client = kv.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom(), HugeBytes);
            Change(client);
            digest = client.Ok("DEBUG DIGEST").String;
            if (policy == "everysec") Assert.Equal([1, 0], Numbers(client.Ok("WAITAOF 1 0 0")));
            kv.Signal(signal);
            kv.WaitForExit();
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
        Assert.Equal(42, again.Ok("FCALL answer 0").Integer);
        Assert.Contains("DB loaded from append only file: ", next.Log, StringComparison.Ordinal);
        again.Ok("DEBUG INTEGRITY");
        again.Ok("SET after v");
        again.Ok("DEBUG LOADAOF");
        Assert.Equal("v", again.Ok("GET after").String);
        again.Ok("DEL after");
        Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
    }

    [Theory]
    [InlineData("yes", false)]
    [InlineData("yes", true)]
    [InlineData("no", false)]
    public void The_reference_checks_and_starts_from_ours_and_we_from_what_it_adds(string timestamps, bool rewritten)
    {
        string digest;
        using (var kv = Start("--aof-timestamp-enabled", timestamps))
        using (var client = kv.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom(), HugeBytes);
            if (rewritten) Rewrite(kv, client);
            Change(client);
            digest = client.Ok("DEBUG DIGEST").String;
            kv.Signal("TERM");
            kv.WaitForExit();
        }

        var check = ChildProcess.Run(Requires.Tool("redis-check-aof"), [Manifest]);
        Assert.True(check.ExitCode == 0, check.Output);
        using (var redis = RedisServer.Start("--dir", _directory, "--appendonly", "yes",
            "--proto-max-bulk-len", "512mb"))
        using (var theirs = redis.Connect())
        {
            Assert.Equal(digest, theirs.Ok("DEBUG DIGEST").String);
            Assert.Equal(42, theirs.Ok("FCALL answer 0").Integer);
            Change(theirs);
            digest = theirs.Ok("DEBUG DIGEST").String;
            redis.Signal("TERM");
            redis.WaitForExit();
        }

        using (var next = Start())
        using (var again = next.Connect())
        {
            Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
            Change(again);
            digest = again.Ok("DEBUG DIGEST").String;
            next.Signal("TERM");
            next.WaitForExit();
        }

        using var last = Start();
        using var client4 = last.Connect();
        Assert.Equal(digest, client4.Ok("DEBUG DIGEST").String);
    }

    [Theory]
    [InlineData("yes", true)]
    [InlineData("no", true)]
    [InlineData("no", false)]
    public void We_start_from_an_append_only_file_of_the_reference(string preamble, bool rewritten)
    {
        string digest;
        using (var redis = RedisServer.Start("--dir", _directory, "--appendonly", "yes", "--aof-use-rdb-preamble",
            preamble, "--proto-max-bulk-len", "512mb"))
        using (var client = redis.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom(), HugeBytes);
            if (rewritten) Rewrite(redis, client);
            Change(client);
            digest = client.Ok("DEBUG DIGEST").String;
            redis.Signal("TERM");
            redis.WaitForExit();
        }

        using var kv = Start();
        using var ours = kv.Connect();
        Assert.Equal(digest, ours.Ok("DEBUG DIGEST").String);
        Assert.Equal(42, ours.Ok("FCALL answer 0").Integer);
        ours.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void The_single_file_of_old_versions_is_taken_over()
    {
        File.WriteAllBytes(Path.Combine(_directory, "appendonly.aof"),
            [.. AofBed.Resp("SELECT 2", "SET k v", "MULTI", "SET a 1", "INCR a", "EXEC", "PEXPIRE k 100000")]);
        for (int run = 0; run < 2; run++)
        {
            using var kv = Start();
            using var client = kv.Connect();
            client.Ok("SELECT 2");
            Assert.Equal("2", client.Ok("GET a").String);
            if (run == 0) Assert.InRange(client.Ok("PTTL k").Integer, 1, 100_000);
            Assert.False(File.Exists(Path.Combine(_directory, "appendonly.aof")));
            Assert.Equal(run == 0, File.Exists(Path.Combine(Folder, "appendonly.aof")));
            if (run == 0) Rewrite(kv, client);
        }
    }

    [Fact]
    public void A_snapshot_becomes_the_base_when_there_is_no_append_only_file_yet()
    {
        using (var kv = Start("--appendonly", "no"))
        using (var client = kv.Connect())
        {
            client.Ok("SET k v");
            client.Ok("SAVE");
        }

        using (var kv = Start())
        using (var client = kv.Connect())
        {
            Assert.Equal("v", client.Ok("GET k").String);
            client.Ok("SET l w");
            client.Ok("WAITAOF 1 0 0");
            kv.Signal("KILL");
            kv.WaitForExit();
        }

        File.Delete(Path.Combine(_directory, "dump.rdb"));
        using var next = Start();
        using var again = next.Connect();
        Assert.Equal(["v", "w"], again.Ok("MGET k l").Items!.Select(item => item.String));
    }

    [Fact]
    public async Task It_is_switched_on_and_off_while_clients_go_on()
    {
        using (var kv = Start("--appendonly", "no"))
        using (RespClient client = kv.Connect(), other = kv.Connect())
        {
            client.Ok("SET before v");
            using var stop = new CancellationTokenSource();
            long written = 0;
            var writer = Task.Run(() =>
            {
                while (!stop.IsCancellationRequested) written = other.Ok("INCR n").Integer;
            });
            for (int round = 0; round < 3; round++)
            {
                client.Ok("CONFIG SET appendonly yes");
                AwaitInfo(client, "aof_enabled", "1");
                Eventually.Holds(() => File.Exists(Manifest) && client.Info("aof_rewrite_in_progress") == "0"
                    && client.Info("aof_rewrites") == $"{round + 1}", () => kv.Log);
                if (round == 2) break;
                client.Ok("CONFIG SET appendonly no");
                Eventually.Holds(() => client.Info("aof_current_size") == "0", () => "it is not off");
            }

            stop.Cancel();
            await writer;
            client.Ok($"SET sum {written}");
            Assert.Equal([1, 0], Numbers(client.Ok("WAITAOF 1 0 0")));
            kv.Signal("KILL");
            kv.WaitForExit();
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal(again.Ok("GET sum").String, again.Ok("GET n").String);
        Assert.Equal("v", again.Ok("GET before").String);
    }

    [Fact]
    public void It_is_written_anew_under_load_and_by_itself_when_it_has_grown()
    {
        using (var kv = Start("--auto-aof-rewrite-min-size", "1mb", "--auto-aof-rewrite-percentage", "50"))
        using (var client = kv.Connect())
        {
            string value = new('v', 1000);
            for (int i = 0; i < 4000; i++) client.Ok($"SET k{i % 10} {i}{value}");
            Eventually.Holds(() => int.Parse(client.Info("aof_rewrites")) > 0, () => kv.Log);
            Assert.Contains("Starting automatic rewriting of AOF on ", kv.Log, StringComparison.Ordinal);
            for (int i = 0; i < 5; i++)
            {
                client.Send("BGREWRITEAOF");
                for (int j = 0; j < 200; j++) client.Send($"INCR n{j}");
                for (int j = 0; j <= 200; j++) client.Read();
            }

            // One more, that begins after all of it: the last may have begun when little had been written.
            Eventually.Holds(() => !client.Command("BGREWRITEAOF").IsError, () => kv.Log);
            Eventually.Holds(() => client.Info("aof_rewrite_in_progress") == "0", () => kv.Log);
            Assert.Equal("ok", client.Info("aof_last_bgrewrite_status"));
            Assert.True(long.Parse(client.Info("aof_current_size")) < 1 << 20);
            client.Ok("WAITAOF 1 0 0");
            kv.Signal("KILL");
            kv.WaitForExit();
        }

        Assert.InRange(Directory.GetFiles(Folder).Length, 3, 4);     // manifest, base, increment, lock
        using var next = Start();
        using var again = next.Connect();
        for (int j = 0; j < 200; j++) Assert.Equal("5", again.Ok($"GET n{j}").String);
        Assert.StartsWith("3999v", again.Ok("GET k9").String, StringComparison.Ordinal);
    }

    [Fact]
    public void A_second_server_does_not_start_on_the_same_folder()
    {
        using var kv = Start();
        using var second = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory, "--appendonly", "yes");
        Assert.Equal(1, second.WaitForExit());
        Assert.Contains("another server has locked ", second.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void Damage_stops_the_start_with_file_place_and_remedy()
    {
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            for (int i = 0; i < 100; i++) client.Ok($"SET k{i} v");
            kv.Signal("TERM");
            kv.WaitForExit();
        }

        string file = Path.Combine(Folder, "appendonly.aof.1.incr.aof");
        byte[] bytes = File.ReadAllBytes(file);
        bytes[bytes.Length / 2] ^= 4;
        File.WriteAllBytes(file, bytes);
        using var failing = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory, "--appendonly", "yes");
        Assert.Equal(1, failing.WaitForExit());
        Assert.Contains($"Can't load {file}: at offset ", failing.Log, StringComparison.Ordinal);
        Assert.Contains("redis-check-aof --fix", failing.Log, StringComparison.Ordinal);
        Assert.Equal(bytes, File.ReadAllBytes(file));
    }

    [Theory]
    [InlineData("none")]
    [InlineData("yes")]
    [InlineData("no")]
    public void What_replays_lives_by_the_times_of_the_file_not_by_those_of_the_replay(string basePreamble)
    {
        const int LivesMs = 8000;       // longer than a busy machine takes for what is done meanwhile
        DateTime past;
        using (var kv = Start("--aof-use-rdb-preamble", basePreamble == "no" ? "no" : "yes"))
        using (var client = kv.Connect())
        {
            client.Ok($"SET gone v PX {LivesMs}");
            client.Ok($"SET kept v PX {LivesMs}");
            foreach (string key in (string[])["longer", "put", "moved", "copied", "later"])
                client.Ok($"SET {key} v PX {LivesMs}");
            client.Ok($"SET word px PX {LivesMs}");       // a value that could be an option
            client.Ok("HSET fields a 1 b 2");
            client.Ok($"HPEXPIRE fields {LivesMs} FIELDS 1 a");
            past = DateTime.UtcNow.AddMilliseconds(LivesMs);
            if (basePreamble != "none") Rewrite(kv, client);
            client.Ok("SET kept w KEEPTTL");
            client.Ok("PERSIST word");
            client.Ok("GETEX put EX 1000");
            client.Ok("RENAME moved there");
            client.Ok("PERSIST there");
            client.Ok("COPY copied copy");
            client.Ok("PERSIST copy");
            client.Ok("HPERSIST fields FIELDS 1 a");
            Assert.Equal(1, client.Ok("PERSIST longer").Integer);
            client.Ok("APPEND longer w");
            client.Ok("HSET h a 1 b 2");
            client.Ok("HPEXPIRE h 100000 FIELDS 1 a");
            client.Ok("SET later v EX 1000");
            client.Ok("WAITAOF 1 0 0");
            kv.Signal("KILL");
            kv.WaitForExit();
        }

        Eventually.Holds(() => DateTime.UtcNow > past, () => "time stands still");
        using var next = Start();
        using var again = next.Connect();
        Assert.Equal("vw", again.Ok("GET longer").String);
        Assert.Equal("vvv", string.Concat(again.Ok("MGET put there copy").Items!.Select(item => item.String)));
        Assert.Equal("1", again.Ok("HGET fields a").String);
        Assert.Equal("px", again.Ok("GET word").String);
        Assert.Equal(0, again.Ok("EXISTS gone kept copied moved").Integer);
        Assert.InRange(again.Ok("TTL later").Integer, 900, 1000);
        Assert.InRange(again.Ok("HTTL h FIELDS 1 a").Items![0].Integer, 90, 100);
        Assert.InRange(again.Ok("OBJECT IDLETIME later").Integer, 0, 100);
    }

    private static void Change(RespClient client)
    {
        client.Ok("SELECT 3");
        client.Say("""
            SET s 1
            INCRBYFLOAT s 1.5
            SADD set a b c
            SPOP set
            ZADD z 1 a 2 b
            ZINCRBY z 5 a
            XADD x * f v
            LPUSH l 1 2 3
            RPOPLPUSH l m
            MULTI
            SET t1 1
            SELECT 4
            SET t2 2
            EXEC
            EVAL "redis.call('SET', KEYS[1], ARGV[1]) redis.call('INCR', KEYS[1])" 1 script 41
            SELECT 0
            DEL n
            SET s 1
            RENAME s s2
            SWAPDB 5 6
            """);
    }

    private static void Rewrite(ServerProgram server, RespClient client)
    {
        client.Ok("BGREWRITEAOF");
        Eventually.Holds(() => client.Info("aof_rewrite_in_progress") == "0" && client.Info("aof_rewrites") != "0",
            () => $"it is not written anew: {server.Log}\n{client.Ok("INFO persistence").String}", 20_000);
    }

    private static void AwaitInfo(RespClient client, string field, string value) =>
        Eventually.Holds(() => client.Info(field) == value, () => $"{field} is {client.Info(field)}");

    private static long[] Numbers(Reply reply) => [.. reply.Items!.Select(item => item.Integer)];

    private KvProcess Start(params string[] options) =>
        KvProcess.Start(["--dir", _directory, "--appendonly", "yes", "--save", "", "--enable-debug-command", "yes",
            .. options]);
}
