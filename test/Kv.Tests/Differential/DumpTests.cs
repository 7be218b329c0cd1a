using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>What one server dumps the other restores; and what both were given in the same order they dump in the same
/// bytes.</summary>
public sealed class DumpTests : IDisposable
{
    private readonly TestServer _kv = RemoteServer.Address is { } address
        ? new RemoteServer(address) : KvInstance.Start(), _redis = RedisServer.Start("--proto-max-bulk-len", "512mb");
    private readonly RespClient _ours, _theirs;
    private readonly Random _random = Seed.NewRandom(920);

    public DumpTests()
    {
        _ours = _kv.Connect();
        _theirs = _redis.Connect();
        _ours.Ok("FLUSHALL");
    }

    public void Dispose()
    {
        _ours.Dispose();
        _theirs.Dispose();
        _kv.Dispose();
        _redis.Dispose();
    }

    [Theory]
    [InlineData(0, 130)]
    [InlineData(250, 260)]
    [InlineData(4094, 4098)]
    [InlineData(16_382, 16_386)]
    [InlineData(65_534, 65_540)]
    [InlineData(1_000_000, 1_000_001)]
    public void Strings_are_the_same_bytes(int shortest, int longest)
    {
        for (int length = shortest; length <= longest; length++)
        {
            byte[] random = new byte[length], letters = new byte[length], few = new byte[length];
            _random.NextBytes(random);
            for (int i = 0; i < length; i++) letters[i] = (byte)"ab"[_random.Next(2)];
            string sentence = string.Concat(Enumerable.Range(0, (length / 2) + 1)
                .Select(_ => _random.Next(4) switch { 0 => "日本", 1 => "foo", 2 => "hello world ", _ => "é" }));
            byte[] words = Encoding.UTF8.GetBytes(sentence)[..length];
            foreach (byte[] text in (byte[][])[random, letters, few, words])
            {
                Both("SET", "k", text);
                Check($"a string of {length}", sameBytes: true);
            }
        }
    }

    [Fact]
    public void Integers_are_the_same_bytes()
    {
        foreach (string number in Integers)
        {
            Both("SET", "k", number);
            Check(number, sameBytes: true);
        }

        Both("SET", "k", "10");
        Both("INCRBY", "k", "290");
        Check("counted", sameBytes: true);
        Both("APPEND", "k", "abc");
        Check("appended to", sameBytes: true);
    }

    [Theory]
    [InlineData(1, 3)]
    [InlineData(30, 3)]
    [InlineData(127, 3)]
    [InlineData(128, 3)]
    [InlineData(129, 3)]
    [InlineData(512, 2)]
    [InlineData(513, 2)]
    [InlineData(3000, 1)]
    public void Collections_go_over_whole_and_come_back(int count, int rounds)
    {
        for (; rounds > 0; rounds--)
        {
            byte[][] words = [.. Enumerable.Range(0, count).Select(_ => Word())];
            Make("RPUSH", words);
            Check($"a list of {count}", sameBytes: true);
            Make("HSET", [.. words.SelectMany(word => (byte[][])[word, Word()])]);
            Check($"a hash of {count}", sameBytes: IsPacked());
            Make("SADD", words);
            Check($"a set of {count}", sameBytes: false);
            Make("SADD",
                [.. words.Select(_ =>
                Encoding.ASCII.GetBytes($"{_random.NextInt64(-1000, 1000) << _random.Next(40)}"))]);
            Check($"a set of {count} integers", sameBytes: IsPacked());
            Make("ZADD", [.. words.SelectMany(word => (byte[][])[Score(), word])]);
            Check($"a sorted set of {count}", sameBytes: true);
        }
    }

    [Fact]
    public void Lists_of_long_elements_end_their_nodes_where_Redis_does()
    {
        foreach (int size in (int[])[-2, -1, -5, 1, 3, 100])
        {
            Both("CONFIG", "SET", "list-max-listpack-size", $"{size}");
            for (int round = 0; round < 6; round++)
            {
                Make("RPUSH", [.. Enumerable.Range(0, 40).Select(_ => LongWord())]);
                Check($"a list with nodes of {size}", sameBytes: true);
            }
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(3)]
    [InlineData(700)]
    public void Streams_with_their_groups_go_over_whole_and_come_back(int entries)
    {
        Both("DEL", "k");
        Both("XGROUP", "CREATE", "k", "g", "0", "MKSTREAM");
        for (int i = 1; i <= entries; i++)
        {
            byte[] field = _random.Next(5) == 0 ? Word() : "field"u8.ToArray();
            Both(["XADD"u8.ToArray(), "k"u8.ToArray(), Encoding.ASCII.GetBytes($"{1000 + (i / 3)}-{i}"),
                "id"u8.ToArray(), Word(), field, Word()]);
        }

        Check($"a stream of {entries}", sameBytes: entries == 0);
        for (int i = 1; i < entries; i += 7) Both("XDEL", "k", $"{1000 + (i / 3)}-{i}");
        Check($"a stream of {entries}, some of them deleted", sameBytes: false);
        if (entries == 0) return;
        // 7.0 makes no consumer of one that gets nothing.
        Both("XGROUP", "CREATECONSUMER", "k", "g", "c2");
        Both("XREADGROUP", "GROUP", "g", "c1", "COUNT", "2", "STREAMS", "k", ">");
        Both("XREADGROUP", "GROUP", "g", "c2", "COUNT", "100", "STREAMS", "k", ">");
        Both("XGROUP", "CREATE", "k", "other", "$");
        Both("XGROUP", "CREATECONSUMER", "k", "other", "idle");
        Both("XACK", "k", "g", "1000-2");
        Check($"a stream of {entries} with groups", sameBytes: false);
        Both("XTRIM", "k", "MAXLEN", "1");
        Both("XSETID", "k", "5000-7", "ENTRIESADDED", "9000", "MAXDELETEDID", "4000-1");
        Check($"a stream of {entries}, trimmed", sameBytes: false);
    }

    [Fact]
    public void Without_compression_they_are_the_same_bytes_too()
    {
        Both("CONFIG", "SET", "rdbcompression", "no");
        Both("SET", "k", new string('a', 1000));
        Check("a string", sameBytes: true);
        Make("RPUSH", [.. Enumerable.Range(0, 400).Select(_ => Word())]);
        Check("a list", sameBytes: true);
    }

    [Fact]
    public void A_list_of_a_million_elements_goes_over_and_comes_back()
    {
        for (int i = 0; i < 200; i++)
            _ours.Command([.. RespText.Split("RPUSH k"),
                .. Enumerable.Range(i * 5000, 5000).Select(n => Encoding.ASCII.GetBytes($"element {n}"))]);
        byte[] dump = Bytes(_ours.Command("DUMP k"));
        Both("RESTORE", "r", "0", dump);
        foreach (string index in (string[])["0", "1", "499999", "999998", "-1"])
        {
            string expected = _ours.Command($"LINDEX k {index}").ToString();
            Assert.Equal(expected, _theirs.Command($"LINDEX r {index}").ToString());
            Assert.Equal(expected, _ours.Command($"LINDEX r {index}").ToString());
        }

        Assert.True(dump.AsSpan().SequenceEqual(Bytes(_ours.Command("DUMP r"))));
        Assert.Equal(1_000_000, _ours.Command("LLEN r").Integer);
    }

    private static readonly string[] Integers =
    [
        "0", "1", "-1", "12", "13", "127", "128", "-128", "-129", "4095", "4096", "-4096", "-4097", "32767", "32768",
        "-32768", "-32769", "8388607", "8388608", "-8388608", "-8388609",
        "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "12345678901", "99999999999", "-0", "007", "+1", " 1",
    ];

    // No -0: Redis forgets the sign in a small sorted set, and then knows it no more in a large one.
    private static readonly string[] Scores =
    [
        "0", "1", "-1", "1.5", "0.1", "-0.1", "1e20", "1e-7", "123456789012345678", "4503599627370496",
        "9007199254740993", "4611686018427387904", "4611686018427387905", "9223372036854775807",
        "inf", "-inf", "3.14159265358979", "1e300", "5e-324", "1e16", "1e17", "123456.789e3", "0.0001", "0.00001",
        "99999999999999999", "1.7976931348623157e308",
    ];

    private byte[] Word()
    {
        byte[] bytes = new byte[_random.Next(8) == 0 ? 64 + _random.Next(3) : _random.Next(30)];
        _random.NextBytes(bytes);
        return _random.Next(4) switch
        {
            0 => Encoding.ASCII.GetBytes(Integers[_random.Next(Integers.Length)]),
            1 => bytes,
            2 => Encoding.ASCII.GetBytes(new string('a', _random.Next(70)) + _random.Next(1000)),
            _ => Encoding.UTF8.GetBytes($"wörd{_random.Next(100_000)}"),
        };
    }

    private byte[] LongWord()
    {
        byte[] bytes = new byte[_random.Next(5) switch { 0 => _random.Next(100), 1 => 1020 + _random.Next(10),
            2 => 4090 + _random.Next(10), 3 => 8170 + _random.Next(30), _ => _random.Next(40_000) }];
        if (_random.Next(2) == 0) _random.NextBytes(bytes);
        return bytes;
    }

    private byte[] Score() =>
        Encoding.ASCII.GetBytes(_random.Next(2) == 0
            ? Scores[_random.Next(Scores.Length)] : $"{_random.Next(-1000, 1000)}");

    private void Make(string command, byte[][] words)
    {
        Both("DEL", "k");
        Both([Encoding.ASCII.GetBytes(command), [(byte)'k'], .. words]);
    }

    private bool IsPacked() => _theirs.Command("OBJECT ENCODING k").String is "listpack" or "intset";

    private void Both(params object[] words) =>
        Both([.. words.Select(word => word as byte[] ?? Encoding.UTF8.GetBytes((string)word))]);

    private void Both(byte[][] words)
    {
        Reply ours = _ours.Command(words), theirs = _theirs.Command(words);
        Assert.True(ours.IsSame(theirs), $"{RespText.Quote(words[0])}: {ours}, not {theirs}; {Seed.Hint}");
    }

    /// <summary>Dumps k here and there, restores it there and here, and looks whether all is the same.</summary>
    private void Check(string what, bool sameBytes)
    {
        byte[] ours = Bytes(_ours.Command("DUMP k")), theirs = Bytes(_theirs.Command("DUMP k"));
        if (sameBytes)
            Assert.True(ours.AsSpan().SequenceEqual(theirs),
                $"{what}: byte {ours.AsSpan().CommonPrefixLength(theirs)} of {ours.Length}, {theirs.Length}; "
                + $"{Seed.Hint}");
        foreach ((RespClient client, byte[] dump) in ((RespClient, byte[])[])[(_ours, theirs), (_theirs, ours)])
        {
            Reply reply = client.Command("RESTORE"u8.ToArray(), "r"u8.ToArray(), "0"u8.ToArray(), dump,
                "REPLACE"u8.ToArray());
            Assert.True(reply.ToString() == "+OK", $"{what}: {reply}; {Seed.Hint}");
        }

        string expected = Content(_theirs, "k");
        string here = Content(_ours, "r");
        Assert.True(expected == here, $"{what}, from there to here: {here}, not {expected}; {Seed.Hint}");
        string there = Content(_theirs, "r");
        Assert.True(expected == there, $"{what}, from here to there: {there}, not {expected}; {Seed.Hint}");
        if (sameBytes)
            Assert.True(Bytes(_ours.Command("DUMP r")).AsSpan().SequenceEqual(theirs),
                $"{what}, dumped again; {Seed.Hint}");
    }

    private static string Content(RespClient client, string key)
    {
        string type = client.Command($"TYPE {key}").String;
        Reply reply = client.Command(type switch
        {
            "string" => $"GET {key}",
            "list" => $"LRANGE {key} 0 -1",
            "set" => $"SMEMBERS {key}",
            "hash" => $"HGETALL {key}",
            "stream" => $"XRANGE {key} - +",
            _ => $"ZRANGE {key} 0 -1 WITHSCORES",
        });
        if (type is "string") return reply.String;
        if (type is "stream") return Stream(client, key, reply);
        IEnumerable<string> items = reply.Items!.Select(item => item.String);
        if (type is "zset")
            items = items.Chunk(2).Select(pair =>
                $"{pair[0]} {double.Parse(pair[1].Replace("inf", "Infinity"), CultureInfo.InvariantCulture):R}");
        if (type is "hash") items = items.Chunk(2).Select(pair => $"{pair[0]}={pair[1]}");
        if (type is "hash" or "set") items = items.Order(StringComparer.Ordinal);
        return string.Join('\n', items);
    }

    // All that is told of a stream but times and how it is kept.
    private static string Stream(RespClient client, string key, Reply entries)
    {
        var text = new StringBuilder(entries.ToString());
        var full = client.Command($"XINFO STREAM {key} FULL COUNT 0");
        text.Append(string.Join('\n', full.Items!.Chunk(2).Where(pair => pair[0].String is "length"
            or "last-generated-id" or "entries-added" or "max-deleted-entry-id" or "recorded-first-entry-id")
            .Select(pair => $"{pair[0]} {pair[1]}")));
        foreach (Reply group in client.Command($"XINFO GROUPS {key}").Items!)
        {
            text.Append('\n').Append(group);
            string name = group.Items![1].String;
            text.Append(string.Join(' ', client.Command($"XPENDING {key} {name} - + 10000").Items!.Select(
                item => $"{item.Items![0]} {item.Items[1]} {item.Items[3]}")));
            text.Append(string.Join(' ', client.Command($"XINFO CONSUMERS {key} {name}").Items!.Select(
                item => $"{item.Items![1]} {item.Items[3]}")));
        }

        return text.ToString();
    }

    private static byte[] Bytes(Reply reply) =>
        [.. reply.Text ?? throw new InvalidOperationException($"{reply} is no payload")];
}
