using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Streams beside a real server: what trimming removes at every edge of its nodes, and what claims leave of
/// what is pending.</summary>
/// <remarks>A script of redis-cli lines goes to both; a difference is shrunk and printed. Idle times are told by days,
/// so that it does not matter when a line runs.</remarks>
public sealed class StreamComparisonTests : IDisposable
{
    private const long Day = 86_400_000;

    private readonly TestServer _kv = RemoteServer.Address is { } address
        ? new RemoteServer(address) : KvInstance.Start(), _redis = RedisServer.Start();

    public void Dispose()
    {
        _kv.Dispose();
        _redis.Dispose();
    }

    /// <summary>What a node holds at most: entries, bytes (0: any number).</summary>
    public static TheoryData<int, int> Nodes =>
        new() { { 1, 4096 }, { 2, 0 }, { 7, 4096 }, { 7, 200 }, { 100, 4096 }, { 0, 300 }, { 0, 0 } };

    [Theory, MemberData(nameof(Nodes))]
    public void Trimming_removes_the_same_entries_at_every_edge(int nodeEntries, int nodeBytes)
    {
        foreach (int entries in Lengths(nodeEntries))
        {
            foreach (bool hasGaps in (bool[])[false, true])
            {
                List<string> script = [.. Limits(nodeEntries, nodeBytes), .. Filled("base", entries)];
                if (hasGaps) script.AddRange(Deleted(entries, nodeEntries));
                foreach (string how in Thresholds(entries, nodeEntries)
                    .SelectMany(threshold => Ways(threshold, nodeEntries)))
                    script.AddRange(["COPY base x REPLACE", $"XTRIM x {how}", "XLEN x", "XINFO STREAM x",
                        "XRANGE x - + COUNT 3", "XREVRANGE x + - COUNT 2"]);
                Compare(script, (entries % 2) + 2);
            }
        }
    }

    [Theory, MemberData(nameof(Nodes))]
    public void Adding_with_a_limit_removes_the_same_entries(int nodeEntries, int nodeBytes)
    {
        int[] sizes = nodeEntries == 0 ? [3, 40, 250] : [nodeEntries, 2 * nodeEntries + 1, 210];
        foreach (int size in sizes)
        {
            foreach (string way in Ways(size, nodeEntries)
                .Where(way => way.StartsWith("MAXLEN", StringComparison.Ordinal)))
            {
                List<string> script = [.. Limits(nodeEntries, nodeBytes)];
                for (int i = 1; i <= size + 120; i++)
                {
                    script.Add($"XADD x {way} {i / 3}-{i % 3 + 1} field {new string('v', i * 7 % 40)}");
                    if (i % 11 == 0)
                        script.Add($"XDEL x {i / 3}-{i % 3 + 1} {i / 6}-1 {(i - size / 2) / 3}-2".Replace(
                            "--", "-", StringComparison.Ordinal));
                    if (i % 13 == 0) script.Add("XINFO STREAM x");
                }

                script.AddRange(["XRANGE x - +", "XINFO STREAM x FULL COUNT 0"]);
                Compare(script, 2);
            }

            // By age, as who keeps an hour does: the least id goes on with the entries.
            foreach (string way in (string[])["MINID", "MINID =", "MINID ~", "MINID ~ {0} LIMIT 0",
                "MINID ~ {0} LIMIT 3"])
            {
                List<string> script = [.. Limits(nodeEntries, nodeBytes)];
                for (int i = 1; i <= size + 120; i++)
                {
                    string least = $"{Math.Max(0, i - size)}-{i % 2}";
                    string trim = way.Contains('{', StringComparison.Ordinal)
                        ? string.Format(CultureInfo.InvariantCulture, way, least) : $"{way} {least}";
                    script.Add($"XADD x {trim} {i}-1 f{i % 5 / 4} {i}");
                    if (i % 13 == 0) script.Add("XINFO STREAM x");
                }

                script.AddRange(["XRANGE x - +", "XINFO STREAM x FULL COUNT 0"]);
                Compare(script, 3);
            }
        }
    }

    [Theory]
    [InlineData(2, 5)]
    [InlineData(3, 5)]
    [InlineData(2, 60)]
    [InlineData(3, 60)]
    [InlineData(2, 900)]
    [InlineData(3, 900)]
    public void Claims_pending_lists_and_what_is_told_of_them(int resp, int entries)
    {
        for (int round = 0; round < (entries > 100 ? 4 : 25); round++)
        {
            var random = Seed.NewRandom(unchecked((resp * 1000) + (entries * 10_000) + round));
            List<string> script = [.. Limits(random.Next(2) * 10, 4096), .. Pending(random, entries)];
            for (int i = 0; i < 150; i++) script.Add(Call(random, entries));
            script.AddRange(["XINFO STREAM x FULL COUNT 0", "XPENDING x g", "XPENDING x h", "XRANGE x - +"]);
            Compare(script, resp);
        }
    }

    // So many that Kv works in steps.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Very_many_at_once_are_given_claimed_and_acknowledged_alike(int resp)
    {
        const int entries = 6000;
        string Ids(int first, int count, int every = 1) =>
            string.Join(' ', Enumerable.Range(0, count).Select(i => $"{first + (i * every)}-0"));
        List<string> script = [.. Limits(100, 4096)];
        for (int i = 1; i <= entries; i++) script.Add($"XADD x {i}-0 field {i}");
        script.AddRange(
        [
            "XGROUP CREATE x g 0", "XGROUP CREATE x h 0", "XREADGROUP GROUP g a COUNT 4500 STREAMS x >",
            "XREADGROUP GROUP g b STREAMS x >", "XREADGROUP GROUP h a COUNT 5000 NOACK STREAMS x >",
            $"XCLAIM x g c {Day} {Ids(1, 5000)}", $"XCLAIM x g c 0 {Ids(2, 5000)} IDLE {2 * Day} JUSTID",
            $"XCLAIM x h c 0 {Ids(500, 5000)} FORCE IDLE {3 * Day} RETRYCOUNT 5 LASTID 5900-0",
            $"XCLAIM x h c 0 {Ids(500, 5000)} LASTID", $"XCLAIM x h c 0 {Ids(500, 5000)} none",
            $"XPENDING x g IDLE {Day} - + 100000", $"XPENDING x g IDLE {Day} (7 5500 4400 c",
            $"XPENDING x h IDLE {9 * Day} - + 1",
            $"XDEL x {Ids(3, 4500, 7)}", $"XDEL x {Ids(4, 4500)} 5-", "XREADGROUP GROUP g c STREAMS x 0",
            "XREADGROUP GROUP g c COUNT 4200 STREAMS x x 30 >", "XREADGROUP GROUP h a STREAMS x x > 0",
            $"XCLAIM x g d {Day} {Ids(1, 6000)}", $"XAUTOCLAIM x h d {Day} 0 COUNT 4200",
            $"XAUTOCLAIM x h e {Day} 0 COUNT 5000 JUSTID", $"XAUTOCLAIM x h e {9 * Day} 0 COUNT 500", "XPENDING x g",
            "XPENDING x h",
            $"XACK x g {Ids(10, 5000)}", $"XACK x h {Ids(1, 9000)} word", $"XACK x none {Ids(1, 5000)} word",
            "XINFO STREAM x FULL COUNT 0", "XGROUP SETID x g 0", "XREADGROUP GROUP g z STREAMS x >", "XPENDING x g",
            "XINFO STREAM x FULL COUNT 0",
        ]);
        Compare(script, resp);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(100)]
    public void Claiming_by_a_cursor_comes_by_everything_once(int count)
    {
        const int entries = 350;
        var random = Seed.NewRandom(count);
        List<string> script = [.. Limits(100, 4096), .. Pending(random, entries)];
        for (int i = 0; i < 60; i++) script.Add($"XDEL x {random.Next(entries) + 1}-0");
        using var duel = new Duel(_kv, _redis, 2);
        duel.Begin();
        Assert.Null(Difference(duel, script, out _));
        foreach (long idle in (long[])[0, Day / 2, 3 * Day / 2, 9 * Day])
        {
            // The cursor that the reference told is the next start.
            string cursor = "0-0";
            int rounds = 0;
            do
            {
                string line = $"XAUTOCLAIM x g new {idle} {cursor} COUNT {count}{(idle == 0 ? " JUSTID" : "")}";
                script.Add(line);
                if (Difference(duel, [line], out var reply) is not null) Check(duel, script);
                cursor = reply!.Items![0].String;
            }
            while (cursor != "0-0" && ++rounds <= entries);
            Assert.Equal("0-0", cursor);
        }

        script.AddRange(["XINFO STREAM x FULL COUNT 0", "XPENDING x g - + 1000 new"]);
        Compare(script, 3);
    }

    /// <summary>What differs of the answers to some lines more; and the reference's answer to the last.</summary>
    private static Difference? Difference(Duel duel, List<string> lines, out Reply? last)
    {
        Reply? reply = null;
        byte[][][] commands = [.. lines.Select(RespText.Split)];
        int index = duel.Run(commands, new Random(1), (_, theirs) => reply = theirs, out var mine, out var other);
        last = reply;
        return index < 0 ? null : new Difference(commands, mine, other);
    }

    private void Compare(List<string> script, int resp)
    {
        using var duel = new Duel(_kv, _redis, resp);
        Check(duel, script);
    }

    private static void Check(Duel duel, List<string> script)
    {
        if (duel.Replay([.. script.Select(RespText.Split)], 200) is { } difference)
            Assert.Fail($"{Seed.Hint}\n{Duel.Describe(duel.Shrink(difference))}");
    }

    private static string[] Limits(int entries, int bytes) =>
        [$"CONFIG SET stream-node-max-entries {entries}", $"CONFIG SET stream-node-max-bytes {bytes}"];

    private static IEnumerable<string> Filled(string key, int entries) =>
        Enumerable.Range(1, entries)
            .Select(i =>
                $"XADD {key} {(i + 1) / 2}-{(i + 1) % 2} field "
                + $"{new string('v', i * 7 % 40)}{(i % 9 == 0 ? " other 1" : "")}")
            .DefaultIfEmpty($"XGROUP CREATE {key} g $ MKSTREAM");

    // Of the first node all but one, of the second all, and here and there one.
    private static IEnumerable<string> Deleted(int entries, int nodeEntries)
    {
        int node = Math.Clamp(nodeEntries, 1, 9);
        return Enumerable.Range(1, entries).Where(i => (i > 1 && i <= 2 * node) || i % 5 == 3 || i == entries)
            .Where(i => entries > 1)
            .Select(i => $"XDEL base {(i + 1) / 2}-{(i + 1) % 2}");
    }

    private static int[] Lengths(int nodeEntries) => nodeEntries switch
    {
        0 => [0, 1, 12, 130],
        100 => [99, 100, 101, 250],
        _ => [0, 1, nodeEntries, nodeEntries + 1, (3 * nodeEntries) + 1, 120],
    };

    private static IEnumerable<int> Thresholds(int entries, int nodeEntries)
    {
        int node = Math.Max(1, nodeEntries);
        return ((int[])[0, 1, node - 1, node, node + 1, entries / 2, entries - node - 1, entries - node,
            entries - node + 1, entries - 1, entries, entries + 1]).Where(t => t >= 0).Distinct();
    }

    private static string[] Ways(int threshold, int nodeEntries)
    {
        int node = Math.Max(1, nodeEntries);
        string least = $"{threshold / 2}-{threshold % 2}";
        return
        [
            $"MAXLEN {threshold}", $"MAXLEN = {threshold}", $"MAXLEN ~ {threshold}", $"MAXLEN ~ {threshold} LIMIT 0",
            $"MAXLEN ~ {threshold} LIMIT 1",
            $"MAXLEN ~ {threshold} LIMIT {node}", $"MAXLEN ~ {threshold} LIMIT {(2 * node) + 1}",
            $"MAXLEN {threshold} LIMIT 5",
            $"MINID {least}", $"MINID = {threshold}", $"MINID ~ {least}", $"MINID ~ {least} LIMIT 0",
            $"MINID ~ {least} LIMIT {node}", $"MINID ~ {least} LIMIT {node - 1}", $"MINID = {least} LIMIT 5",
        ];
    }

    /// <summary>A stream with two groups, each of whose consumers have something that is idle for days, and some of it
    /// deleted.</summary>
    private static IEnumerable<string> Pending(Random random, int entries)
    {
        for (int i = 1; i <= entries; i++) yield return $"XADD x {i}-0 field {i}";
        foreach (string group in (string[])["g", "h"])
        {
            yield return $"XGROUP CREATE x {group} 0";
            for (int left = entries * 3 / 4; left > 0;)
            {
                int most = random.Next(1, Math.Max(2, entries / 4));
                yield return $"XREADGROUP GROUP {group} c{random.Next(4)} COUNT {Math.Min(most, left)} STREAMS x >";
                left -= most;
            }

            for (int i = 1; i <= entries; i += 3)
                yield return $"XCLAIM x {group} c{random.Next(4)} 0 "
                    + $"{string.Join(' ', Enumerable.Range(i, 3).Select(id => $"{id}-0"))} JUSTID IDLE "
                    + $"{random.Next(4) * Day}";
        }

        for (int i = entries / 10; i >= 0; i--) yield return $"XDEL x {random.Next(entries) + 1}-0";
    }

    private static string Call(Random random, int entries)
    {
        string Id() => $"{random.Next(entries + 2)}-{(random.Next(8) == 0 ? 1 : 0)}";
        string From() => random.Next(3) switch { 0 => "-", 1 => Id(), _ => $"({Id()}" };
        string Few() => string.Join(' ', Enumerable.Range(0, random.Next(1, 5)).Select(_ => Id()));
        string If(int of, string words) => random.Next(of) == 0 ? $" {words}" : "";
        string group = random.Next(4) == 0 ? "h" : "g", consumer = $"c{random.Next(6)}",
            idle = $"{(random.Next(5) * Day) - (Day / 2)}";
        return random.Next(20) switch
        {
            < 4 => $"XAUTOCLAIM x {group} {consumer} {idle} "
                + $"{From()}{If(2, $"COUNT {random.Next(1, 12)}")}{If(3, "JUSTID")}",
            < 8 => $"XCLAIM x {group} {consumer} {idle} "
                + $"{Few()}{If(3, $"IDLE {random.Next(5) * Day}")}{If(5, "TIME 1000")}"
                + $"{If(3, $"RETRYCOUNT {random.Next(9)}")}{If(3, "FORCE")}{If(3, "JUSTID")}{If(6, $"LASTID {Id()}")}",
            < 11 => $"XPENDING x {group} IDLE {Math.Max(0, (random.Next(5) * Day) - (Day / 2))} {From()} + "
                + $"{random.Next(1, 40)}{If(3, consumer)}",
            11 => $"XPENDING x {group} {From()} {Id()} {random.Next(1, 40)}{If(2, consumer)}",
            12 => $"XACK x {group} {Few()}",
            13 => $"XDEL x {Few()}",
            14 => $"XREADGROUP GROUP {group} {consumer} COUNT {random.Next(1, 6)}{If(4, "NOACK")} STREAMS x "
                + $"{(random.Next(2) == 0 ? ">" : Id())}",
            15 => $"XINFO STREAM x FULL COUNT {random.Next(entries)}",
            16 => $"XINFO {(random.Next(2) == 0 ? "GROUPS x" : $"CONSUMERS x {group}")}",
            17 => $"XPENDING x {group}",
            18 => random.Next(8) switch { 0 => $"XGROUP DELCONSUMER x {group} {consumer}",
                1 => $"XTRIM x MINID ~ {Id()}", 2 => $"XTRIM x MAXLEN {entries - random.Next(entries / 4)}",
                _ => $"XGROUP CREATECONSUMER x {group} {consumer}" },
            _ => $"XGROUP SETID x {group} "
                + $"{(random.Next(6) == 0 ? "$" : Id())}{If(3, $"ENTRIESREAD {random.Next(entries)}")}",
        };
    }
}
