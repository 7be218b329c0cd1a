using Kv.Storage;
using Kv.Tests.Storage;
using static Kv.Tests.Rdb.Payloads;

namespace Kv.Tests.Rdb;

/// <summary>Every type of value that Redis 1 to 7.4 writes.</summary>
/// <remarks>Source of the numbers and layouts: the RDB format as Redis documents and reads it; no server older than 7.0
/// was at hand.</remarks>
public class ValueReaderTests
{
    private static readonly string Long = new('x', 300), VeryLong = new('y', 20_000);

    private static readonly string[] Numbers =
        ["0", "12", "13", "-1", "127", "128", "-128", "-129", "4095", "4096", "-4096", "-4097", "32767", "32768",
            "-32769", "8388607", "8388608", "-8388609", "2147483647", "2147483648",
            "-2147483649", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "007", ""];

    [Fact]
    public void Strings_of_every_form()
    {
        Check("string hello", 0, Plain("hello"));
        Check("string ", 0, Plain(""));
        Check("string -5", 0, [0xC0, 0xFB]);
        Check("string 300", 0, [0xC1, 0x2C, 0x01]);
        Check("string -70000", 0, [0xC2, .. Little(-70_000, 4)]);
        Check("string aaaaaaaaaa", 0, [0xC3, 5, 10, 0, (byte)'a', 0xE0, 0, 0]);
        Check("string " + VeryLong, 0, Plain(VeryLong));
        // lengths may be longer than they need to
        Check("string ab", 0, [0x40, 2, .. "ab"u8]);
        Check("string ab", 0, [0x81, 0, 0, 0, 0, 0, 0, 0, 2, .. "ab"u8]);
    }

    [Fact]
    public void Lists_sets_and_hashes_element_by_element()
    {
        Check("list b a 12", 1, [3], Plain("b"), Plain("a"), [0xC0, 12]);
        Check("set 12 a b", 2, [3], Plain("b"), Plain("a"), [0xC0, 12]);
        Check("hash f=v g=", 4, [2], Plain("g"), Plain(""), Plain("f"), Plain("v"));
        Check("hash f=" + VeryLong, 4, [1], Plain("f"), Plain(VeryLong));
    }

    [Fact]
    public void Sorted_sets_with_scores_as_text_and_as_bytes()
    {
        Check("zset -Infinity:d 1.5:a 2:b Infinity:c", 3, [4], Plain("b"), Plain("2"), Plain("a"), Plain("1.5"),
            Plain("c"), [254], Plain("d"), [255]);
        Check("zset 0.1:a 1E+20:b", 3, [2], Plain("b"), Plain("1e+20"), Plain("a"), Plain("0.10000000000000001"));
        Check("zset -1.5:b 2:a", 5, [2], Plain("a"), BitConverter.GetBytes(2.0), Plain("b"),
            BitConverter.GetBytes(-1.5));
    }

    [Fact]
    public void Zipmaps()
    {
        Check("hash f=v g=" + Long, 9, Plain(Zipmap(0, "f", "v", "g", Long)));
        Check("hash =1 f=v", 9, Plain(Zipmap(3, "f", "v", "", "1")));
        string[] many = [.. Enumerable.Range(0, 600).Select(i => $"{i:D4}")];
        Check("hash " + string.Join(' ', many.Chunk(2).Select(pair => $"{pair[0]}={pair[1]}")), 9,
            Plain(Zipmap(1, many)));
    }

    [Fact]
    public void Ziplists_and_listpacks_of_every_element()
    {
        string[] elements = [.. Numbers, "a", new('b', 63), new('c', 64), Long, new('d', 4095), new('e', 4096),
            VeryLong, "f"];
        string list = "list " + string.Join(' ', elements);
        Check(list, 10, Plain(Ziplist(elements)));
        Check(list, 14, [2], Plain(Ziplist(elements[..3])), Plain(Ziplist(elements[3..])));
        Check(list, 18, [2, 2], Plain(Listpack(elements[..3])), [2], Plain(Listpack(elements[3..])));
        Check("list a b c", 18, [4, 1], Plain("a"), [2], Plain(Listpack()), [1], Plain("b"), [2], Plain(Listpack("c")));
        string set = "set " + string.Join(' ', elements.Order(StringComparer.Ordinal));
        Check(set, 20, Plain(Listpack(elements)));
        Check("hash " + string.Join(' ', elements.Select(e => $"{e}=1").Order(StringComparer.Ordinal)), 13,
            Plain(Ziplist([.. elements.SelectMany(e => (string[])[e, "1"])])));
        Check("hash " + string.Join(' ', elements.Select(e => $"{e}=1").Order(StringComparer.Ordinal)), 16,
            Plain(Listpack([.. elements.SelectMany(e => (string[])[e, "1"])])));
    }

    [Fact]
    public void Sorted_sets_in_ziplists_and_listpacks()
    {
        string[] pairs = ["a", "1", "b", "2.5", "c", "-3e2", "d", "inf", "e", "-inf", "f", "9223372036854775807"];
        const string all = "zset -Infinity:e -300:c 1:a 2.5:b 9.223372036854776E+18:f Infinity:d";
        Check(all, 12, Plain(Ziplist(pairs)));
        Check(all, 17, Plain(Listpack(pairs)));
    }

    // Source of these four: rdb.c of Redis 7.4.1.
    [Fact]
    public void Hashes_whose_fields_expire()
    {
        const long at = 60_000_000_000_000;
        const string expected = "hash a=1@60000000000000 b=2 c=3@60000000000700";
        Check(expected, 24, Little(at, 8), [3, 1], Plain("a"), Plain("1"), [0], Plain("b"), Plain("2"), [0x42, 0xBD],
            Plain("c"), Plain("3"));
        Check(expected, 22, [3, 0x81, .. Big(at)], Plain("a"), Plain("1"), [0], Plain("b"), Plain("2"),
            [0x81, .. Big(at + 700)], Plain("c"), Plain("3"));
        Check(expected, 25, Little(at, 8), Plain(Listpack("a", "1", $"{at}", "c", "3", $"{at + 700}", "b", "2", "0")));
        Check(expected, 23, Plain(Listpack("a", "1", $"{at}", "c", "3", $"{at + 700}", "b", "2", "0")));
        // None expires; more than are packed; longer than are packed.
        Check("hash a=1", 24, Little(0, 8), [1, 0], Plain("a"), Plain("1"));
        string[] many = [.. Enumerable.Range(0, 600).Select(i => $"f{i:D3}")];
        Check("hash " + string.Join(' ', many.Select(f => $"{f}=v@{at}")), 24,
            [.. Little(at, 8), 0x42, 0x58, .. Concat([.. many.Select(f => Concat([1], Plain(f), Plain("v")))])]);
        Check($"hash a={Long}@{at} b=", 23, Plain(Listpack("a", Long, $"{at}", "b", "", "0")));

        static byte[] Big(long number) => [.. Little(number, 8).Reverse()];
    }

    [Fact]
    public void Sets_of_integers_of_every_width()
    {
        Check("set -2 1 3", 11, Plain(Integers(2, -2, 1, 3)));
        Check("set -2 1 70000", 11, Plain(Integers(4, -2, 1, 70_000)));
        Check("set -2 1 5000000000", 11, Plain(Integers(8, -2, 1, 5_000_000_000)));
        long[] many = [.. Enumerable.Range(0, 2000).Select(i => (long)i)];
        Check("set " + string.Join(' ', many.Select(i => i.ToString()).Order(StringComparer.Ordinal)), 11,
            Plain(Integers(2, many)));
    }

    [Theory]
    [InlineData(6)]
    [InlineData(7)]
    public void Values_of_modules_are_known_to_be_unknown(int type)
    {
        using var test = new TestStore();
        Assert.Equal(RdbStatus.Unknown, Restore(test, "k", [(byte)type, 1, 2, 3]));
    }

    public static TheoryData<int, byte[]> Wrong() => new()
    {
        { 0, [] }, { 0, [0x80, 0, 0] }, { 0, [0x82] }, { 0, [0xC5] }, { 0, [0xC3, 2, 200, 0, (byte)'a'] },
            { 0, [0xC3, 2, 1, 5, 0] },
        { 0, [0x81, 0x80, 0, 0, 0, 0, 0, 0, 1, 0] }, { 0, Plain("a")[..1] },
        { 0, [0xC3, 0, 0] }, { 0, [0xC3, 5, 11, 0, (byte)'a', 0xE0, 0, 0] },
        { 0, [0xC3, 4, 10, 0, (byte)'a', 0x20, 5] },
        { 1, [0] }, { 1, [0x81, 0x7F, 255, 255, 255, 255, 255, 255, 255] }, { 1, [2, .. Plain("a")] },
        { 2, [0] }, { 2, [2, .. Plain("a"), .. Plain("a")] }, { 2, [2, .. Plain("1"), 0xC0, 1] },
        { 4, [0] }, { 4, [1, .. Plain("a")] }, { 4, [2, .. Plain("a"), .. Plain("1"), .. Plain("a"), .. Plain("2")] },
        { 3, [1, .. Plain("a"), 253] }, { 3, [1, .. Plain("a"), .. Plain("x")] }, { 3, [1, .. Plain("a"), 0] },
        { 3, [1, .. Plain("a"), 9, (byte)'1'] },
        { 5, [1, .. Plain("a"), .. BitConverter.GetBytes(double.NaN)] }, { 5, [1, .. Plain("a"), 0, 0] },
        { 5, [2, .. Plain("a"), .. BitConverter.GetBytes(1.0), .. Plain("a"), .. BitConverter.GetBytes(1.0)] },
        { 9, Plain(Zipmap(0, "a", "1", "a", "2")) }, { 9, Plain(Zipmap(0)) }, { 9, Plain([1, 1, (byte)'a', 0xFF]) },
        { 9, Plain([2, 1, (byte)'a', 1, 0, (byte)'b', 0xFF]) },
        { 9, Plain([1, 1, (byte)'a', 1, 9, (byte)'b', 0xFF]) }, { 9, Plain([1, 1, (byte)'a', 1, 0, (byte)'b']) },
        { 9, Plain() },
        { 10, Plain(Ziplist()) }, { 14, [1, .. Plain(Ziplist())] }, { 14, [0] }, { 18, [0] },
        { 18, [1, 2, .. Plain(Listpack())] }, { 18, [1, 0, .. Plain("a")] }, { 18, [1, 3, .. Plain("a")] },
        { 11, Plain(Integers(2)) }, { 11, Plain(Integers(2, 1, 1)) }, { 11, Plain(Integers(2, 2, 1)) },
        { 11, Plain(Integers(3, 1)) }, { 11, Plain([.. Integers(2, 1), 0]) }, { 11, Plain("ab") },
        { 12, Plain(Ziplist("a")) }, { 12, Plain(Ziplist("a", "x")) }, { 12, Plain(Ziplist("a", "1", "a", "2")) },
        { 12, Plain(Ziplist("a", "nan")) }, { 12, Plain(Ziplist("a", "")) },
        { 13, Plain(Ziplist("a", "1", "a", "2")) }, { 13, Plain(Ziplist("a")) }, { 13, Plain(Ziplist()) },
        { 16, Plain(Listpack("a", "1", "a", "2")) }, { 16, Plain(Listpack("a")) }, { 16, Plain(Listpack()) },
        { 17, Plain(Listpack("a", "x")) }, { 17, Plain(Listpack("a", "-nan")) },
        { 17, Plain(Listpack("a", "Infinity")) }, { 17, Plain(Listpack("a", "1 ")) },
        { 20, Plain(Listpack("a", "b", "a")) }, { 20, Plain(Listpack("1", "1")) }, { 20, Plain(Listpack()) },
        { 24, [.. Little(5, 8), 0] }, { 24, [.. Little(5, 8), 1, 1, .. Plain("a")] },
        { 24, [.. Little(-1, 8), 1, 1, .. Plain("a"), .. Plain("1")] },
        { 24, [.. Little(5, 8), 2, 0, .. Plain("a"), .. Plain("1"), 1, .. Plain("a"), .. Plain("2")] },
        { 24, [.. Little((1L << 48) - 2, 8), 1, 2, .. Plain("a"), .. Plain("1")] },
        { 22, [1, 0x81, 0, 1, 0, 0, 0, 0, 0, 0, .. Plain("a"), .. Plain("1")] }, { 23, Plain(Listpack()) },
        { 23, Plain(Listpack("a", "1")) }, { 23, Plain(Listpack("a", "1", "x")) },
        { 23, Plain(Listpack("a", "1", "-1")) }, { 23, Plain(Listpack("a", "1", "0", "a", "2", "0")) },
        { 25, Plain(Listpack("a", "1", "0")) },
        { 8, [1] }, { 26, [1] }, { 255, [1] },
    };

    [Theory, MemberData(nameof(Wrong))]
    public void What_is_wrong_is_refused(int type, byte[] content)
    {
        using var test = new TestStore();
        Assert.Equal(RdbStatus.BadData, Restore(test, "k", [(byte)type, .. content]));
        Assert.Equal("none", Show(test, "k"));
        test.Settle();
        Assert.Equal(0, test.Store.Stats.BlockBytes);
    }

    // Each byte of a packed form but those of its strings says something that must agree with the others.
    [Fact]
    public void A_packed_form_with_any_of_its_own_bytes_changed_is_refused()
    {
        using var test = new TestStore();
        foreach ((byte type, byte[] packed) in ((byte, byte[])[])[(10, Ziplist("aa", "300", "bb")),
            (18, Listpack("aa", "300", "bb"))])
        {
            for (int at = 0; at < packed.Length; at++)
            {
                for (int bit = 0; bit < 8; bit++)
                {
                    byte[] changed = [.. packed];
                    changed[at] ^= (byte)(1 << bit);
                    byte[] content = type == 10 ? Plain(changed) : [1, 2, .. Plain(changed)];
                    if (Restore(test, "k", [type, .. content]) != RdbStatus.Ok) continue;
                    // Only what an element is may have changed, not how many there are.
                    Assert.Equal(3, Show(test, "k")["list ".Length..].Split(' ').Length);
                    test.Check();
                }
            }
        }
    }

    [Fact]
    public void A_string_longer_than_allowed_is_refused_before_it_takes_memory()
    {
        using var test = new TestStore();
        // 88 MB out of 1 MB; the limit is 50 MB.
        byte[] bomb = [0, 0xC3, 0x80, 0, 0x10, 0, 0, 0x80, 5, 0x80, 0, 0, .. new byte[1 << 20]];
        Assert.Equal(RdbStatus.BadData, Restore(test, "k", bomb, stringBytesMax: 50 << 20));
        byte[] lie = [0, 0xC3, 3, 0x80, 0x10, 0, 0, 0, 0, (byte)'a', 0];
        Assert.Equal(RdbStatus.BadData, Restore(test, "k", lie));
        Assert.InRange(test.Store.Stats.BlockBytes, 0, 4096);
    }

    private static void Check(string expected, byte type, params byte[][] parts)
    {
        using var test = new TestStore();
        Assert.Equal(RdbStatus.Ok, Restore(test, "k", [type, .. Concat(parts)]));
        Assert.Equal(expected, Show(test, "k"));
        test.Check();
        // And once more, as it is written here.
        byte[] dump = Dump(test, "k")!;
        Assert.Equal(RdbStatus.Ok, Restore(test, "r", dump));
        Assert.Equal(expected, Show(test, "r"));
        Assert.Equal(RdbStatus.Ok, Restore(test, "u", Dump(test, "k", compresses: false)));
        Assert.Equal(expected, Show(test, "u"));
        // Every shorter one is refused.
        byte[] whole = [type, .. Concat(parts)];
        for (int cut = whole.Length > 2000 ? whole.Length - 100 : 0; cut < whole.Length; cut++)
            Assert.Equal(RdbStatus.BadData, Restore(test, "cut", whole.AsSpan(0, cut)));
        test.Check();
    }
}
