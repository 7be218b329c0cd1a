using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>RESTORE of long values: in steps, between which others are served; it happens when it is done.</summary>
public sealed class LongRestoreTests
{
    private const int Many = 30_000;

    public static TheoryData<string> Types => ["string", "compressed", "list", "set", "hash", "scores", "stream"];

    [Theory, MemberData(nameof(Types))]
    public void What_is_restored_in_steps_is_what_was_dumped(string type)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        byte[] dump = Fill(client, type);
        int served = 0;
        client.Between = step =>
        {
            // Nobody sees anything of it, nor has to wait for it.
            Assert.Equal(":0\r\n", other.Run("EXISTS copy"));
            Assert.Equal("+PONG\r\n", other.Run("PING"));
            served++;
        };
        Assert.Equal("OK", client.Call(Words("RESTORE", "copy", "0", dump)).String);
        Assert.True(served >= 3, $"{served} steps");
        client.Between = null;
        byte[][] content = Content(client, type, "key");
        Assert.Equal(content, Content(client, type, "copy"));
        Assert.Equal("BUSYKEY Target key name already exists.",
            client.Call(Words("RESTORE", "copy", "0", dump)).String);

        // In a transaction all at once.
        client.Run("MULTI");
        client.Call(Words("RESTORE", "copy", "0", dump, "REPLACE"));
        client.Run("EXEC");
        Assert.Equal(content, Content(client, type, "copy"));
        instance.Server.Store.CheckIntegrity();
    }

    [Theory]
    [InlineData("SET copy v", "", "BUSYKEY Target key name already exists.", "$1\r\nv\r\n")]
    [InlineData("SET copy v", "REPLACE", "OK", "list")]
    [InlineData("RENAME old copy", "", "BUSYKEY Target key name already exists.", "$3\r\nold\r\n")]
    [InlineData("FLUSHALL", "", "OK", "list")]
    [InlineData("FLUSHALL", "REPLACE", "OK", "list")]
    [InlineData("DEL copy", "REPLACE", "OK", "list")]
    [InlineData("SWAPDB 0 1", "", "OK", "list")]
    public void What_others_do_with_the_key_meanwhile_comes_before(string line, string option, string answer,
        string left)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        byte[] dump = Fill(client, "list");
        foreach (int at in new[] { 1, 3 })
        {
            client.Run("FLUSHALL");
            client.Run("SET old old");
            if (option == "REPLACE") client.Run("SET copy before");
            client.Between = step =>
            {
                if (step == at) other.Run(line);
            };
            byte[][] words = Words("RESTORE", "copy", "0", dump);
            Assert.Equal(answer, client.Call(option.Length == 0
                ? words : [.. words, Encoding.Latin1.GetBytes(option)]).String);
            client.Between = null;
            if (left == "list") Assert.Equal(dump, client.Call(Words("DUMP", "copy")).Text!);
            else Assert.Equal(left, client.Run("GET copy"));
        }

        instance.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(Types))]
    public void A_damaged_payload_or_refused_memory_leaves_the_key_as_it_was(string type)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        byte[] dump = Fill(client, type), damaged = (byte[])dump.Clone();
        damaged[damaged.Length / 2] ^= 1;
        client.Run("SET copy before");
        Assert.Equal("ERR DUMP payload version or checksum are wrong",
            client.Call(Words("RESTORE", "copy", "0", damaged, "REPLACE")).String);
        Assert.Equal("$6\r\nbefore\r\n", client.Run("GET copy"));
        Random random = Seed.NewRandom();
        var store = instance.Server.Store;
        store.Maintain();
        long used = store.UsedBytes;
        for (int round = 0; round < 12; round++)
        {
            int refused = random.Next(1, 25), asked = 0;
            store.Budget.Refuse = () => ++asked == refused;
            string answer = client.Call(Words("RESTORE", "copy", "0", dump, "REPLACE")).String;
            store.Budget.Refuse = null;
            if (answer == "OK") client.Run("SET copy before");
            else Assert.StartsWith("OOM", answer, StringComparison.Ordinal);
            Assert.Equal("$6\r\nbefore\r\n", client.Run("GET copy"));
        }

        store.CheckIntegrity();
        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.UsedBytes - used < 64 * 1024;
            },
            () => $"{store.UsedBytes - used} bytes more than before");
    }

    [Fact]
    public void A_time_that_passes_meanwhile_leaves_nothing()
    {
        var clock = new TestClock();
        using var instance = KvInstance.Start(clock);
        using var client = new WindowClient(instance);
        byte[] dump = Fill(client, "list");
        client.Run("SET copy before");
        client.Between = step =>
        {
            if (step == 2) clock.Advance(20_000);
        };
        Assert.Equal("OK", client.Call(Words("RESTORE", "copy", "10000", dump, "REPLACE")).String);
        client.Between = null;
        Assert.Equal(":0\r\n", client.Run("EXISTS copy"));
        Assert.Equal("OK", client.Call(Words("RESTORE", "copy", "10000", dump, "REPLACE")).String);
        Assert.Equal(":10000\r\n", client.Run("PTTL copy"));
        Assert.Equal(dump, client.Call(Words("DUMP", "copy")).Text!);
    }

    [Theory, MemberData(nameof(Types))]
    public void A_client_that_leaves_gives_everything_back(string type)
    {
        using var instance = KvInstance.Start();
        var store = instance.Server.Store;
        byte[] dump;
        using (var client = new WindowClient(instance)) dump = Fill(client, type);
        store.Maintain();
        long used = store.UsedBytes;
        for (int at = 1; at < 6; at++)
        {
            var leaver = new WindowClient(instance);
            leaver.LeaveAfter(at);
            Assert.Throws<OperationCanceledException>(() => leaver.Call(Words("RESTORE", "copy", "0", dump)));
            leaver.Dispose();
        }

        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.UsedBytes - used < 64 * 1024;
            },
            () => $"{store.UsedBytes - used} bytes more than before");
        using var after = new WindowClient(instance);
        Assert.Equal(":0\r\n", after.Run("EXISTS copy"));
    }

    /// <summary>Makes a long value.</summary>
    /// <returns>What DUMP answers.</returns>
    private static byte[] Fill(WindowClient client, string type)
    {
        Random random = Seed.NewRandom();
        if (type is "string" or "compressed")
        {
            byte[] text = new byte[6_000_000];
            if (type == "string") random.NextBytes(text);
            else for (int i = 0; i < text.Length; i++) text[i] = (byte)random.Next('a', 'c');
            client.Call(Words("SET", "key", text));
        }

        for (int i = 0; i < Many; i += 1000)
        {
            int[] range = [.. Enumerable.Range(i, 1000)];
            if (type == "list")
                client.Run("RPUSH key " + string.Join(' ', range.Select(n => $"element:{n}:{random.Next()}")));
            else if (type == "set") client.Run("SADD key " + string.Join(' ', range.Select(n => $"member:{n}")));
            else if (type == "hash") client.Run("HSET key " + string.Join(' ', range.Select(n => $"f{n} value:{n}")));
            else if (type == "scores")
                client.Run("ZADD key " + string.Join(' ', range.Select(n => $"{random.Next(1000)} m{n}")));
            else if (type == "stream")
                foreach (int n in range) client.Run($"XADD key {n + 1}-1 field value:{n} other {random.Next()}");
        }

        if (type == "stream")
        {
            client.Run("XGROUP CREATE key group 0");
            client.Run("XREADGROUP GROUP group consumer COUNT 9000 STREAMS key >");
            client.Run("XREADGROUP GROUP group another COUNT 9000 STREAMS key >");
        }

        return client.Call(Words("DUMP", "key")).Text!;
    }

    /// <summary>All that there is of a value. The members of a set and the fields of a hash have no order: where many
    /// have one bucket, theirs is that of their coming.</summary>
    private static byte[][] Content(WindowClient client, string type, string key) => type switch
    {
        "set" => [.. client.Call(Words("SMEMBERS", key)).Items!.Select(item => item.Text!)
            .OrderBy(Latin1, StringComparer.Ordinal)],
        "hash" => [.. client.Call(Words("HGETALL", key)).Items!.Select(item => item.Text!).Chunk(2)
            .OrderBy(pair => Latin1(pair[0]), StringComparer.Ordinal).SelectMany(pair => pair)],
        _ => [client.Call(Words("DUMP", key)).Text!],
    };

    private static string Latin1(byte[] text) => Encoding.Latin1.GetString(text);

    private static byte[][] Words(params object[] words) =>
        [.. words.Select(word => word as byte[] ?? Encoding.Latin1.GetBytes((string)word))];
}
