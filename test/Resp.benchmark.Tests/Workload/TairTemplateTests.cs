using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class TairTemplateTests
{
    [Theory]
    [InlineData("SET {key uniform 100} {value 8}", "SET|key_00000000[0-9]{2}|[A-Za-z0-9]{8}")]
    [InlineData("GET pre_{key uniform 1}_suf", "GET|pre_key_0000000000_suf")]
    [InlineData("  PING   ", "PING")]
    [InlineData("ZADD {key zipfian 1} {rand 10} m", "ZADD|key_0000000000|[0-9]|m")]
    [InlineData("ZRANGE k {range 1 5}", "ZRANGE|k|0|0")]
    [InlineData("ZRANGE k {range 100 5} x", "ZRANGE|k|[0-9]+|[0-9]+|x")]
    [InlineData("GET {key sequence 5}", "GET|key_0000000000")]
    [InlineData("GET {key uniform 1}{key uniform 1}", "GET|key_0000000000key_0000000000")]
    [InlineData("SET k \"a b\"", "SET|k|\"a|b\"")]
    [InlineData("\"SET\" k v", "SET|k|v")]
    [InlineData("\"SET k\" v", "SET|k|v")]
    [InlineData("SET {key uniform 1}\"x\"", "SET|key_0000000000x")]
    [InlineData("SET {key uniform 1} \"x\"", "SET|key_0000000000|\"x\"")]
    [InlineData("SET {key uniform 1}'a'b", "SET|key_0000000000ab")]
    [InlineData("'", "'")]
    [InlineData("SET a\tb\nc", "SET|a|b|c")]
    public void A_template_is_split_and_unquoted_by_the_originals_rules(string template, string pattern)
    {
        foreach (string[] words in Rendered.Commands(TairTemplate.Parse(template, load: false, 0), 1))
            Assert.Matches($"^{pattern.Replace("|", "\\|")}$", string.Join('|', words));
    }

    [Fact]
    public void A_range_is_two_arguments_no_further_apart_than_it_is_wide()
    {
        foreach (string[] words in Rendered.Commands(TairTemplate.Parse("ZRANGE k {range 100 5}", false, 0), 500))
            Assert.Equal(Math.Min(long.Parse(words[2]) + 5, 99), long.Parse(words[3]));
    }

    [Theory]
    [InlineData("GET {key}", "{key}")]
    [InlineData("GET {key normal 5}", "normal")]
    [InlineData("GET {value}", "{value}")]
    [InlineData("GET {rand x}", "'x'")]
    [InlineData("GET {rand 0}", "'0'")]
    [InlineData("GET {uuid}", "{uuid}")]
    [InlineData("GET {value 8", "{value 8")]
    [InlineData("   ", "empty")]
    public void What_is_no_template_is_refused_and_named(string template, string named) =>
        Assert.Contains(named, Assert.Throws<UsageException>(() => TairTemplate.Parse(template, false, 0)).Message);

    // The rule that published loads rely on: two sequences of coprime lengths, n their product, every pair exactly
    // once.
    [Theory]
    [InlineData(1, 1)]
    [InlineData(3, 7)]
    [InlineData(4, 4)]
    public void A_load_writes_every_pair_exactly_once(int loops, int sessions)
    {
        const int Keys = 10, Members = 1007;
        ShapedWorkload workload = TairTemplate.Parse(
            $"ZADD {{key sequence {Keys}}} {{rand 70}} {{key sequence {Members}}}", true, Keys * Members);
        List<string> pairs = Load(workload, loops, sessions, words => words[1] + words[3]);
        Assert.Equal(Keys * Members, pairs.Count);
        Assert.Equal(Keys * Members, pairs.Distinct().Count());
    }

    [Fact]
    public void A_load_of_constant_layout_ends_after_its_count_and_reaches_every_key()
    {
        ShapedWorkload workload = TairTemplate.Parse("SET {key sequence 1000} {value 3}", true, 1000);
        Assert.Equal(1000L, workload.Commands);
        List<string> keys = Load(workload, 2, 5, words => words[1]);
        keys.Sort(StringComparer.Ordinal);
        Assert.Equal(Enumerable.Range(0, 1000).Select(i => $"key_{i:D10}"), keys);
    }

    private static List<string> Load(ShapedWorkload workload, int loops, int sessions, Func<string[], string> pick)
    {
        var picked = new List<string>();
        for (int loop = 0; loop < loops; loop++)
        {
            using RequestSource source = workload.Open(loop, loops, sessions, 5);
            for (int number = loop; number < sessions; number += loops)
            {
                // Uneven shares: the last session of a loop takes what the others left.
                bool isLast = number + loops >= sessions;
                var session = new SessionStream { Session = number };
                picked.AddRange(Rendered.Parse(Rendered.Bytes(source, ref session, isLast ? long.MaxValue : 11, 7))
                    .Select(pick));
            }
        }

        return picked;
    }
}
