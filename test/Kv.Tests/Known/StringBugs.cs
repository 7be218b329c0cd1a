using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about strings, numbers and keys, as clients meet them.</summary>
public class StringBugs
{
    // CVE-2022-35977.
    [Fact]
    public void Known_S01_SETRANGE_far_out_is_refused_and_changes_nothing() => Transcript.Check("""
        > SET k abc
        < +OK
        > SETRANGE k 9223372036854775807 x
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE k 536870911 xx
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE k 600000000 x
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE k 9223372036854775800 "0123456789"
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE new 600000000 x
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > GET k
        < "abc"
        > EXISTS new
        < :0
        """);

    [Fact]
    public void Known_S01_SETBIT_far_out_is_refused_and_changes_nothing() => Transcript.Check("""
        > SET k abc
        < +OK
        > SETBIT k 4294967296 1
        < -ERR bit offset is not an integer or out of range
        > SETBIT k 9223372036854775807 1
        < -ERR bit offset is not an integer or out of range
        > SETBIT new 4294967296 0
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k SET u8 4294967296 1
        < -ERR bit offset is not an integer or out of range
        > BITFIELD k SET u8 #9223372036854775807 1
        < -ERR bit offset is not an integer or out of range
        > GET k
        < "abc"
        > EXISTS new
        < :0
        """);

    [Fact]
    public void Known_S02_GETRANGE_of_any_extreme_indexes_is_a_part_of_the_value()
    {
        string[] edges = ["-9223372036854775808", "-9223372036854775807", "-4294967296", "-3", "-2", "-1", "0",
            "1", "2", "3",
            "2147483648", "9223372036854775806", "9223372036854775807"];
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        client.Ok("SET k abc");
        client.Ok("SET empty \"\"");
        foreach (string from in edges)
        {
            foreach (string to in edges)
            {
                Assert.Equal("\"\"", client.Command($"GETRANGE empty {from} {to}").ToString());
                Assert.Equal("\"\"", client.Command($"GETRANGE missing {from} {to}").ToString());
                Assert.Equal(Part("abc", long.Parse(from), long.Parse(to)),
                    client.Command($"GETRANGE k {from} {to}").String);
            }
        }
    }

    [Fact]
    public void Known_S05_what_is_no_integer_or_would_overflow_is_refused_and_left_alone()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string value in (string[])[" 1", "1 ", "+1", "007", "1e3", "", "-0", "0x1", "1.0",
            "9223372036854775808", "-9223372036854775809", "1\0"])
        {
            client.Command("SET"u8.ToArray(), "k"u8.ToArray(), RespText.Bytes(value));
            foreach (string command in (string[])["INCR k", "DECR k", "INCRBY k 1", "DECRBY k 1"])
                Assert.Equal("-ERR value is not an integer or out of range", client.Command(command).ToString());
            Assert.Equal(value, client.Command("GET k").String);
        }

        foreach (var (value, command) in ((string, string)[])[("9223372036854775807", "INCR k"),
            ("-9223372036854775808", "DECR k"),
                     ("1", "INCRBY k 9223372036854775807"), ("-2", "INCRBY k -9223372036854775807"),
                     ("-2", "DECRBY k 9223372036854775807"),
                     ("0", "DECRBY k -9223372036854775808")])
        {
            client.Ok($"SET k {value}");
            string error = client.Command(command).String;
            Assert.Contains("overflow", error, StringComparison.Ordinal);
            Assert.Equal(value, client.Command("GET k").String);
        }
    }

    // CVE-2023-28856 is the hash form.
    [Fact]
    public void Known_S06_INCRBYFLOAT_at_the_edges_errs_or_gives_the_exact_text() => Transcript.Check("""
        > SET f 1
        < +OK
        > INCRBYFLOAT f nan
        < -ERR value is not a valid float
        > INCRBYFLOAT f inf
        < -ERR increment would produce NaN or Infinity
        > INCRBYFLOAT f -inf
        < -ERR increment would produce NaN or Infinity
        > GET f
        < "1"
        > INCRBYFLOAT f 1e-320
        < "1"
        > SET f 0
        < +OK
        > INCRBYFLOAT f 1e300
        < <string>
        > STRLEN f
        < :301
        > INCRBYFLOAT f 1e300
        < <string>
        > STRLEN f
        < :301
        """);

    // CVE-2023-28425.
    [Fact]
    public void Known_S07_a_key_given_twice_is_one_key_with_the_last_value() => Transcript.Check("""
        > MSETNX a 1 a 2
        < :1
        > GET a
        < "2"
        > MSET a 3 a 4
        < +OK
        > GET a
        < "4"
        > DBSIZE
        < :1
        """);

    [Fact]
    public void Known_S08_a_wrong_expiry_leaves_the_old_value() => Transcript.Check("""
        > SET k old
        < +OK
        > SET k v EX 9223372036854775807
        < -ERR invalid expire time in 'set' command
        > SET k v EX 0
        < -ERR invalid expire time in 'set' command
        > SET k v EX -1
        < -ERR invalid expire time in 'set' command
        > SET k v PXAT -1
        < -ERR invalid expire time in 'set' command
        > GET k
        < "old"
        > TTL k
        < :-1
        """);

    [Fact]
    public void Known_S09_SET_with_GET_and_a_condition_answers_the_old_value_either_way() => Transcript.Check("""
        > SET k old EX 1000
        < +OK
        > SET k new NX GET
        < "old"
        > GET k
        < "old"
        > TTL k
        < <int 990..1000>
        > SET k new XX GET KEEPTTL
        < "old"
        > TTL k
        < <int 990..1000>
        > SET k v KEEPTTL EX 10
        < -ERR syntax error
        > GET k
        < "new"
        """);

    [Fact]
    public void Known_S10_growth_past_the_limit_is_refused_before_memory_is_taken() => Transcript.Check("""
        > CONFIG SET proto-max-bulk-len 1mb
        < +OK
        > SET k "x"*1000000
        < +OK
        > APPEND k "y"*100000
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > STRLEN k
        < :1000000
        > SETRANGE k 1048576 x
        < -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > LCS k k LEN
        < -ERR <any>
        > STRLEN k
        < :1000000
        > CONFIG SET proto-max-bulk-len 512mb
        < +OK
        """);

    // CVE-2022-36021, CVE-2024-31228. A backtracking matcher needs 10^20 steps here: it would never answer.
    [Fact]
    public void Known_S11_globs_take_time_of_pattern_by_text()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        client.Command("SET"u8.ToArray(), Repeated("a", 1000), "v"u8.ToArray());
        client.Command("SET"u8.ToArray(), Repeated("b", 1000), "v"u8.ToArray());
        foreach (byte[] pattern in (byte[][])[Repeated("a*", 500, "b"), Repeated("*a", 500, "c"),
            Repeated("*?", 511, "c"), Repeated("[", 1),
                     Repeated("[^", 1), Repeated("a", 1, "\\"), Repeated("[a-", 1), Repeated("*", 1023, "x"),
                     Repeated("a*", 499, "*\\")])
        {
            Assert.Equal("[]", client.Command("KEYS"u8.ToArray(), pattern).ToString());
        }

        string longer = client.Command("KEYS"u8.ToArray(), Repeated("*?", 50_000)).ToString();
        Assert.Equal("-ERR pattern is longer than 1024 bytes", longer);
    }

    [Fact]
    public void Known_S13_SCAN_takes_any_cursor_and_finds_what_stays_while_the_index_grows()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string cursor in (string[])["18446744073709551615", "9223372036854775808", "12345678901234567"])
            Assert.Equal(2, client.Ok($"SCAN {cursor} COUNT 10").Items!.Count);
        foreach (string cursor in (string[])["x", "18446744073709551616", "1x", "\" 1\""])
            Assert.Equal("-ERR invalid cursor", client.Command($"SCAN {cursor}").ToString());

        for (int i = 0; i < 500; i++) client.Ok($"SET stays:{i} v");
        var seen = new HashSet<string>();
        string next = "0";
        int added = 0;
        // Ends: the cursor counts through the buckets in reverse binary, and growing only refines what is left.
        do
        {
            var page = client.Ok($"SCAN {next} COUNT 5").Items!;
            next = page[0].String;
            seen.UnionWith(page[1].Items!.Select(key => key.String));
            for (int i = 0; i < 100 && added < 50_000; i++) client.Ok($"SET grows:{added++} v");
        }
        while (next != "0");

        Assert.DoesNotContain(Enumerable.Range(0, 500), i => !seen.Contains($"stays:{i}"));
    }

    [Fact]
    public void Known_S15_renaming_moves_the_expiry_with_the_value() => Transcript.Check("""
        > SET k v EX 1000
        < +OK
        > RENAME k k
        < +OK
        > TTL k
        < <int 990..1000>
        > RENAMENX k k
        < :0
        > COPY k k
        < -ERR source and destination objects are the same
        > SET other w
        < +OK
        > RENAME k other
        < +OK
        > TTL other
        < <int 990..1000>
        > SET plain p
        < +OK
        > RENAME plain other
        < +OK
        > TTL other
        < :-1
        > DBSIZE
        < :1
        """);

    [Fact]
    public void Known_S16_asking_about_a_missing_key_revives_nothing() => Transcript.Check("""
        > OBJECT ENCODING k
        < nil
        > OBJECT FREQ k
        < nil
        > OBJECT IDLETIME k
        < nil
        > TYPE k
        < +none
        > SET k v
        < +OK
        > PEXPIREAT k 1
        < :1
        > OBJECT ENCODING k
        < nil
        > TYPE k
        < +none
        > PERSIST k
        < :0
        > EXISTS k
        < :0
        > DBSIZE
        < :0
        """);

    // P15 and P16: each call shortened word by word, and with an option word left over at the end.
    [Fact]
    public void Known_P15_a_command_cut_after_any_word_gets_one_reply_and_the_connection_lives()
    {
        string[] calls =
        [
            "SET k v NX GET EX 100", "SET k v EX", "SET k v PXAT", "GETEX k EX 100", "GETEX k PXAT",
            "SCAN 0 MATCH * COUNT 10 TYPE string",
            "SCAN 0 MATCH", "SCAN 0 TYPE", "COPY a b DB 1 REPLACE", "COPY a b DB",
            "LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN", "LCS a b MINMATCHLEN",
            "EXPIRE k 100 NX", "EXPIRE k 1 NX XX", "CLIENT KILL ID 99999 SKIPME yes", "CLIENT LIST TYPE normal",
            "CLIENT PAUSE 1 WRITE",
            "CONFIG SET timeout 0 tcp-keepalive 300", "COMMAND GETKEYS SET k v", "COMMAND LIST FILTERBY PATTERN x",
            "MEMORY USAGE k SAMPLES 1",
            "OBJECT ENCODING k", "HELLO 2 AUTH a b SETNAME c", "AUTH a b", "MSET a 1 b 2", "SETRANGE k 1 v",
            "BITCOUNT k 0 1 BYTE", "SWAPDB 0 1",
            "PUBSUB NUMSUB a", "PUBLISH a b", "INFO server clients", "DEBUG SLEEP 0", "FLUSHALL ASYNC", "SELECT 0",
            "MODULE LIST", "CLUSTER INFO",
        ];
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        foreach (string call in calls)
        {
            byte[][] words = RespText.Split(call);
            for (int count = 1; count <= words.Length; count++)
            {
                client.Send([.. RespText.Encode(words[..count]), .. RespText.Encode("ECHO next")]);
                client.Read();
                Assert.Equal("\"next\"", client.Read().ToString());
            }
        }
    }

    private static byte[] Repeated(string text, int times, string end = "") =>
        RespText.Bytes(string.Concat(Enumerable.Repeat(text, times)) + end);

    /// <summary>What GETRANGE means, written as its documentation says it.</summary>
    private static string Part(string text, long from, long to)
    {
        Int128 length = text.Length, first = from < 0 ? length + from : from, last = to < 0 ? length + to : to;
        if (from < 0 && to < 0 && from > to) return "";
        first = Int128.Max(first, 0);
        last = Int128.Min(Int128.Max(last, 0), length - 1);
        return first > last ? "" : text[(int)first..((int)last + 1)];
    }
}
