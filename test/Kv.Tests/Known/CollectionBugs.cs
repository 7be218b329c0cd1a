using System.Globalization;
using Kv.Storage;
using Kv.Tests.Commands;
using Kv.Tests.Harness;
using Kv.Tests.Index;
using Kv.Tests.Transcripts;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about hashes, sets and sorted sets, and those about strings that stand for more
/// than text.</summary>
/// <remarks>What was asked of redis-server 7.0.15 is in the files of this folder; with KV_TEST_SERVER they are asked
/// again.</remarks>
public sealed unsafe class CollectionBugs
{
    public static TheoryData<string> Recorded(string file)
    {
        var titles = new TheoryData<string>();
        foreach (var (title, _) in TranscriptFile.Read(PathOf(file))) titles.Add(title);
        return titles;
    }

    // CVE-2023-22458, CVE-2023-25155.
    [Theory, MemberData(nameof(Recorded), "SampleCounts")]
    public void Known_C02_a_count_of_members_at_the_ends_of_its_range_is_refused_or_answered_as_the_reference_does(
        string title) => Check("SampleCounts", title);

    // What the reference would try to write until its memory ends.
    [Fact]
    public void Known_C02_a_reply_of_too_many_members_is_refused_before_memory_is_taken()
    {
        using var server = KvInstance.Start("--max-reply-bytes", "1048576");
        using var client = server.Connect();
        client.Ok("SADD s a b");
        client.Ok("HSET h f v");
        client.Ok("ZADD z 1 m");
        client.Ok("SADD large " + string.Join(' ', Enumerable.Range(0, 3000)));
        long before = server.Server.Store.UsedBytes;
        server.Server.Store.Budget.ResetPeak();
        foreach (string count in (string[])["-4611686018427387904", "-9223372036854775807", "-4611686018427387903",
            "-2147483649", "-2147483648", "-1073741824", "-500000"])
        {
            string[] lines = [$"SRANDMEMBER s {count}", $"SRANDMEMBER large {count}", $"HRANDFIELD h {count}",
                $"ZRANDMEMBER z {count}"];
            foreach (string line in lines)
                Assert.Equal($"{line}: -ERR reply is larger than max-reply-bytes", $"{line}: {client.Command(line)}");
            if (count.Length == 20) continue;       // past half of the range, with values: another error, as recorded
            foreach (string line in (string[])[$"HRANDFIELD h {count} WITHVALUES", $"ZRANDMEMBER z {count} WITHSCORES"])
                Assert.Equal($"{line}: -ERR reply is larger than max-reply-bytes", $"{line}: {client.Command(line)}");
        }

        Assert.Equal(1000, client.Ok("SRANDMEMBER s -1000").Items!.Count);
        Assert.Equal(2000, client.Ok("HRANDFIELD h -1000 WITHVALUES").Items!.Count);
        Assert.InRange(server.Server.Store.Budget.PeakBytes, 0, before + (4 << 20));
        Assert.Equal(2, client.Ok("SCARD s").Integer);
    }

    [Theory, MemberData(nameof(Recorded), "ScoreEdges")]
    public void Known_C06_no_score_becomes_NaN_and_conditions_do_what_the_reference_does(string title) =>
        Check("ScoreEdges", title);

    [Theory, MemberData(nameof(Recorded), "RangeEdges")]
    public void Known_C10_ranges_at_their_edges_are_those_of_the_reference(string title) => Check("RangeEdges", title);

    // CVE-2025-32023. The bytes themselves are tried in HyperLogLogFuzzTests.
    [Theory, MemberData(nameof(Recorded), "CraftedSketches")]
    public void Known_C12_a_string_made_to_look_like_a_sketch_is_refused_as_by_the_reference(string title) =>
        Check("CraftedSketches", title);

    [Theory, MemberData(nameof(Recorded), "BitFieldEdges")]
    public void Known_S04_fields_of_bits_at_the_ends_of_their_range_are_those_of_the_reference(string title) =>
        Check("BitFieldEdges", title);

    // The reference multiplies in 64 bits: #2^62 fields of 64 bits are at bit 0 there. Here they are where they would
    // be, which is too far.
    [Fact]
    public void Known_S04_an_offset_in_fields_does_not_wrap() => Transcript.Check("""
        # kv
        > BITFIELD k GET i64 #4611686018427387904
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k SET i64 #4611686018427387904 1
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k INCRBY u32 #576460752303423488 1
        < -ERR bit offset is not an integer or out of range
        > BITFIELD_RO k GET u8 #2305843009213693952
        < -ERR bit offset is not an integer or out of range
        > EXISTS k
        < :0
        """);

    // S12 of keys is in KeyHashTests.
    [Fact]
    public void Known_S12_members_that_collide_under_an_unkeyed_hash_are_as_good_as_others()
    {
        using var server = KvInstance.Start();
        using var client = new WindowClient(server);
        byte[][] names = [.. FnvCollisions.Names(65_536)];
        foreach (byte[][] some in names.Chunk(1024))
        {
            Assert.Equal(":1024\r\n"u8, client.Run(RespText.Encode([.. Words("SADD s"), .. some])));
            Assert.Equal(":1024\r\n"u8,
                client.Run(RespText.Encode([.. Words("HSET h"), .. some.SelectMany(name => (byte[][])[name, name])])));
            Assert.Equal(":1024\r\n"u8, client.Run(
                RespText.Encode([.. Words("ZADD z"), .. some.SelectMany(name => (byte[][])["1"u8.ToArray(), name])])));
        }

        // A bucket has 12 places and 14 members at most on average; by the other hash one chain would have 5,461
        // buckets.
        using (StoreGuard guard = server.Server.Store.Enter())
        {
            foreach (var (key, type) in ((string, DataType)[])[("s", DataType.Set), ("h", DataType.Hash),
                ("z", DataType.SortedSet)])
            {
                using HeldKey held = guard.Session.Hold(guard.Session.Key(RespText.Bytes(key)), type);
                Assert.Equal(65_536u, ((uint*)held.Value.Region.Head)[0]);
                Assert.InRange(((uint*)held.Value.Region.Head)[30], 2u, 4u);
            }
        }

        server.Server.Store.CheckIntegrity();
        foreach (byte[][] some in names.Chunk(1024))
            Assert.Equal(":1024\r\n"u8, client.Run(RespText.Encode([.. Words("SREM s"), .. some])));
    }

    // DEL takes the key out and answers; the members go with one call, once nobody can still look at them.
    [Theory]
    [InlineData("DEL")]
    [InlineData("UNLINK")]
    public void Known_C15_deleting_very_many_members_gives_all_their_memory_back(string command)
    {
        const int many = 100_000;
        using var server = KvInstance.Start();
        using var client = new WindowClient(server);
        for (int i = 0; i < many; i += 5000)
        {
            var some = Enumerable.Range(i, 5000).ToArray();
            client.Run("SADD set " + string.Join(' ', some.Select(n => $"m{n}")));
            client.Run("SADD numbers " + string.Join(' ', some));
            client.Run("HSET hash " + string.Join(' ', some.Select(n => $"f{n} v{n}")));
            client.Run("RPUSH list " + string.Join(' ', some.Select(n => $"e{n}")));
            client.Run("ZADD scores " + string.Join(' ', some.Select(n => $"{n % 1000} m{n}")));
        }

        MemoryBudget budget = server.Server.Store.Budget;
        long filled = budget.BlockBytes;
        Assert.Equal($":{2 * many}\r\n", client.Run("SUNIONSTORE union set numbers"));
        Assert.InRange(budget.BlockBytes, filled + (many * 16L), long.MaxValue);
        Assert.Equal($":{many}\r\n", client.Run("SDIFFSTORE union union numbers"));     // what was there goes
        Assert.Equal($":{many}\r\n", client.Run("ZUNIONSTORE scores 2 scores set"));
        Assert.Equal(":1\r\n", client.Run($"{command} union"));
        Assert.Equal(":1\r\n", client.Run("SADD union other"));
        Eventually.Holds(() => budget.BlockBytes <= filled * 5 / 4,
            () => $"{budget.BlockBytes} bytes, {filled} before the union");
        Assert.Equal(":6\r\n", client.Run($"{command} set numbers hash list scores union missing"));
        Eventually.Holds(() => budget.BlockBytes == 0, () => $"{budget.BlockBytes} bytes are left");
        Assert.Equal(":0\r\n", client.Run("DBSIZE"));
        server.Server.Store.CheckIntegrity();
    }

    /// <summary>One element of a type and what goes with it, as commands of that type write and read it.</summary>
    private sealed record Scanned(string Type, string Add, string Remove, string Scan, string Count, bool HasValues);

    private static Scanned OfType(string type) => type switch
    {
        "hash" => new(type, "HSET", "HDEL", "HSCAN", "HLEN", HasValues: true),
        "sorted set" => new(type, "ZADD", "ZREM", "ZSCAN", "ZCARD", HasValues: true),
        _ => new(type, "SADD", "SREM", "SSCAN", "SCARD", HasValues: false),
    };

    // From a few elements to thousands and back; a round in ten begins with the key's last element gone and made anew.
    [Theory]
    [InlineData("set", 91)]
    [InlineData("set of integers", 92)]
    [InlineData("hash", 93)]
    [InlineData("sorted set", 94)]
    public void Known_C09_what_is_there_throughout_a_scan_is_met_while_the_structure_converts_grows_and_shrinks(
        string type, int stream)
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        Random random = Seed.NewRandom(stream);
        Scanned scanned = OfType(type);
        var model = new Dictionary<string, int>();      // all that is there, with its value or score
        for (int round = TimeBudget.Count(25); round > 0; round--)
        {
            int stays = random.Next(4) switch { 0 => random.Next(1, 10), 1 => random.Next(1, 140),
                2 => random.Next(1, 600), _ => random.Next(1, 3000) };
            if (random.Next(10) == 0) Remove(client, scanned, model, [.. model.Keys]);
            Add(client, scanned, model, Enumerable.Range(0, stays)
                .Select(i => Name(scanned, i, isStaying: true)), random);
            var seen = new HashSet<string>(model.Keys);     // all that was there at any time of the scan
            var met = new HashSet<string>();
            string cursor = "0";
            int calls = 0;
            int goal = random.Next(6000);
            // Ends: what the cursor has passed it never visits again, however many come and go.
            do
            {
                var page = client.Ok($"{scanned.Scan} k {cursor} COUNT {random.Next(1, 60)}").Items!;
                cursor = page[0].String;
                for (int i = 0; i < page[1].Items!.Count; i += scanned.HasValues ? 2 : 1)
                {
                    string name = page[1].Items![i].String;
                    Assert.True(seen.Contains(name), $"{name} was never there; {Seed.Hint}");
                    if (scanned.HasValues)
                        Assert.True(model.TryGetValue(name, out int value)
                            && page[1].Items![i + 1].String == value.ToString(CultureInfo.InvariantCulture),
                            $"{name} is answered with {page[1].Items![i + 1]}; {Seed.Hint}");
                    else Assert.True(model.ContainsKey(name), $"{name} is not there; {Seed.Hint}");
                    met.Add(name);
                }

                if (random.Next(20) == 0) goal = random.Next(3) == 0 ? 0 : random.Next(6000);
                Wander(client, scanned, model, stays, goal, random);
                seen.UnionWith(model.Keys);
                Assert.True(++calls < 100_000, $"the scan does not end; {Seed.Hint}");
            }
            while (cursor != "0");

            for (int i = 0; i < stays; i++)
                Assert.True(met.Contains(Name(scanned, i, isStaying: true)),
                    $"{i} of {stays} was missed, {model.Count} are there; {Seed.Hint}");
            Assert.Equal(model.Count, client.Ok($"{scanned.Count} k").Integer);
            Remove(client, scanned, model,
                [.. Enumerable.Range(0, stays).Select(i => Name(scanned, i, isStaying: true))]);
        }
    }

    /// <summary>Adds or removes some towards a number of elements, and changes some that stay.</summary>
    private static void Wander(RespClient client, Scanned scanned, Dictionary<string, int> model, int stays, int goal,
        Random random)
    {
        int count = random.Next(1, 300), others = model.Count - stays;
        if (others < goal)
        {
            Add(client, scanned, model, Enumerable.Range(0, count)
                .Select(_ => Name(scanned, random.Next(6000), isStaying: false)), random);
        }
        else if (others > 0)
        {
            int from = random.Next(6000);
            Remove(client, scanned, model,
                [.. Enumerable.Range(from, count).Select(i => Name(scanned, i % 6000, isStaying: false))]);
        }

        if (scanned.HasValues && random.Next(2) == 0)
            Add(client, scanned, model, Enumerable.Range(0, 20)
                .Select(_ => Name(scanned, random.Next(stays), isStaying: true)), random);
    }

    private static string Name(Scanned scanned, int number, bool isStaying) => scanned.Type == "set of integers"
        ? (isStaying ? number : 1_000_000_007L * (number + 1)).ToString(CultureInfo.InvariantCulture)
        : (isStaying ? "stays:" : "other:") + number.ToString(CultureInfo.InvariantCulture);

    private static void Add(RespClient client, Scanned scanned, Dictionary<string, int> model,
        IEnumerable<string> names, Random random)
    {
        var words = new List<string>();
        int added = 0;
        foreach (string name in names.Distinct())
        {
            int value = random.Next(100_000);
            if (!model.ContainsKey(name)) added++;
            model[name] = value;
            if (scanned.Type == "sorted set") words.Add(value.ToString(CultureInfo.InvariantCulture));
            words.Add(name);
            if (scanned.Type == "hash") words.Add(value.ToString(CultureInfo.InvariantCulture));
        }

        Assert.Equal(added, client.Ok($"{scanned.Add} k {string.Join(' ', words)}").Integer);
    }

    private static void Remove(RespClient client, Scanned scanned, Dictionary<string, int> model,
        IReadOnlyList<string> names)
    {
        if (names.Count == 0) return;
        int removed = names.Count(model.Remove);
        Assert.Equal(removed, client.Ok($"{scanned.Remove} k {string.Join(' ', names)}").Integer);
    }

    private static byte[][] Words(string line) => RespText.Split(line);

    private static string PathOf(string file) => Path.Combine(AppContext.BaseDirectory, "Known", file + ".txt");

    private static void Check(string file, string title) =>
        Transcript.Check(TranscriptFile.Read(PathOf(file)).Single(one => one.Title == title).Text);
}
