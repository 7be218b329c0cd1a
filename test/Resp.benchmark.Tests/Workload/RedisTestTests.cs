using System.Text;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class RedisTestTests
{
    [Fact]
    public void Titles_come_in_the_order_of_the_golden_output()
    {
        // The header row apart, each line of the CSV golden begins with a title.
        string[] golden = [.. Goldens.Read("redis-benchmark-7.0-csv.txt").Split((char)10)
            .Where(line => line.StartsWith('"')).Skip(1)
            .Select(line => line[1..line.IndexOf("\",", StringComparison.Ordinal)])];
        string[] ours = [.. RedisTests.All.Select(test => test.Title)];
        Assert.NotEmpty(golden);
        Assert.Equal(golden, ours.Where(golden.Contains));
    }

    [Theory]
    [InlineData("set", "SET key:[0-9]{12} v")]
    [InlineData("get", "GET key:[0-9]{12}")]
    [InlineData("incr", "INCR counter:[0-9]{12}")]
    [InlineData("lpush", "LPUSH mylist v")]
    [InlineData("rpop", "RPOP mylist")]
    [InlineData("sadd", "SADD myset element:[0-9]{12}")]
    [InlineData("hset", "HSET myhash element:[0-9]{12} v")]
    [InlineData("spop", "SPOP myset")]
    [InlineData("zadd", "ZADD myzset [0-9]{12} element:[0-9]{12}")]
    [InlineData("zpopmin", "ZPOPMIN myzset")]
    [InlineData("xadd", @"XADD mystream \* myfield v")]
    [InlineData("ping_mbulk", "PING")]
    public void A_test_sends_what_its_row_says(string name, string pattern)
    {
        RedisTest test = RedisTests.Find(name)!;
        string value = Encoding.ASCII.GetString(RedisTests.Data(20));
        foreach (string[] words in Rendered.Commands(RedisTests.For(test, 20, 100_000), 20))
            Assert.Matches($"^{pattern}$", string.Join(' ', words.Select(word => word == value ? "v" : word)));
    }

    [Fact]
    public void Without_a_key_space_tokens_are_sent_as_they_are_and_scores_are_0()
    {
        Assert.Equal("GET key:__rand_int__", Rendered.First(RedisTests.For(RedisTests.Find("get")!, 3, 0)));
        Assert.Equal("ZADD myzset 0 element:__rand_int__",
            Rendered.First(RedisTests.For(RedisTests.Find("zadd")!, 3, 0)));
        Assert.Equal("SET foo:__rand_int__ bar", Rendered.First(RedisTests.Custom(["SET", "foo:__rand_int__", "bar"])));
    }

    [Fact]
    public void The_value_is_the_one_of_redis_benchmark_and_every_token_a_number_of_its_own()
    {
        // As `redis-benchmark -t set -d 12` wrote it.
        Assert.Equal("VXKeHogKgJ=[", Encoding.ASCII.GetString(RedisTests.Data(12)));
        string[] words = Rendered.Commands(RedisTests.For(RedisTests.Find("mset")!, 3, 1_000_000_000), 1)[0];
        Assert.Equal(21, words.Length);
        Assert.Equal(10, words.Skip(1).Where(word => word.StartsWith("key:", StringComparison.Ordinal))
            .Distinct().Count());
        string[] custom = Rendered.Commands(
            RedisTests.Custom(["SET", "a__rand_int__b__rand_int__", "c"], 1_000_000_000), 1)[0];
        Assert.Matches("^a([0-9]{12})b(?!\\1)[0-9]{12}$", custom[1]);
        Assert.Equal("x\0y z",
            Rendered.Commands(RedisTests.Custom(["SET", "a"], 0, null, "x\0y z"u8.ToArray()), 1)[0][2]);
    }

    [Fact]
    public void Inline_ping_is_six_raw_bytes_and_a_custom_payload_is_the_whole_request()
    {
        using RequestSource source = RedisTests.For(RedisTests.Find("ping_inline")!, 3, 0).Open(0, 1, 1, 1);
        var session = default(SessionStream);
        Assert.Equal("PING\r\nPING\r\n"u8.ToArray(), Rendered.Bytes(source, ref session, 2));
        Assert.Equal(45, RedisTests.Custom(["SET", "foo:__rand_int__", "bar"]).BatchBytes(1));
    }

    [Fact]
    public void The_older_release_has_its_own_tests_and_titles()
    {
        Assert.Equal("PING_INLINE PING_BULK SET GET INCR LPUSH LPOP SADD SPOP",
            string.Join(' ', RedisTests.Legacy.Take(9).Select(t => t.Title)));
        RedisTest range = RedisTests.Legacy.Single(test => test.IsNamed("lrange_500") && test.Elements > 0);
        Assert.Equal("LRANGE_500 (first 450 elements)", range.Title);
        Assert.Equal("LRANGE mylist 0 449", Rendered.First(RedisTests.For(range, 3, 0)));
    }
}
