using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>BGSAVE beside changes of large collections: those are kept in steps, as they were at the instant, and other
/// clients go on meanwhile.</summary>
public sealed class LargeSnapshotTests : IDisposable
{
    /// <summary>Of each of the collections that are compared, and of the one that others wait for or not: to keep that
    /// takes long enough for them to be seen.</summary>
    private const int Elements = 50_000, ElementsToWaitFor = 200_000;

    private const int PerCommand = 1000;

    /// <summary>Types, with commands that change a large collection of that type at each call.</summary>
    private static readonly (string Key, string Type, string[] Changes)[] Large =
    [
        ("hash", "HSET", ["HSET hash new 1", "HDEL hash 5", "HINCRBY hash 7 3", "HSET hash 8 other"]),
        ("set", "SADD", ["SADD set new", "SPOP set 3", "SREM set m9", "SMOVE set other m10"]),
        ("zset", "ZADD", ["ZADD zset 5 new", "ZPOPMIN zset", "ZREM zset m9", "ZINCRBY zset 7 m11"]),
        ("list", "RPUSH", 
            ["LPUSH list new", "RPOP list", "LSET list 70 x", "LTRIM list 5 -6", "LMOVE list list LEFT RIGHT"]),
        ("stream", "XADD", 
            ["XADD stream * a b", "XDEL stream 5-1", "XTRIM stream MAXLEN 999000", "XGROUP SETID stream g 7-1"]),
    ];

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-large-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void All_large_collections_are_in_the_file_as_they_were_at_the_instant(string transport)
    {
        string digest;
        using (var kv = Start("--transport", transport))
        using (var client = kv.Connect())
        using (var other = kv.Connect())
        {
            foreach (var (key, fill, _) in Large) Fill(client, key, fill, Elements);
            client.Ok("DEBUG POPULATE 20000 small 10");
            client.Ok("XGROUP CREATE stream g 0");
            digest = client.Ok("DEBUG DIGEST").String;
            for (int round = 0; round < 3; round++)
            {
                client.Ok("BGSAVE");
                // The first of each finds its key not kept yet.
                int changes = 0;
                foreach (var (key, _, commands) in Large)
                {
                    foreach (string command in commands)
                    {
                        client.Send(command);
                        changes++;
                    }

                    // Readers go on.
                    Assert.Equal("PONG", other.Ok("PING").String);
                    other.Ok($"OBJECT ENCODING {key}");
                }

                for (int i = 0; i < changes; i++) Assert.False(client.Read().IsError);
                AwaitSave(client);
                client.Ok("DEBUG INTEGRITY");
                using (var next = Start())
                using (var again = next.Connect()) Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
                digest = client.Ok("DEBUG DIGEST").String;
            }
        }
    }

    [Theory]
    [InlineData("SADD key new", "SADD")]
    [InlineData("DEL key", "HSET")]
    [InlineData("RENAME key other", "ZADD")]
    [InlineData("SUNIONSTORE key small", "RPUSH")]
    [InlineData("EXEC", "SADD")]
    [InlineData("EVAL \"return redis.call('SADD', KEYS[1], 'new')\" 1 key", "SADD")]
    public void Other_clients_are_answered_before_who_changes_a_large_collection_that_is_to_be_kept(string change,
        string fill)
    {
        const int answersMin = 10, roundsMax = 50;
        using var kv = Start();
        using var client = kv.Connect();
        using var other = kv.Connect();
        int answers = 0;
        // The walk may come by first: then there is nothing to wait for.
        for (int round = 0; round < roundsMax && answers < answersMin; round++)
        {
            client.Ok("FLUSHALL");
            Fill(client, "key", fill, ElementsToWaitFor);
            client.Ok("SADD small 1");
            string digest = client.Ok("DEBUG DIGEST").String;
            if (change == "EXEC")
            {
                foreach (string part in (string[])["MULTI", "SADD key new", "SREM key m1", "SCARD key"])
                    client.Ok(part);
            }

            other.Ok("BGSAVE");
            client.Send(change);
            answers = 0;
            // Ends: the change is made at last.
            while (client.Socket.Available == 0)
            {
                other.Ok("GET absent");
                answers++;
            }

            Assert.False(client.Read().IsError);
            AwaitSave(client);
            client.Ok("DEBUG INTEGRITY");
            using var next = Start();
            using var again = next.Connect();
            Assert.Equal(digest, again.Ok("DEBUG DIGEST").String);
        }

        Assert.InRange(answers, answersMin, int.MaxValue);
    }

    private static void Fill(RespClient client, string key, string command, int elements)
    {
        for (int from = 0; from < elements; from += PerCommand)
        {
            if (command == "XADD")
            {
                for (int i = from; i < from + PerCommand; i++) client.Send($"XADD {key} {i + 1}-1 field {i}");
                for (int i = from; i < from + PerCommand; i++) client.Read();
                continue;
            }

            var words = new List<byte[]> { RespText.Bytes(command), RespText.Bytes(key) };
            for (int i = from; i < from + PerCommand; i++)
            {
                if (command is "HSET" or "ZADD") words.Add(RespText.Bytes($"{i}"));
                words.Add(RespText.Bytes(command == "HSET" ? $"{i}" : $"m{i}"));
            }

            Assert.False(client.Command([.. words]).IsError);
        }
    }

    private KvProcess Start(params string[] options) =>
        KvProcess.Start(["--dir", _directory, "--enable-debug-command", "local", "--worker-threads", "1", .. options]);

    private static void AwaitSave(RespClient client) =>
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => "it has come to nothing");
}
