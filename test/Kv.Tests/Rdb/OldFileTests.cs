using System.Buffers.Binary;
using Kv.Storage;
using Kv.Tests.Effects;
using Kv.Tests.Harness;
using static Kv.Tests.Rdb.Payloads;

namespace Kv.Tests.Rdb;

/// <summary>Whole files of versions 1 to 11, with what servers of that time wrote: loaded here and by
/// redis-server.</summary>
/// <remarks>Source of the numbers and layouts: the RDB format as Redis documents and reads it.</remarks>
public sealed class OldFileTests : IDisposable
{
    private const long Seconds = 2_000_000_000;

    private static readonly string Long = new('x', 300);

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-old-").FullName;

    /// <summary>Keys with the versions that have them.</summary>
    private static readonly Row[] Rows =
    [
        new(1, "plain", 0, Plain("hello"), "GET plain", "hello"),
        new(1, "empty", 0, Plain(""), "GET empty", ""),
        new(1, "int8", 0, [0xC0, 0xFB], "GET int8", "-5"),
        new(1, "int16", 0, [0xC1, 0x2C, 0x01], "GET int16", "300"),
        new(1, "int32", 0, [0xC2, .. Little(-70_000, 4)], "GET int32", "-70000"),
        new(1, "lzf", 0, [0xC3, 5, 10, 0, (byte)'a', 0xE0, 0, 0], "GET lzf", "aaaaaaaaaa"),
        new(1, "length14", 0, Concat([0x41, 0x2C], Bytes(Long)), "GET length14", Long),
        new(1, "length32", 0, Plain(Long), "GET length32", Long),
        new(1, "list", 1, Concat([3], Plain("b"), Plain("a"), [0xC0, 12]), "LRANGE list 0 -1", "b a 12"),
        new(1, "set", 2, Concat([2], Plain("b"), [0xC0, 12]), "SMISMEMBER set b 12 c", "1 1 0"),
        new(1, "zset", 3, Concat([5], Plain("b"), Plain("2"), Plain("a"), Plain("0.10000000000000001"), Plain("c"),
            [254], Plain("d"), [255], Plain("e"), Plain("1e+20")), "ZRANGE zset 0 -1 WITHSCORES",
            "d -inf a 0.1 b 2 e 1e+20 c inf"),
        new(1, "hash", 4, Concat([2], Plain("f"), Plain("v"), Plain("g"), Plain("")), "HMGET hash f g", "v "),
        new(2, "zipmap", 9, Plain(Zipmap(2, "f", "v", "g", Long)), "HMGET zipmap f g", "v " + Long),
        new(2, "listzip", 10, Plain(Ziplist("a", "12", "-129", "9223372036854775807", Long)),
            "LRANGE listzip 0 -1", "a 12 -129 9223372036854775807 " + Long),
        new(2, "intset16", 11, Plain(Integers(2, -5, 3, 700)), "SMISMEMBER intset16 -5 3 700 4", "1 1 1 0"),
        new(2, "intset32", 11, Plain(Integers(4, -5, 70_000)), "SMISMEMBER intset32 -5 70000", "1 1"),
        new(2, "intset64", 11, Plain(Integers(8, -5, 1L << 40)), "SMISMEMBER intset64 1099511627776", "1"),
        new(2, "zsetzip", 12, Plain(Ziplist("a", "-1.5", "b", "2", "c", "inf")), "ZRANGE zsetzip 0 -1 WITHSCORES",
            "a -1.5 b 2 c inf"),
        new(4, "hashzip", 13, Plain(Ziplist("f", "v", "1", "2")), "HMGET hashzip f 1", "v 2"),
        new(7, "quicklist", 14, Concat([2], Plain(Ziplist("a", "1")), Plain(Ziplist(Long))),
            "LRANGE quicklist 0 -1", "a 1 " + Long),
        new(7, "quicklistlzf", 14, Concat([1], Lzf(Ziplist([.. Enumerable.Repeat("aaaaaaaa", 40)]))),
            "LLEN quicklistlzf", "40"),
        new(8, "zset2", 5, Concat([2], Plain("a"), BitConverter.GetBytes(0.1), Plain("b"),
            BitConverter.GetBytes(double.NegativeInfinity)), "ZRANGE zset2 0 -1 WITHSCORES",
            "b -inf a 0.1"),
        new(8, "length64", 0, Concat([0x81, 0, 0, 0, 0, 0, 0, 0, 2], "ab"u8.ToArray()), "GET length64", "ab"),
        new(9, "stream", 15, Stream(15), "XRANGE stream - +", "1-1 f v 3-1 f x g y"),
        new(9, "stream", 15, [], "XPENDING stream g", "1 3-1 3-1 c 1"),
        new(10, "stream2", 19, Stream(19), "XRANGE stream2 - +", "1-1 f v 3-1 f x g y"),
        new(10, "stream2", 19, [], "XPENDING stream2 g", "1 3-1 3-1 c 1"),
        new(10, "hashpack", 16, Plain(Listpack("f", "v", "1", "2")), "HMGET hashpack f 1", "v 2"),
        new(10, "zsetpack", 17, Plain(Listpack("a", "1", "b", "2.5")), "ZRANGE zsetpack 0 -1 WITHSCORES",
            "a 1 b 2.5"),
        new(10, "listpack", 18, Concat([2, 2], Plain(Listpack("a", "1")), [1], Plain(Long)),
            "LRANGE listpack 0 -1", "a 1 " + Long),
        new(11, "setpack", 20, Plain(Listpack("a", "1")), "SMISMEMBER setpack a 1 b", "1 1 0"),
        new(11, "stream3", 21, Stream(21), "XRANGE stream3 - +", "1-1 f v 3-1 f x g y"),
    ];

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    [InlineData(7)]
    [InlineData(8)]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(11)]
    public void A_file_of_each_version_has_the_values_that_were_written(int version)
    {
        File.WriteAllBytes(Path.Combine(_directory, "dump.rdb"), FileOf(version));
        using var kv = KvInstance.StartOnDisk(_directory, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        var rows = Rows.Where(row => row.From <= version).ToList();
        foreach (var row in rows)
            Assert.Equal((row.Command, row.Expected), (row.Command, Flat(client.Ok(row.Command))));
        Assert.Equal(rows.Select(row => row.Key).Distinct().Count(), client.Ok("DBSIZE").Integer);
        client.Ok("SELECT 3");
        Assert.Equal(Seconds * 1000, client.Ok("PEXPIRETIME seconds").Integer);
        Assert.Equal(version < 3 ? -2 : (Seconds * 1000) + 7, client.Ok("PEXPIRETIME milliseconds").Integer);
        Assert.Equal(0, client.Ok("EXISTS gone").Integer);
        client.Ok("DEBUG INTEGRITY");
        if (version > 10) return;       // what is at hand is 7.0
        using var redis = RedisServer.Start("--dir", _directory);
        Assert.Null(FeedState.Compare(kv, redis));
    }

    [Fact]
    public void A_checksum_that_is_wrong_is_found_from_version_5_on()
    {
        for (int version = 5; version <= 11; version++)
        {
            byte[] file = FileOf(version);
            file[^1] ^= 1;
            File.WriteAllBytes(Path.Combine(_directory, "dump.rdb"), file);
            Assert.ThrowsAny<IOException>(() => KvInstance.StartOnDisk(_directory).Dispose());
        }
    }

    private static byte[] FileOf(int version)
    {
        var file = new List<byte>(Bytes($"REDIS{version:D4}"));
        if (version >= 7) file.AddRange([0xFA, .. Plain("redis-ver"), .. Plain("3.2.0")]);
        if (version >= 10)
            file.AddRange([0xF5, .. Plain("#!lua name=l\nredis.register_function('f', function() return 1 end)")]);
        file.AddRange([0xFE, 0]);
        if (version >= 7) file.AddRange([0xFB, 20, 0]);
        bool isFirst = true;
        foreach (var row in Rows.Where(row => row.From <= version && row.Content.Length > 0))
        {
            if (version >= 9) file.AddRange(isFirst ? [0xF8, 5] : (byte[])[0xF9, 7]);
            isFirst = false;
            file.AddRange([row.Type, .. Plain(row.Key), .. row.Content]);
        }

        file.AddRange([0xFE, 3]);
        file.AddRange([0xFD, .. Little(Seconds, 4), 0, .. Plain("seconds"), .. Plain("v")]);
        file.AddRange([0xFD, .. Little(1, 4), 0, .. Plain("gone"), .. Plain("v")]);
        if (version >= 3)
            file.AddRange([0xFC, .. Little((Seconds * 1000) + 7, 8), 0, .. Plain("milliseconds"), .. Plain("v")]);
        file.Add(0xFF);
        if (version >= 5)
        {
            byte[] sum = new byte[8];
            BinaryPrimitives.WriteUInt64LittleEndian(sum, Crc64.Append(0, [.. file]));
            file.AddRange(sum);
        }

        return [.. file];
    }

    /// <summary>1-1, 2-1, which was deleted, and 3-1 with other fields, which is pending with c of g.</summary>
    private static byte[] Stream(int type)
    {
        byte[] first = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
            third = [0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1];
        byte[] node = Listpack("2", "1", "1", "f", "0", "2", "0", "0", "v", "4", "3", "1", "0", "w", "4", "0", "2", "0",
            "2", "f", "x", "g", "y", "8");
        byte[] time = Little(1_600_000_000_000, 8);
        // Length, last id; from the second type on: first id, greatest deleted id, how many there ever were.
        byte[] facts = type == 15 ? [2, 3, 1] : [2, 3, 1, 1, 1, 2, 1, 3];
        byte[] group = [1, .. Plain("g"), 3, 1, .. type == 15 ? Array.Empty<byte>() : [3]];
        byte[] pending = [1, .. third, .. time, 1];
        byte[] consumer = [1, .. Plain("c"), .. time, .. type == 21 ? time : [], 1, .. third];
        return [1, .. Plain(first), .. Plain(node), .. facts, .. group, .. pending, .. consumer];
    }

    /// <summary>A string as LZF has it that finds nothing to repeat: literals of up to 32 bytes.</summary>
    private static byte[] Lzf(byte[] text)
    {
        byte[] packed = [.. text.Chunk(32).SelectMany(part => (byte[])[(byte)(part.Length - 1), .. part])];
        return [0xC3, .. Length(packed.Length), .. Length(text.Length), .. packed];

        static byte[] Length(int length) => [(byte)(0x40 | (length >> 8)), (byte)length];
    }

    private static string Flat(Reply reply) =>
        reply.Items == null ? reply.String : string.Join(' ', reply.Items.Select(Flat));

    /// <param name="From">The first version that has it.</param>
    /// <param name="Content">The value as in a file; empty: it has been written with the row before.</param>
    private sealed record Row(int From, string Key, byte Type, byte[] Content, string Command,
        string Expected);
}
