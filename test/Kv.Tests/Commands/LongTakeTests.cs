using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Very many elements from the ends of lists and sorted sets, in steps: what goes wrong before the first one
/// is taken changes nothing.</summary>
public sealed class LongTakeTests
{
    private const int Many = 20_000;

    private static readonly (string Key, string Line)[] Takes =
    [
        ("list", "LPOP list 10000"), ("list", "RPOP list 100000"), ("list", "LMPOP 2 none list RIGHT COUNT 9000"),
        ("list", "BLMPOP 0 1 list LEFT COUNT 100000"),
        ("scores", "ZPOPMIN scores 10000"), ("scores", "ZPOPMAX scores 100000"),
        ("scores", "ZMPOP 2 none scores MAX COUNT 9000"), ("scores", "BZMPOP 0 1 scores MIN COUNT 100000"),
    ];

    [Fact]
    public void A_reply_that_is_too_large_is_an_error_and_takes_nothing()
    {
        using var instance = KvInstance.Start("--max-reply-bytes", "1048576");
        using var client = new WindowClient(instance);
        using var watcher = new WindowClient(instance);
        Fill(client, new string('x', 200));
        foreach (var (key, line) in Takes)
        {
            string before = client.Run($"{(key == "list" ? "LRANGE" : "ZRANGE")} {key} 0 3000"),
                count = Count(client, key);
            watcher.Run($"WATCH {key}");
            Assert.StartsWith("-ERR", client.Run(line), StringComparison.Ordinal);
            Assert.True(client.Steps > 2, $"{line}: {client.Steps} steps");
            watcher.Run("MULTI");
            Assert.Equal("*0\r\n", watcher.Run("EXEC"));
            Assert.Equal($":{Many}\r\n", count);
            Assert.Equal(count, Count(client, key));
            Assert.Equal(before, client.Run($"{(key == "list" ? "LRANGE" : "ZRANGE")} {key} 0 3000"));
            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void Who_watches_the_key_hears_of_what_was_taken()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var watcher = new WindowClient(instance);
        foreach (var (key, line) in Takes)
        {
            Fill(client, "x");
            watcher.Run($"WATCH {key}");
            client.Run(line);
            watcher.Run("MULTI");
            Assert.Equal("*-1\r\n", watcher.Run("EXEC"));
        }
    }

    // Each element of 5 KB: some 52 of them are 256 KB of the reply.
    [Theory]
    [InlineData("LRANGE list 0 -1")]
    [InlineData("LPOP list 6000")]
    [InlineData("RPOP list 7000")]
    [InlineData("ZRANGE scores 0 -1")]
    [InlineData("ZPOPMAX scores 6000")]
    [InlineData("SMEMBERS set")]
    [InlineData("SPOP set 5000")]
    [InlineData("SRANDMEMBER set 5000")]
    [InlineData("SUNION set none")]
    [InlineData("HVALS hash")]
    [InlineData("HRANDFIELD hash -5000 WITHVALUES")]
    public void Elements_of_many_bytes_are_fewer_in_a_step(string line)
    {
        const int elements = 6000;
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        string filler = new('e', 5_000), key = line.Split(' ')[1];
        for (int i = 0; i < elements; i += 100)
        {
            var range = Enumerable.Range(i, 100);
            if (key == "list") client.Run("RPUSH list " + string.Join(' ', range.Select(n => filler + n)));
            else if (key == "set") client.Run("SADD set " + string.Join(' ', range.Select(n => filler + n)));
            else if (key == "hash") client.Run("HSET hash " + string.Join(' ', range.Select(n => $"f{n} {filler}{n}")));
            else client.Run("ZADD scores " + string.Join(' ', range.Select(n => $"{n} {filler}{n}")));
        }

        int worked = 0, passed = 0;
        long charged = instance.Server.Store.Budget.ExternalBytes;
        client.Between = _ =>
        {
            // While it works more and more is collected; then it is passed on, 512 KB and more each time.
            long now = instance.Server.Store.Budget.ExternalBytes;
            if (now >= charged) worked++;
            else passed++;
            charged = now;
        };
        client.Run(line);
        Assert.True(worked >= 5000 / 108, $"{worked} steps, {passed} for what was collected");
    }

    private static string Count(WindowClient client, string key) =>
        client.Run($"{(key == "list" ? "LLEN" : "ZCARD")} {key}");

    private static void Fill(WindowClient client, string filler)
    {
        client.Run("DEL list scores");
        for (int i = 0; i < Many; i += 1000)
        {
            var range = Enumerable.Range(i, 1000);
            client.Run("RPUSH list " + string.Join(' ', range.Select(n => filler + n)));
            client.Run("ZADD scores " + string.Join(' ', range.Select(n => $"{n % 77} {filler}{n}")));
        }
    }
}
