using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Random commands to Kv, which evicts keys all the while, and to a real redis-server without a limit: but
/// for keys that are gone, replies and values are equal.</summary>
/// <remarks>
/// Each command runs in a transaction that asks first which of its keys are there; those that are not are taken out of
/// the reference, and the command is compared. Between commands others are written that fill the memory, and read.
/// </remarks>
public sealed class EvictionDifferentialTests(ITestOutputHelper output)
{
    private const int CommandsInBatch = 64, OthersInBatch = 150, OthersMax = 5000, Groups = 16;

    // What has no keys, waits, or looks at keys that it does not name.
    private static readonly string[] Names = [.. CommandGenerators.All.Keys.Except([
        "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "SORT", "SORT_RO", "MOVE", "KEYS", "SCAN", "RANDOMKEY",
        "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP", "COMMAND", "MEMORY",
        "PUBLISH", "PUBSUB", "SUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE"])];

    private long _compared, _gone, _others;

    [Theory]
    [InlineData("allkeys-random")]
    [InlineData("allkeys-lru")]
    [InlineData("allkeys-lfu")]
    [InlineData("volatile-random")]
    [InlineData("volatile-ttl")]
    public void What_is_not_evicted_is_what_the_reference_has(string policy)
    {
        using var kv = KvInstance.Start(
            "--maxmemory", "8mb", "--maxmemory-policy", policy, "--worker-threads", "1", "--proto-max-bulk-len", "1mb",
            "--enable-debug-command", "yes");
        kv.Server.RoomWaits.WaitMsMax = 60_000;     // no write is refused because the machine is busy
        using var redis = RedisServer.Start("--maxmemory-policy", policy);
        using RespClient ours = kv.Connect(2, 60_000), theirs = redis.Connect(2, 60_000);
        Random random = Seed.NewRandom(policy.Length);
        bool expires = policy.StartsWith("volatile", StringComparison.Ordinal);
        var gen = new Gen(random);
        var time = TimeBudget.OfSeconds(3);
        // Ends: when much has been evicted, which takes some rounds, and the time is over.
        for (int batch = 0; time.Continues || kv.Server.Store.Stats.EvictedKeys < OthersMax; batch++)
        {
            byte[][][] commands = [.. Enumerable.Range(0, CommandsInBatch)
                .SelectMany(_ => CommandGenerators.Next(gen, Names[random.Next(Names.Length)]))];
            // Keys of a group are used in one batch of so many, so that they are not always the hottest.
            Compare(ours, theirs, commands, $"@{batch % Groups}");
            CompareOthers(ours, theirs, random, expires);
        }

        long commandsCompared = _compared, keysGone = _gone;
        CompareState(ours, theirs);
        output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{commandsCompared} commands, before which {keysGone} keys were gone, and {_others} others; "
            + $"{kv.Server.Store.Stats.EvictedKeys} evicted"));
        Assert.True(expires || keysGone != 0, "none of the keys was evicted, only others");
        ours.Ok("DEBUG INTEGRITY");
    }

    private void Compare(RespClient ours, RespClient theirs, byte[][][] drawn, string group)
    {
        List<(byte[][] Command, byte[][] Keys)> commands = WithKeys(theirs, drawn, group);
        foreach ((byte[][] command, byte[][] keys) in commands)
        {
            ours.Send("MULTI");
            foreach (byte[] key in keys) ours.Send(RespText.Encode([RespText.Bytes("EXISTS"), key]));
            ours.Send(RespText.Encode(command));
            ours.Send("EXEC");
        }

        foreach ((byte[][] command, byte[][] keys) in commands)
        {
            for (int i = 0; i <= keys.Length; i++) Assert.False(ours.Read().IsError);
            Reply queued = ours.Read(), done = ours.Read(), mine = queued;
            if (!queued.IsError)
            {
                Assert.False(done.IsError, $"{RespText.Line(command)}: {done}");
                mine = done.Items![^1];
                for (int i = 0; i < keys.Length; i++)
                    if (done.Items[i].Integer == 0 && Delete(theirs, keys[i])) _gone++;
            }

            Reply other = theirs.Command(command);
            _compared++;
            Assert.True(IsEqual(command, mine, other),
                $"{RespText.Line(command)}\nours:   {mine}\ntheirs: {other}\n{Seed.Hint}");
        }
    }

    private static bool Delete(RespClient theirs, byte[] key) =>
        theirs.Command(RespText.Bytes("DEL"), key).Integer == 1;

    // Each key once, and the commands with the keys of a group; without those that the reference finds no keys in.
    private static List<(byte[][] Command, byte[][] Keys)> WithKeys(
        RespClient theirs, byte[][][] commands, string group)
    {
        foreach (byte[][] command in commands)
            theirs.Send(RespText.Encode([.. RespText.Split("COMMAND GETKEYS"), .. command]));
        var all = new List<(byte[][] Command, byte[][] Keys)>();
        foreach (byte[][] command in commands)
        {
            Reply keys = theirs.Read();
            if (keys.Items is null || keys.Items.Count == 0 || Has(command, "BLOCK") || Has(command, "DB")) continue;
            HashSet<string> names = [.. keys.Items.Select(key => key.String)];
            all.Add((
                [command[0], .. command[1..].Select(
                    word => names.Contains(Reply.Latin(word)) ? RespText.Bytes(Reply.Latin(word) + group) : word)],
                [.. names.Select(name => RespText.Bytes(name + group))]));
        }

        return all;
    }

    private static bool Has(byte[][] command, string word) =>
        command.Any(given => Reply.Latin(given).Equals(word, StringComparison.OrdinalIgnoreCase));

    // Use is counted otherwise, and a queue of commands holds references.
    private static bool IsEqual(byte[][] command, Reply mine, Reply other) =>
        ReplyComparer.IsEqual(command, mine, other)
        || (mine.Type == ':' && other.Type == ':' && Has(command[..1], "OBJECT"));

    // Values of all lengths, some of them large, in pipelines without transactions: each is what it was set to, or
    // gone.
    private void CompareOthers(RespClient ours, RespClient theirs, Random random, bool expires)
    {
        var sent = new List<(string Key, bool IsRead)>();
        var both = new MemoryStream();
        for (int i = 0; i < OthersInBatch; i++)
        {
            string key = "other" + random.Next(OthersMax);
            bool isRead = random.Next(3) == 0;
            sent.Add((key, isRead));
            string value = $"{random.Next()}{new string('o', random.Next(40) == 0 ? random.Next(150_000)
                : random.Next(9000))}";
            both.Write(RespText.Encode(isRead ? $"GET {key}" : $"SET {key} {value}{(expires ? " EX 100000" : "")}"));
        }

        ours.Send(both.ToArray());
        theirs.Send(both.ToArray());
        foreach ((string key, bool isRead) in sent)
        {
            Reply mine = ours.Read(), other = theirs.Read();
            _others++;
            if (!isRead || !mine.IsNull)
                Assert.True(mine.IsSame(other), $"{key}\nours:   {mine}\ntheirs: {other}\n{Seed.Hint}");
        }
    }

    private void CompareState(RespClient ours, RespClient theirs)
    {
        foreach (Reply key in ours.Ok("KEYS *").Items!)
        {
            Assert.True(theirs.Command(RespText.Bytes("EXISTS"), key.Text!).Integer == 1
                || ours.Command(RespText.Bytes("EXISTS"), key.Text!).Integer == 0, $"{key} is nowhere else");
        }

        byte[][][] reads = [.. theirs.Ok("KEYS *").Items!.Select(key => Read(theirs, key))];
        foreach (byte[][][] some in reads.Chunk(CommandsInBatch)) Compare(ours, theirs, some, "");
    }

    private static byte[][] Read(RespClient theirs, Reply key) =>
        Duel.ReadAll(theirs.Command(RespText.Bytes("TYPE"), key.Text!).String, key.Text!);
}
