using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Commands;

/// <summary>XREAD and XREADGROUP that wait: what serves them, in which order, and how else a wait ends.</summary>
public sealed class StreamBlockingTests
{
    private const string Entries = "XADD k 1-0 a 1\nXGROUP CREATE k g $",
        Group = "XREADGROUP GROUP g c BLOCK 0 STREAMS k >", Two = "XREAD BLOCK 0 STREAMS j k $ $",
        TwoGroups = Entries + "\nXGROUP CREATE j g $ MKSTREAM",
        TwoOfGroup = "XREADGROUP GROUP g c BLOCK 0 STREAMS j k > >";

    private const string One = "{\"k\" [[\"2-0\" [\"a\" \"1\"]]]}", One2 = "[[\"k\" [[\"2-0\" [\"a\" \"1\"]]]]]";

    // As 7.0.15 answers.
    private const string NoKey = "-UNBLOCKED the stream key no longer exists",
        NoGroup = "-NOGROUP the consumer group this client was blocked on no longer exists";

    /// <summary>What is there before, who waits, the commands, and the answer of the one who waits, in RESP3 and in
    /// RESP2.</summary>
    public static TheoryData<string, string, string, string, string> Endings => new()
    {
        { "", "XREAD BLOCK 0 STREAMS k $", "XADD k 1-0 a 1", "{\"k\" [[\"1-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"1-0\" [\"a\" \"1\"]]]]]" },
        { Entries, "XREAD BLOCK 0 STREAMS k $", "XADD k 2-0 a 1", "{\"k\" [[\"2-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"2-0\" [\"a\" \"1\"]]]]]" },
        { Entries, "XREAD COUNT 1 BLOCK 0 STREAMS k 5-0",
            "XADD k 2-0 a 1\nXADD k 5-0 a 2\nMULTI\nXADD k 6-0 a 3\nXADD k 7-0 a 4\nEXEC",
            "{\"k\" [[\"6-0\" [\"a\" \"3\"]]]}", "[[\"k\" [[\"6-0\" [\"a\" \"3\"]]]]]" },
        { Entries, "XREAD BLOCK 0 STREAMS j k 0 $", "MULTI\nXADD k 2-0 a 1\nXADD j 3-0 b 2\nEXEC",
            One, One2 },
        // Only the key that is ready counts, whatever has become of the other.
        { "", Two, "SET j v\nXADD k 2-0 a 1", One, One2 },
        { "", Two, "RPUSH j v\nXADD k 2-0 a 1", One, One2 },
        { "XADD j 1-0 a 1", Two, "DEL j\nSET j v\nXADD k 2-0 a 1", One, One2 },
        { "", Two, "MULTI\nXADD k 2-0 a 1\nSET j v\nEXEC", One, One2 },
        { "", Two, "MULTI\nXADD j 1-0 a 1\nDEL j\nSET j v\nXADD k 2-0 a 1\nEXEC", One, One2 },
        { TwoGroups, TwoOfGroup, "MULTI\nXADD k 2-0 a 1\nXADD j 1-0 a 1\nEXEC", One, One2 },
        { TwoGroups, TwoOfGroup, "MULTI\nXADD k 2-0 a 1\nSET j v\nEXEC", One, One2 },
        { TwoGroups, TwoOfGroup, "MULTI\nXADD k 2-0 a 1\nDEL j\nEXEC", One, One2 },
        { TwoGroups, TwoOfGroup, "MULTI\nDEL j\nXADD k 2-0 a 1\nEXEC", NoKey, "" },
        { TwoGroups, TwoOfGroup, "MULTI\nSET j v\nXADD k 2-0 a 1\nEXEC", NoKey, "" },
        { TwoGroups, TwoOfGroup, "MULTI\nXGROUP DESTROY j g\nXADD k 2-0 a 1\nEXEC", NoGroup, "" },
        { TwoGroups, TwoOfGroup, "DEL j", NoKey, "" },
        { TwoGroups + "\nXADD s 9-0 a 1", TwoOfGroup, "RENAME s j", NoGroup, "" },
        { TwoGroups + "\nSET s v", TwoOfGroup, "RENAME s j", NoKey, "" },
        { Entries, "XREAD BLOCK 0 STREAMS k $", "SET k v\nDEL k\nRPUSH k a\nDEL k\nXADD k 1-0 a 0\nXADD k 9-0 a 1",
            "{\"k\" [[\"9-0\" [\"a\" \"1\"]]]}", "[[\"k\" [[\"9-0\" [\"a\" \"1\"]]]]]" },
        { "XADD s 4-0 a 1", "XREAD BLOCK 0 STREAMS k 1", "RENAME s k", "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "XADD s 4-0 a 1", "XREAD BLOCK 0 STREAMS k $", "COPY s k", "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "SELECT 1\nXADD k 4-0 a 1\nSELECT 0", "XREAD BLOCK 0 STREAMS k $", "SWAPDB 0 1",
            "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}", "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "SET j v", "XREAD BLOCK 0 STREAMS k $", "XGROUP CREATE k g 0 MKSTREAM\nXADD k 2-0 a 1 b 2",
            "{\"k\" [[\"2-0\" [\"a\" \"1\" \"b\" \"2\"]]]}", "[[\"k\" [[\"2-0\" [\"a\" \"1\" \"b\" \"2\"]]]]]" },
        { "", "XREAD BLOCK 0 STREAMS k $", "XADD k NOMKSTREAM 1-0 a 0\nXADD k 4-0 a 1",
            "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}", "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "XADD s 4-0 a 1", "XREAD BLOCK 0 STREAMS k 1", "RENAMENX s k", "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "SELECT 1\nXADD k 4-0 a 1", "XREAD BLOCK 0 STREAMS k $", "MOVE k 0", "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { "SELECT 1\nXADD k 4-0 a 1", "XREAD BLOCK 0 STREAMS k $", "COPY k k DB 0", "{\"k\" [[\"4-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"4-0\" [\"a\" \"1\"]]]]]" },
        { Entries, Group, "XADD k 2-0 a 1", "{\"k\" [[\"2-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"2-0\" [\"a\" \"1\"]]]]]" },
        { Entries, "XREADGROUP GROUP g c COUNT 1 NOACK BLOCK 0 STREAMS k >",
            "MULTI\nXADD k 2-0 a 1\nXADD k 3-0 a 1\nEXEC", "{\"k\" [[\"2-0\" [\"a\" \"1\"]]]}",
            "[[\"k\" [[\"2-0\" [\"a\" \"1\"]]]]]" },
        { TwoGroups, TwoOfGroup, "XADD k 2-0 a 1", One, One2 },
        { Entries, Group, "XGROUP DESTROY k g", NoGroup, "" },
        { Entries, Group, "DEL k", NoKey, "" },
        { Entries, Group, "FLUSHALL", NoKey, "" },
        { Entries, Group, "RENAME k j", NoKey, "" },
        { Entries, Group, "SET k v", NoKey, "" },
        { Entries, Group, "MULTI\nDEL k\nSADD k a\nEXEC", NoKey, "" },
        { Entries + "\nSELECT 1\nSET k v\nSELECT 0", Group, "SWAPDB 0 1", NoKey, "" },
        { TwoGroups, TwoOfGroup, "XGROUP DESTROY k g", NoGroup, "" },
        { Entries, Group,
            "XGROUP CREATE k h 0\nXREADGROUP GROUP h c STREAMS k >\nXACK k h 1-0\nXDEL k 1-0\nXTRIM k MAXLEN 0\nXADD "
            + "k 2-0 a 1", "{\"k\" [[\"2-0\" [\"a\" \"1\"]]]}", "[[\"k\" [[\"2-0\" [\"a\" \"1\"]]]]]" },
    };

    [Theory, MemberData(nameof(Endings))]
    public void What_comes_ends_the_wait(string before, string wait, string commands, string reply, string reply2) =>
        WaitRun.Check(before, wait, commands, reply, reply2);

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Each_reader_gets_all_and_each_consumer_its_own_in_the_order_in_which_they_came(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var other = server.Connect();
        other.Say("XGROUP CREATE k g 0 MKSTREAM");
        var readers = Enumerable.Range(0, 3).Select(_ => server.Connect()).ToList();
        var consumers = Enumerable.Range(0, 4).Select(_ => server.Connect()).ToList();
        for (int i = 0; i < 4; i++)
        {
            server.Block(consumers[i], $"XREADGROUP GROUP g c{i} COUNT 1 BLOCK 0 STREAMS k >");
            if (i < 3) server.Block(readers[i], "XREAD BLOCK 0 STREAMS k $");
        }

        other.Say("MULTI\nXADD k 1-0 a 1\nXADD k 2-0 a 2\nXADD k 3-0 a 3\nEXEC");
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal($"[[\"k\" [[\"{i + 1}-0\" [\"a\" \"{i + 1}\"]]]]]", consumers[i].Read().ToString());
            Assert.Equal("[[\"k\" [[\"1-0\" [\"a\" \"1\"]] [\"2-0\" [\"a\" \"2\"]] [\"3-0\" [\"a\" \"3\"]]]]]",
                readers[i].Read().ToString());
        }

        Assert.Equal(1, server.Server.Blocked.Count);
        Assert.Equal(":3", other.Ok("XACK k g 1-0 2-0 3-0").ToString());
        other.Ok("XADD k 4-0 a 4");
        Assert.Equal("[[\"k\" [[\"4-0\" [\"a\" \"4\"]]]]]", consumers[3].Read().ToString());
        Assert.Equal("[:1 \"4-0\" \"4-0\" [[\"c3\" \"1\"]]]", other.Ok("XPENDING k g").ToString());
        readers.Concat(consumers).ToList().ForEach(client => client.Dispose());
    }

    [Fact]
    public void Time_that_passes_and_CLIENT_UNBLOCK_end_the_wait()
    {
        using var server = KvInstance.Start();
        using var waiting = server.Connect();
        using var other = server.Connect();
        other.Say(Entries);
        Assert.True(waiting.Ok("XREAD BLOCK 5 STREAMS k $").IsNull);
        Assert.True(waiting.Ok("XREADGROUP GROUP g c BLOCK 5 STREAMS k >").IsNull);
        string id = waiting.Ok("CLIENT ID").ToString()[1..];
        server.Block(waiting, "XREAD BLOCK 0 STREAMS k $");
        Assert.Equal(":1", other.Ok($"CLIENT UNBLOCK {id} ERROR").ToString());
        Assert.StartsWith("-UNBLOCKED", waiting.Read().ToString(), StringComparison.Ordinal);
        server.Block(waiting, Group);
        Assert.Equal(":1", other.Ok($"CLIENT UNBLOCK {id}").ToString());
        Assert.True(waiting.Read().IsNull);
        Assert.Equal(0, server.Server.Blocked.Count);
    }

    // What was added is delivered once each, whoever waits when and on whatever thread.
    [Fact]
    public async Task Consumers_that_wait_beside_each_other_get_each_entry_once()
    {
        const int entries = 2000, workers = 4;
        using var server = KvInstance.Start("--worker-threads", "2");
        using var other = server.Connect();
        other.Say("XGROUP CREATE k g 0 MKSTREAM");
        var got = await Task.WhenAll(Enumerable.Range(0, workers).Select(worker => Task.Run(() =>
        {
            using var client = server.Connect();
            var ids = new List<string>();
            while (true)
            {
                foreach (var entry in client.Ok(
                    $"XREADGROUP GROUP g c{worker} COUNT 3 BLOCK 0 NOACK STREAMS k >").Items![0].Items![1].Items!)
                {
                    if (entry.Items![1].Items![0].String == "end") return ids;
                    ids.Add(entry.Items[0].String);
                }
            }
        })).Append(Task.Run(() =>
        {
            using var client = server.Connect();
            for (int i = 1; i <= entries; i++) client.Ok($"XADD k {i}-0 a {i}");
            // One by one: whoever reads an end reads no second one.
            server.AwaitBlocked(workers);
            for (int i = 0; i < workers; i++)
            {
                client.Ok($"XADD k {entries + 1 + i}-0 end 1");
                server.AwaitBlocked(workers - i - 1);
            }

            return new List<string>();
        })));
        Assert.Equal(entries, got.Sum(ids => ids.Count));
        Assert.Equal(entries, got.SelectMany(ids => ids).Distinct().Count());
    }
}
