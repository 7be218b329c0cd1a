using Kv.Tests.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>aof-use-rdb-preamble no: the base of the append-only file is made of commands.</summary>
public sealed class CommandBaseTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-base-").FullName;

    private string Folder => Path.Combine(_directory, "appendonlydir");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void Both_servers_start_from_it_with_all_types_and_what_was_changed_since()
    {
        using (var kv = Start("--aof-use-rdb-preamble", "no"))
        using (var client = kv.Connect())
        {
            DataOfAllTypes.Fill(client, Seed.NewRandom());
            FillStreams(client);
            Rewrite(client);
            Assert.Equal(["appendonly.aof.1.base.aof", "appendonly.aof.2.incr.aof"],
                FileNames());
            string text = Reply.Latin(File.ReadAllBytes(Path.Combine(Folder, "appendonly.aof.1.base.aof")));
            Assert.StartsWith("#KV1 ", text, StringComparison.Ordinal);
            Assert.Contains("FUNCTION\r\n$4\r\nLOAD\r\n", text, StringComparison.Ordinal);
            client.Say("SELECT 0\nSET since 1\nRPUSH l1 since\nXACK groups g 2-1");
        }

        var check = ChildProcess.Run(Requires.Tool("redis-check-aof"),
            [Path.Combine(Folder, "appendonly.aof.manifest")]);
        Assert.True(check.ExitCode == 0, check.Output);
        using var ours = Start();
        using var again = ours.Connect();
        Assert.Equal(42, again.Ok("FCALL answer 0").Integer);
        Assert.Equal("1", again.Ok("GET since").String);
        again.Ok("DEBUG INTEGRITY");
        using var redis = RedisServer.Start("--dir", _directory, "--appendonly", "yes", "--proto-max-bulk-len",
            "512mb");
        Assert.Null(FeedState.Compare(ours, redis));
        using var theirs = redis.Connect();
        Assert.Equal(42, theirs.Ok("FCALL answer 0").Integer);
        foreach (string key in (string[])["groups", "emptied", "never"])
            Assert.Equal(Facts(theirs, key), Facts(again, key));
        // What is pending of an entry that was deleted is left out, as by Redis.
        Assert.Equal(1, again.Ok("XPENDING groups g").Items![0].Integer);
    }

    [Fact]
    public void It_goes_by_the_option_of_the_moment_and_keeps_the_times_of_fields()
    {
        using (var kv = Start())
        using (var client = kv.Connect())
        {
            client.Say("SET a 1\nHSET h f 1 g 2\nHPEXPIREAT h 33177117420000 FIELDS 1 f\n"
                + "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() return 1 end)\"");
            Rewrite(client);
            Assert.Contains("appendonly.aof.1.base.rdb", FileNames());
            client.Ok("CONFIG SET aof-use-rdb-preamble no");
            Rewrite(client);
            Assert.Contains("appendonly.aof.2.base.aof", FileNames());
            client.Ok("DEBUG LOADAOF");
            Assert.Equal(1, client.Ok("FCALL f 0").Integer);
            Assert.Equal(33177117420000, client.Ok("HPEXPIRETIME h FIELDS 1 f").Items![0].Integer);
            Assert.Equal(-1, client.Ok("HPEXPIRETIME h FIELDS 1 g").Items![0].Integer);
            client.Ok("CONFIG SET appendonly no");
            // Until then it could still be gone on with, without a new base.
            Eventually.Holds(() => !kv.Server.Feed.IsOn, () => client.Ok("INFO persistence").String);
            client.Ok("CONFIG SET appendonly yes");
            Eventually.Holds(() => client.Info("aof_enabled") == "1" && client.Info("aof_rewrite_in_progress") == "0"
                && FileNames().Contains("appendonly.aof.3.base.aof"), () => string.Join(' ', FileNames()));
            client.Ok("CONFIG SET aof-use-rdb-preamble yes");
            Rewrite(client);
            Assert.Contains("appendonly.aof.4.base.rdb", FileNames());
        }

        Assert.Equal(2, FileNames().Length);
    }

    [Fact]
    public void A_bit_that_is_turned_is_found()
    {
        using (var kv = Start("--aof-use-rdb-preamble", "no"))
        using (var client = kv.Connect())
        {
            client.Say("SET a 1\nRPUSH l a b c");
            Rewrite(client);
        }

        string path = Path.Combine(Folder, "appendonly.aof.1.base.aof");
        byte[] whole = File.ReadAllBytes(path);
        for (int bit = 0; bit < whole.Length * 8; bit += 7)
        {
            byte[] damaged = [.. whole];
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
            File.WriteAllBytes(path, damaged);
            Assert.ThrowsAny<IOException>(() => Start().Dispose());
        }

        File.WriteAllBytes(path, whole);
        Start().Dispose();
    }

    private static void FillStreams(RespClient client)
    {
        client.Say("""
            SELECT 0
            XADD groups 1-1 f v
            XADD groups 2-1 f v g w
            XADD groups 3-1 f v
            XADD groups 4-1 f v
            XGROUP CREATE groups g 0
            XGROUP CREATE groups other 2-1 ENTRIESREAD 2
            XGROUP CREATECONSUMER groups g idle
            XREADGROUP GROUP g c COUNT 3 STREAMS groups >
            XCLAIM groups g d 0 3-1 RETRYCOUNT 7 TIME 1600000000000
            XDEL groups 1-1
            XADD emptied 5-1 f v
            XDEL emptied 5-1
            XGROUP CREATE never g $ MKSTREAM
            """);
    }

    private static string Facts(RespClient client, string key)
    {
        var items = client.Ok($"XINFO STREAM {key}").Items!;
        var facts = new List<string>();
        for (int i = 0; i < items.Count; i += 2)
            if (items[i].String is "length" or "last-generated-id" or "max-deleted-entry-id" or "entries-added"
                or "recorded-first-entry-id" or "groups") facts.Add($"{items[i].String} {items[i + 1]}");
        if (key != "emptied")
            facts.AddRange(client.Ok($"XPENDING {key} g - + 10").Items!.Select(
                entry => $"{entry.Items![0]} {entry.Items[1]} {entry.Items[3]}"));
        return string.Join(", ", facts);
    }

    private static void Rewrite(RespClient client)
    {
        string before = client.Info("aof_rewrites");
        client.Ok("BGREWRITEAOF");
        Eventually.Holds(() => client.Info("aof_rewrite_in_progress") == "0" && client.Info("aof_rewrites") != before,
            () => client.Ok("INFO persistence").String);
    }

    private string[] FileNames() =>
        [.. Directory.GetFiles(Folder, "appendonly.aof.*.*.*").Select(path => Path.GetFileName(path)!)
            .Where(name => !name.EndsWith(".manifest", StringComparison.Ordinal)).Order(StringComparer.Ordinal)];

    private KvInstance Start(params string[] options) =>
        KvInstance.StartOnDisk(_directory, ["--appendonly", "yes", "--enable-debug-command", "yes", .. options]);
}
