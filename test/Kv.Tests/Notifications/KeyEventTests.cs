using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Server.Notifications;
using Kv.Tests.Harness;

namespace Kv.Tests.Notifications;

/// <summary>Which events commands have: as the reference, line by line, in order.</summary>
public sealed class KeyEventTests
{
    public static TheoryData<string> Names => new(EventConversations.All.Select(one => one.Name));

    [Theory, MemberData(nameof(Names))]
    public void The_events_of_each_line_are_those_of_the_reference(string name)
    {
        string[] lines = EventConversations.All.Single(one => one.Name == name).Lines;
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        Assert.Equal(EventsOf(redis.Server, lines), EventsOf(kv, lines));
    }

    [Fact]
    public void Every_command_that_writes_is_in_a_conversation_or_has_a_reason()
    {
        var said = EventConversations.All.SelectMany(one => one.Lines)
            .SelectMany(line => line.Split([' ', ';']))
            .Select(word => word.ToUpperInvariant().TrimStart('@')).ToHashSet();
        var writes = AllCommands.Table.All.Where(Writes).Select(row => row.Name).ToList();
        Assert.NotEmpty(writes);
        Assert.DoesNotContain(writes,
            row => !said.Contains(row) && !EventConversations.Without.ContainsKey(row));
        Assert.Empty(EventConversations.Without.Keys.Where(said.Contains).Except(["FLUSHALL", "FLUSHDB"]));
    }

    private static bool Writes(Command row) =>
        (row.Flags & CommandFlags.Write) != 0 || row.Subcommands.Any(Writes);

    [Fact]
    public void Fields_of_hashes_have_the_events_of_7_4()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var events = new EventRecorder(kv);
        events.Run("HSET h a 1 b 2 c 3");
        Assert.Equal("0:hexpire h", events.Run("HEXPIRE h 100 FIELDS 1 a"));
        Assert.Equal("", events.Run("HEXPIRE h 200 NX FIELDS 1 a"));
        Assert.Equal("0:hexpire h", events.Run("HPEXPIRE h 100000 FIELDS 2 a nope"));
        Assert.Equal("0:hpersist h", events.Run("HPERSIST h FIELDS 1 a"));
        Assert.Equal("", events.Run("HPERSIST h FIELDS 1 a"));
        Assert.Equal("0:hdel h", events.Run("HEXPIREAT h 1 FIELDS 1 a"));
        Assert.Equal("0:hexpire h, 0:hexpired h", events.RunUntil("HPEXPIRE h 1 FIELDS 1 b", "0:hexpired h"));
        Assert.Equal("0:hdel h, 0:del h", events.Run("HPEXPIREAT h 1 FIELDS 1 c"));
        events.Run("HSET h a 1");
        Assert.Equal("0:hexpire h, 0:hexpired h, 0:del h", events.RunUntil("HPEXPIRE h 1 FIELDS 1 a", "0:del h"));

        // Found by commands, before the store's thread comes by.
        using var hidden = new EventRecorder(kv);
        hidden.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        hidden.Run("HSET h a 1 b 2 c 3");
        hidden.Run("HPEXPIRE h 1 FIELDS 2 a b");
        Eventually.Holds(() => hidden.Client.Ok("HMGET h a b").ToString() == "[$-1 $-1]", () => "they are there still");
        Assert.Equal("0:hexpired h", hidden.Run("HDEL h a"));
        Assert.Equal("0:hexpired h, 0:hdel h, 0:del h", hidden.Run("HDEL h b c"));
    }

    [Fact]
    public void Commands_in_steps_have_the_events_of_short_ones()
    {
        string many = string.Join(' ', Enumerable.Range(0, 20_000));
        string keys = string.Join(' ', Enumerable.Range(0, 3000).Select(i => $"k{i} v"));
        using var kv = KvInstance.Start();
        using var events = new EventRecorder(kv);
        Assert.Equal("0:new l, 0:rpush l", events.Run($"RPUSH l {many}"));
        Assert.Equal("0:lpop l", events.Run("LMPOP 1 l LEFT COUNT 15000"));
        Assert.Equal("0:rpop l, 0:del l", events.Run("RPOP l 15000"));
        Assert.Equal("0:new s, 0:sadd s", events.Run($"SADD s {many}"));
        Assert.Equal("0:spop s, 0:del s", events.Run("SPOP s 30000"));
        Assert.Equal("0:new l, 0:rpush l, 0:rpop l, 0:del l",
            events.Run($"@TX RPUSH l {many};LMPOP 1 l RIGHT COUNT 50000"));
        Assert.Equal("0:new x, 0:xadd x", events.Run("XADD x 1-1 f v"));
        Assert.Equal(3000, events.Run($"MSET {keys}").Split(", ").Count(one => one.StartsWith("0:set k", Is)));
        Assert.Equal(3000, events.Run($"MSET {keys}").Split(", ").Count(one => one.StartsWith("0:set k", Is)));
        string[] deleted = events.Run($"DEL {keys}").Split(", ");
        Assert.Equal(3000, deleted.Length);
        Assert.All(deleted, one => Assert.StartsWith("0:del k", one, Is));
    }

    private const StringComparison Is = StringComparison.Ordinal;

    [Fact]
    public void Each_of_a_pipeline_that_serves_somebody_has_its_own_event()
    {
        using var kv = KvInstance.Start();
        using var events = new EventRecorder(kv);
        using var client = kv.Connect();
        using var waiting = kv.Connect();
        kv.Block(waiting, "BLPOP l 0");
        client.Send([.. Enumerable.Range(0, 3).SelectMany(_ => RespText.Encode("RPUSH l x"))]);
        for (int i = 0; i < 3; i++) client.Read();
        Assert.Equal("0:new l, 0:rpush l, 0:lpop l, 0:del l, 0:new l, 0:rpush l, 0:rpush l", events.Drain());
    }

    [Theory]
    [InlineData("", "")]
    [InlineData("A", "")]
    [InlineData("K", "")]
    [InlineData("Kg", "0:del k")]
    [InlineData("K$", "0:set k")]
    [InlineData("Kn", "0:new k")]
    [InlineData("KA", "0:set k, 0:expire k, 0:del k")]
    public void Only_what_is_asked_for_is_published(string letters, string expected)
    {
        using var kv = KvInstance.Start("--notify-keyspace-events", letters);
        using var client = kv.Connect();
        using var subscriber = kv.Connect();
        subscriber.Send("PSUBSCRIBE __key*");
        subscriber.Read();
        client.Say(letters.Contains('A') ? "SET k v EX 100\nDEL k" : "SET k v\nDEL k");
        client.Ok("CONFIG SET notify-keyspace-events \"\"");
        client.Say("SET k v\nDEL k\nPUBLISH __keyspace@0__:end end");
        var seen = new List<string>();
        for (string text; !(text = subscriber.Read().ToString()).Contains("end", Is);) seen.Add(text);
        Assert.Equal(expected.Length == 0 ? 0 : expected.Split(", ").Length, seen.Count);
        Assert.All(expected.Split(", ", StringSplitOptions.RemoveEmptyEntries).Zip(seen), pair =>
            Assert.Contains($"\"{pair.First[2..].Split(' ')[0]}\"", pair.Second, Is));
    }

    [Theory]
    [InlineData("GET k"), InlineData("GETRANGE k 0 1"), InlineData("STRLEN k"), InlineData("LRANGE k 0 1")]
    [InlineData("HGET k f"), InlineData("HGETALL k"), InlineData("SMEMBERS k"), InlineData("ZSCORE k m")]
    [InlineData("ZRANGE k 0 1"), InlineData("GETBIT k 1"), InlineData("MGET k k"), InlineData("LPOP k")]
    public void A_read_that_finds_nothing_is_a_keymiss(string line)
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = new EventRecorder(redis.Server, "KEm");
        using var ours = new EventRecorder(kv, "KEm");
        Assert.Equal(theirs.Run(line), ours.Run(line));
    }

    [Fact]
    public void What_expires_says_so_once_and_a_key_that_was_written_to_does_not()
    {
        using var kv = KvInstance.Start();
        using var events = new EventRecorder(kv, "KEx");
        Assert.Equal("0:expired a", events.RunUntil("SET a v PX 10", "0:expired a"));
        // At one instant, or b might expire in between.
        Assert.Equal("", events.Run("@TX SET b v PX 10;SET b v"));
        Assert.Equal("0:expired c", events.RunUntil("SET c v PX 20", "0:expired c"));
        Assert.Equal("", events.Run("GET b"));
    }

    [Fact]
    public void What_is_evicted_says_so()
    {
        using var kv = KvInstance.Start("--maxmemory", "20mb", "--maxmemory-policy", "allkeys-lru");
        using var events = new EventRecorder(kv, "KEe");
        string value = new('v', 10_000);
        int seen = 0;
        for (int i = 0; i < 20_000 && seen == 0; i++)
            seen += events.Run($"SET k{i} {value}").Split("0:evicted k").Length - 1;
        Assert.NotEqual(0, seen);
    }

    [Fact]
    public void Every_event_has_a_name_and_a_class()
    {
        string[] names = [.. Enum.GetValues<KeyEvent>().Where(one => one != KeyEvent.None)
            .Select(one => System.Text.Encoding.ASCII.GetString(KeyEventNames.NameOf(one)))];
        Assert.Equal(Enum.GetNames<KeyEvent>()[..^1].Select(name => name.ToLowerInvariant()),
            names.Select(name => name.Replace("_", "", Is).Replace("-", "", Is)));
        Assert.All(Enum.GetValues<KeyEvent>()[..^1], one => Assert.NotEqual(default, KeyEventNames.ClassOf(one)));
    }

    private static List<string> EventsOf(TestServer server, string[] lines)
    {
        using var events = new EventRecorder(server);
        return [.. lines.Select(line => $"{line} -> {events.Run(line)}")];
    }
}
