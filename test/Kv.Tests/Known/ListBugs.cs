using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about lists, as clients meet them.</summary>
public class ListBugs
{
    [Fact]
    public void Known_C01_the_least_integer_has_no_positive_and_is_taken_for_all() => Transcript.Check("""
        > RPUSH l a b a
        < :3
        > LREM l -2147483648 b
        < :1
        > LREM l -9223372036854775808 a
        < :2
        > RPUSH l a
        < :1
        > LPOS l a RANK -9223372036854775808
        < -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
        > LPOS l a RANK -9223372036854775807
        < nil
        """);

    [Fact]
    public void Known_C03_LMPOP_without_keys_is_refused() => Transcript.Check("""
        > LMPOP 0
        < -ERR wrong number of arguments for 'lmpop' command
        > LMPOP 0 l LEFT
        < -ERR numkeys should be greater than 0
        > LMPOP -1 a b LEFT
        < -ERR numkeys should be greater than 0
        > LMPOP 9223372036854775807 a b LEFT
        < -ERR syntax error
        """);

    [Fact]
    public void Known_C04_LPOP_of_none_a_missing_key_and_a_negative_count() => Transcript.Check("""
        > LPOP l 0
        < nil[]
        > RPUSH l a
        < :1
        > LPOP l 0
        < []
        > LPOP l -1
        < -ERR value is out of range, must be positive
        > LLEN l
        < :1
        """);

    [Fact]
    public void Known_C05_counts_that_lose_bits_when_doubled_are_only_large() => Transcript.Check("""
        > RPUSH l a b c
        < :3
        > LPOP l 536870912
        < ["a" "b" "c"]
        > RPUSH l a b c
        < :3
        > RPOP l 1073741824
        < ["c" "b" "a"]
        > RPUSH l a b c
        < :3
        > LPOS l a COUNT 4611686018427387904 MAXLEN 9223372036854775807
        < [:0]
        > LMPOP 1 l LEFT COUNT 9223372036854775807
        < ["l" ["a" "b" "c"]]
        """);

    [Fact]
    public void Known_C07_the_last_element_takes_the_key_with_it() => Transcript.Check("""
        > RPUSH l a
        < :1
        > LPOP l
        < "a"
        > EXISTS l
        < :0
        > RPUSH l a
        < :1
        > LREM l 0 a
        < :1
        > EXISTS l
        < :0
        > RPUSH l a
        < :1
        > LTRIM l 1 0
        < +OK
        > EXISTS l
        < :0
        > RPUSH l a
        < :1
        > LMOVE l m LEFT LEFT
        < "a"
        > EXISTS l m
        < :1
        > LMPOP 1 m RIGHT COUNT 5
        < ["m" ["a"]]
        > DBSIZE
        < :0
        """);

    // 8,192 bytes: a listpack of 7 and 10 an element has 818 of them; what is added counts without its header.
    [Fact]
    public void Known_C08_a_list_becomes_large_and_small_again_exactly_at_the_limits()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        for (int i = 1; i <= 818; i++) client.Ok("RPUSH l elements");
        Assert.Equal("listpack", client.Ok("OBJECT ENCODING l").String);
        client.Ok("RPUSH l elements");
        Assert.Equal("quicklist", client.Ok("OBJECT ENCODING l").String);
        client.Ok("LTRIM l 0 399");
        Assert.Equal("listpack", client.Ok("OBJECT ENCODING l").String);
        Assert.Equal(400, client.Ok("LLEN l").Integer);
        client.Ok("LPUSH s 1 2 3 4");
        client.Ok("CONFIG SET list-max-listpack-size 4");
        Assert.Equal("listpack", client.Ok("OBJECT ENCODING s").String);
        client.Ok("LPUSH s 5");
        Assert.Equal("quicklist", client.Ok("OBJECT ENCODING s").String);
        client.Ok("LPOP s 2");
        Assert.Equal("quicklist", client.Ok("OBJECT ENCODING s").String);
        client.Ok("RPOP s");
        Assert.Equal("listpack", client.Ok("OBJECT ENCODING s").String);
        client.Ok("CONFIG SET list-max-listpack-size -2");
    }
}
