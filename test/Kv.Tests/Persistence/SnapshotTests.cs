using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>SAVE, SHUTDOWN SAVE and the start from what they wrote, by the program.</summary>
public sealed class SnapshotTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-snapshot-").FullName;

    private string DumpFile => Path.Combine(_directory, "dump.rdb");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("yes", "yes")]
    [InlineData("no", "no")]
    public void A_server_starts_with_what_the_last_one_saved(string compression, string checksum)
    {
        string digest, values;
        using (var kv = Start("--rdbcompression", compression, "--rdbchecksum", checksum))
        using (var client = kv.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom());
            client.Ok("SET gone v PX 1");
            long before = client.Ok("LASTSAVE").Integer;
            (digest, values) = Content(client);
            client.Ok("SAVE");
            Assert.InRange(client.Ok("LASTSAVE").Integer, before, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
            Assert.Equal("1", client.Info("rdb_saves"));
            client.Ok("SET later v");
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal((digest, values), Content(again));
        Assert.Equal(42, again.Ok("FCALL answer 0").Integer);
        Assert.Equal(0, again.Ok("EXISTS later gone").Integer);
        Assert.Equal(33177117420000, again.Ok("PEXPIRETIME e").Integer);
        Assert.InRange(again.Ok("TTL h20").Integer, 1, 100_000);
        Assert.True(int.Parse(again.Info("rdb_last_load_keys_loaded")) > 40);
        Assert.Contains("DB loaded from disk: ", next.Log, StringComparison.Ordinal);
        again.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void The_reference_starts_from_our_snapshot_and_finds_the_same_data()
    {
        string digest;
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom());
            digest = client.Ok("DEBUG DIGEST").String;
            client.Ok("SAVE");
        }

        var check = ChildProcess.Run(Requires.Tool("redis-check-rdb"), [DumpFile]);
        Assert.True(check.ExitCode == 0, check.Output);
        using var redis = RedisServer.Start("--dir", _directory);
        using var theirs = redis.Connect();
        Assert.Equal(digest, theirs.Ok("DEBUG DIGEST").String);
        Assert.Equal(42, theirs.Ok("FCALL answer 0").Integer);
        Assert.InRange(theirs.Ok("TTL h20").Integer, 1, 100_000);
    }

    [Fact]
    public void We_start_from_a_snapshot_of_the_reference_and_have_the_same_data()
    {
        string digest;
        using (var redis = RedisServer.Start("--dir", _directory, "--proto-max-bulk-len", "512mb"))
        using (var client = redis.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom());
            digest = client.Ok("DEBUG DIGEST").String;
            client.Ok("SAVE");
        }

        using var kv = Start();
        using var ours = kv.Connect();
        Assert.Equal(digest, ours.Ok("DEBUG DIGEST").String);
        Assert.Equal(42, ours.Ok("FCALL answer 0").Integer);
        Assert.Equal(33177117420000, ours.Ok("PEXPIRETIME e").Integer);
        ours.Ok("DEBUG INTEGRITY");
    }

    [Fact]
    public void Fields_that_expire_come_back_with_their_times()
    {
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            client.Ok("HSET h a 1 b 2 c 3");
            client.Ok("HPEXPIREAT h 33177117420000 FIELDS 1 b");
            client.Ok("SAVE");
            Assert.StartsWith("REDIS0012", File.ReadAllText(DumpFile), StringComparison.Ordinal);
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal([-1, 33177117420000, -1],
            again.Ok("HPEXPIRETIME h FIELDS 3 a b c").Items!.Select(item => item.Integer));
    }

    [Fact]
    public void SHUTDOWN_SAVE_saves_and_ends_in_order()
    {
        var kv = Start();
        using (kv)
        {
            using var client = kv.Connect();
            client.Ok("SET k v");
            client.Send("SHUTDOWN SAVE");
            kv.Process.WaitForExit();
            Assert.Equal(0, kv.Process.ExitCode);
        }

        using var next = Start();
        using var again = next.Connect();
        Assert.Equal("v", again.Ok("GET k").String);
    }

    [Fact]
    public void What_cannot_be_saved_is_an_error_and_the_server_goes_on()
    {
        using var kv = Start();
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Ok("SET k v");
        Directory.CreateDirectory(DumpFile);        // no file can take its place
        Assert.StartsWith("ERR ", client.Command("SAVE").String, StringComparison.Ordinal);
        Assert.Equal("ERR Errors trying to SHUTDOWN. Check logs.", client.Command("SHUTDOWN SAVE").String);
        other.Ok("SET k w");
        Assert.Empty(Directory.GetFiles(_directory));
        Assert.Equal("0", client.Info("rdb_saves"));
        Directory.Delete(DumpFile);
        client.Ok("SAVE");
        client.Send("SHUTDOWN SAVE FORCE");
        kv.Process.WaitForExit();
        Assert.Equal(0, kv.Process.ExitCode);
    }

    [Fact]
    public void A_damaged_file_stops_the_start_with_place_and_remedy_and_stays_as_it_is()
    {
        byte[] bytes;
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            client.Ok("SET k v");
            client.Ok("SAVE");
            bytes = File.ReadAllBytes(DumpFile);
        }

        bytes[^9] ^= 1;
        File.WriteAllBytes(DumpFile, bytes);
        using var failing = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory);
        failing.Process.WaitForExit();
        Assert.Equal(1, failing.Process.ExitCode);
        Assert.Contains($"Can't load {DumpFile}: ", failing.Log, StringComparison.Ordinal);
        Assert.Contains("--dbfilename", failing.Log, StringComparison.Ordinal);
        Assert.Equal(bytes, File.ReadAllBytes(DumpFile));
    }

    [Fact]
    public void What_has_the_name_of_the_snapshot_and_cannot_be_read_stops_the_start()
    {
        Directory.CreateDirectory(DumpFile);
        using (var failing = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory))
        {
            failing.Process.WaitForExit();
            Assert.Equal(1, failing.Process.ExitCode);
            Assert.Contains($"Can't load {DumpFile}: it is a folder", failing.Log, StringComparison.Ordinal);
        }

        Directory.Delete(DumpFile);
        Assert.Equal(0, ChildProcess.Run(Requires.Tool("mkfifo"), [DumpFile]).ExitCode);
        using (var failing = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory))
        {
            failing.Process.WaitForExit();
            Assert.Equal(1, failing.Process.ExitCode);
            Assert.Contains($"Can't load {DumpFile}: it is a pipe", failing.Log, StringComparison.Ordinal);
        }

        string name = new('x', 300);
        using var other = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory, "--dbfilename", name);
        other.Process.WaitForExit();
        Assert.Equal(1, other.Process.ExitCode);
        Assert.Contains($"Can't load {Path.Combine(_directory, name)}: ", other.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void Keys_of_more_databases_than_there_are_stop_the_start()
    {
        using (var kv = Start("--databases", "20"))
        using (var client = kv.Connect())
        {
            client.Ok("SELECT 19");
            client.Ok("SET k v");
            client.Ok("SAVE");
        }

        using var failing = KvProcess.StartOn(ServerProgram.FreePort(), "--dir", _directory);
        failing.Process.WaitForExit();
        Assert.Contains("start with --databases 20", failing.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void Under_a_policy_that_evicts_a_large_file_is_loaded_into_the_memory_that_there_may_be()
    {
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            client.Ok("DEBUG POPULATE 200000 key 100");
            client.Ok("SAVE");
        }

        using (var small = Start("--maxmemory", "16mb", "--maxmemory-policy", "allkeys-lru"))
        using (var client = small.Connect())
        {
            Assert.True(long.Parse(client.Info("used_memory")) < 20 << 20);
            Assert.InRange(client.Ok("DBSIZE").Integer, 1, 199_999);
            client.Ok("SET k v");
        }

        using var full = Start("--maxmemory", "16mb");
        using var refused = full.Connect();
        Assert.Equal(200_000, refused.Ok("DBSIZE").Integer);
        Assert.StartsWith("OOM ", refused.Command("SET k v").String, StringComparison.Ordinal);
    }

    private KvProcess Start(params string[] options) =>
        KvProcess.Start(["--dir", _directory, "--enable-debug-command", "yes", .. options]);

    private static (string Digest, string Values) Content(RespClient client)
    {
        string groups = string.Join(' ', DataOfAllTypes.Counts.Select(count =>
            $"{client.Ok($"XPENDING x{count} group")} {client.Ok($"OBJECT ENCODING l{count}")} "
            + $"{client.Ok($"OBJECT ENCODING h{count}")} {client.Ok($"XINFO STREAM x{count}")}"));
        return (client.Ok("DEBUG DIGEST").String, groups);
    }
}
