using Kv.Server.Execution;
using Kv.Tests.Facts;
using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Storage;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about transactions.</summary>
public sealed class TransactionBugs
{
    /// <summary>Groups whose commands use no key of the store.</summary>
    private static readonly HashSet<CommandGroup> GroupsWithoutKeys =
        [CommandGroup.Connection, CommandGroup.PubSub, CommandGroup.Cluster, CommandGroup.Transactions];

    /// <summary>Others that use none, with their subcommands. Who adds one says so here, or names its keys.</summary>
    private static readonly HashSet<string> WithoutKeys =
        ["ACL", "BGREWRITEAOF", "BGSAVE", "COMMAND", "CONFIG", "FAILOVER", "FUNCTION", "INFO", "KV.BIGKEYS",
            "KV.HOTKEYS", "LATENCY", "LOLWUT", "LASTSAVE", "MEMORY", "MODULE", "MONITOR", "PFSELFTEST", "PSYNC",
            "REPLCONF", "REPLICAOF", "ROLE", "SAVE", "SCRIPT", "SHUTDOWN", "SLAVEOF", "SLOWLOG", "SYNC", "TIME",
            "WAIT", "WAITAOF"];

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T01_the_connection_is_clean_after_EXEC_DISCARD_RESET_and_errors(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var other = server.Connect();
        foreach (string end in new[] { "EXEC", "DISCARD", "RESET", "NOSUCH\nEXEC", "SET a\nDISCARD", "SET a\nRESET",
            "EXEC now", "LCS a\nEXEC" })
        {
            using var client = server.Connect();
            client.Ok("WATCH a b");
            client.Ok("MULTI");
            client.Ok("SET a 1");
            client.Ok("INCR a");
            client.Ok("LCS a b NONSENSE");
            foreach (string line in end.Split('\n')) client.Command(line);
            // Nothing is queued, watched or locked.
            Assert.Equal("ERR EXEC without MULTI", client.Command("EXEC").String);
            Assert.Equal("ERR DISCARD without MULTI", client.Command("DISCARD").String);
            other.Ok("SET a 5");
            client.Ok("MULTI");
            client.Ok("GET a");
            Assert.Equal("5", client.Ok("EXEC").Items!.Single().String);
            other.Ok("DEL a");
            string line1 = client.Ok("CLIENT INFO").String;
            Assert.Contains(" multi=-1 watch=0 ", line1, StringComparison.Ordinal);
            Assert.Contains(" multi-mem=0 ", line1, StringComparison.Ordinal);
        }

        Assert.Equal(0, server.Server.Store.Watches.Count);
        server.Server.Store.CheckIntegrity();
    }

    // Each row as redis-server 7.0.15 has it.
    [Fact]
    public void Known_T02_WATCH_sees_what_changes_its_key_and_nothing_else()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        using var other = server.Connect();
        string[] rows = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "Known", "WatchedChanges.txt"));
        foreach (string row in rows.Where(row => !row.StartsWith('#')))
        {
            string[] parts = row.Split('|', StringSplitOptions.TrimEntries);
            other.Ok("FLUSHALL");
            foreach (string before in parts[0].Split(';', StringSplitOptions.RemoveEmptyEntries)) other.Ok(before);
            client.Ok("WATCH k");
            other.Command(parts[1]);
            client.Ok("MULTI");
            client.Ok("PING");
            Assert.True(client.Ok("EXEC").IsNull == (parts[2] == "change"), row);
        }
    }

    // Time passes by itself: nobody touches the key. What had expired before is no change.
    [Fact]
    public void Known_T02_WATCH_sees_that_its_key_expired()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        using var client = server.Connect();
        foreach (bool isBefore in new[] { false, true, false })
        {
            client.Ok("SET k 1 PX 5");
            if (isBefore) clock.Advance(6);
            client.Ok("WATCH k");
            if (!isBefore) clock.Advance(6);
            client.Say("MULTI\nPING");
            Assert.Equal(!isBefore, client.Ok("EXEC").IsNull);
        }
    }

    // As redis-server has it: an absent key that becomes an expired one has not changed, however it goes in the end.
    // One that was watched while it was alive has, in whichever database it expired.
    [Theory]
    [InlineData("SELECT 1\nSET k 1 PX 5\nSELECT 0", "WATCH k", "SWAPDB 0 1", false)]
    [InlineData("SELECT 1\nSET k 1 PX 5\nSELECT 0", "WATCH k", "SWAPDB 0 1\nSWAPDB 0 1", false)]
    [InlineData("SELECT 1\nSET k 1 PX 5\nSELECT 0", "WATCH k", "SWAPDB 0 1\nSET k 2", true)]
    [InlineData("SELECT 1\nSET k 1 PX 500\nSELECT 0", "WATCH k", "SWAPDB 0 1", true)]
    [InlineData("SET k 1 PX 5\nSELECT 1\nSET k 1 PX 5\nSELECT 0", "WATCH k", "SWAPDB 0 1", false)]
    [InlineData("SET k 1 PX 500\nSELECT 1\nSET k 1 PX 5\nSELECT 0", "WATCH k", "SWAPDB 0 1", true)]
    public void WATCH_of_an_absent_key_does_not_see_that_SWAPDB_brings_an_expired_one(
        string before, string watch, string change, bool fails)
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--enable-debug-command", "yes");
        using var client = server.Connect();
        using var other = server.Connect();
        other.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        foreach (string line in before.Split('\n')) other.Ok(line);
        clock.Advance(6);
        client.Ok(watch);
        foreach (string line in change.Split('\n')) other.Ok(line);
        client.Ok("MULTI");
        client.Ok("PING");
        Assert.Equal(fails, client.Ok("EXEC").IsNull);
        server.Server.Store.CheckIntegrity();
    }

    // The watched key expires in the database that goes elsewhere: it has changed.
    [Fact]
    public void WATCH_sees_that_its_key_expired_before_SWAPDB_took_it_away()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--enable-debug-command", "yes");
        using var client = server.Connect();
        using var other = server.Connect();
        other.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        other.Ok("SET k 1 PX 5");
        client.Ok("WATCH k");
        using var second = server.Connect();
        second.Ok("SELECT 1");
        second.Ok("WATCH k");
        clock.Advance(6);
        other.Ok("SWAPDB 0 1");
        client.Ok("MULTI");
        Assert.True(client.Ok("EXEC").IsNull);
        second.Ok("MULTI");
        Assert.False(second.Ok("EXEC").IsNull);
    }

    // In the middle of each phase; what was queued, with its large values, is given back.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T01_a_client_that_leaves_between_MULTI_and_EXEC_leaves_nothing(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var observer = server.Connect();
        observer.Ok("SET warm up");
        observer.Ok("DEL warm");
        long before = server.Server.Store.UsedBytes;
        for (int cut = 0; cut < 6; cut++)
        {
            using var client = server.Connect();
            string[] lines = ["WATCH a b", "MULTI", "SET a 1", $"SET b {new string('b', 300_000)}",
                $"APPEND a {new string('a', 1000)}"];
            foreach (string line in lines.Take(cut)) client.Ok(line);
        }

        server.AwaitClients(1);
        Eventually.Holds(() => server.Server.Store.Watches.Count == 0,
            () => $"{server.Server.Store.Watches.Count} keys are watched");
        Eventually.Holds(() => server.Server.Store.UsedBytes <= before + (64 * 1024),
            () => $"{server.Server.Store.UsedBytes} bytes, {before} before");
        Assert.Equal(0, observer.Ok("EXISTS a b").Integer);
    }

    [Fact]
    public void Known_T03_FLUSHALL_fails_each_watcher_once()
    {
        const int keys = 1000;
        using var server = KvInstance.Start();
        using var other = server.Connect();
        var clients = Enumerable.Range(0, 8).Select(_ => server.Connect()).ToArray();
        for (int i = 0; i < keys; i++) other.Ok($"SET k{i} v");
        string all = string.Join(' ', Enumerable.Range(0, keys).Select(i => $"k{i}"));
        foreach (var client in clients) client.Ok($"WATCH {all} absent");
        Assert.Contains("total_watched_keys:1001\r\n", other.Ok("INFO clients").String, StringComparison.Ordinal);
        Assert.Contains("watching_clients:8\r\n", other.Ok("INFO clients").String, StringComparison.Ordinal);
        other.Ok("FLUSHALL");
        for (int round = 0; round < 2; round++)
        {
            foreach (var client in clients)
            {
                Assert.Equal(round == 0,
                    client.Ok("CLIENT INFO").String.Contains(" flags=d ", StringComparison.Ordinal));
                client.Ok("MULTI");
                client.Ok("SET absent 1");
                Assert.Equal(round == 0, client.Ok("EXEC").IsNull);
                client.Ok("DEL absent");
            }
        }

        foreach (var client in clients) client.Dispose();
        Assert.Equal(0, server.Server.Store.Watches.Count);
    }

    public static IEnumerable<TheoryDataRow<string>> Names() => CommandRows.Names();

    // A command whose keys are not known would run unlocked.
    [Theory, MemberData(nameof(Names))]
    public void Known_T04_every_command_names_its_keys_or_stops_the_others_or_uses_none(string name)
    {
        var row = CommandRows.Find(name);
        if (row.Handler == null) return;
        bool named = row.UnnamedKeysFrom > 0 || row.Keys.Length > 0;
        bool none = GroupsWithoutKeys.Contains(row.Group) || row.Name == "HELP"
            || WithoutKeys.Contains((row.Container ?? row).Name);
        Assert.True(named || none, $"{name} names no key: give it Keys or UnnamedKeysFrom, or say that it uses none");
        // Patterns, and the like: in EXEC they stop the others.
        Assert.True(row.UnnamedKeysFrom > 0 || row.Keys.All(spec => spec.Start != KeyStart.Unknown) || !none);
    }
}
