using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class TemplateTests
{
    // '|' stands between arguments, a line for each command.
    [Theory]
    [InlineData("GET {key uniform 100}", "GET|key_00000000[0-9]{2}")]
    [InlineData("GET a_{key uniform 1}_b", "GET|a_key_0000000000_b")]
    [InlineData("SET k \"a b\" 'c  d' e\\ f", "SET|k|a b|c  d|e f")]
    [InlineData("SET k '{\"a\": 1}' \"x {rand 1} \\\" y\"", "SET|k|\\{\"a\": 1\\}|x 0 \" y")]
    [InlineData("SET k '' \"\"", "SET|k||")]
    [InlineData("SET {{user}}:1 v", "SET|\\{user\\}:1|v")]
    [InlineData("SET k a}b", "SET|k|a\\}b")]
    [InlineData("GET {key zipf:0.5 10 fmt=garnet}", "GET|X{7}[0-9]")]
    [InlineData("GET {key seq 5 prefix=p:}", "GET|p:0000000000")]
    [InlineData("GET {key}", "GET|key:000000[0-9]{6}")]
    [InlineData("SET {key hot:80/20 10 name=x} {value 4}; EXPIRE {same x} 5",
        "SET|(key_000000000[0-9])|[A-Za-z0-9]{4}\nEXPIRE|\\1|5")]
    [InlineData("2* INCR c; GET c", "INCR|c\nINCR|c\nGET|c")]
    [InlineData("2*PING;; ", "PING\nPING")]
    [InlineData("MGET {repeat 3: {key uniform 10 fmt=%d}}", "MGET|[0-9]|[0-9]|[0-9]")]
    [InlineData("MSET {repeat 2: {key uniform 9 fmt=k%d name=a} {same a}} tail {rand 1}",
        "MSET|(k[0-8])|\\1|(k[0-8])|\\2|tail|0")]
    [InlineData("X {seq 3}; X {seq 3}", "X|0\nX|0")]
    [InlineData("X {rand -5 -5} {rand 7 8} {rand 1}", "X|-5|[78]|0")]
    [InlineData("X {range 5 100}", "X|[0-4]|4")]
    [InlineData("X {float -1 1} {float 2 2}", @"X|-?[01]\.[0-9]{6}|2\.000000")]
    [InlineData("X {value 3-5} {value} {text 20}", "X|[A-Za-z0-9]{3,5}|[A-Za-z0-9]{64}|[a-z ]{20}")]
    [InlineData("X {pick one|two} {bit} {bit 8}", "X|(one|two)|[01]|[0-7]")]
    [InlineData("GEOADD k {geo} m", @"GEOADD|k|-?[0-9]{1,3}\.[0-9]{6}|-?[0-9]{1,2}\.[0-9]{6}|m")]
    [InlineData("X {now s} {now ms} {client}", "X|[0-9]{10}|[0-9]{13}|0")]
    [InlineData("X {tag 0} {tag 16383} {tag}", @"X|\{[0-9]+\}|\{[0-9]+\}|\{tag\}")]
    [InlineData("EVALSHA {sha \"return redis.call('SET', KEYS[1], ARGV[1])\"} 0",
        "EVALSHA|d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37|0")]
    [InlineData("SET k:__rand_int__ __data__", "SET|k:000000[0-9]{6}|[A-Za-z0-9]{64}")]
    [InlineData("X __rand_1st__ __rand_2nd__ a__rand_1st__b", @"X|([0-9]{12})|(?!\1)[0-9]{12}|a\1b")]
    [InlineData("GET __key__", "GET|key:000000[0-9]{6}")]
    public void A_template_expands_as_documented(string template, string pattern)
    {
        ShapedWorkload workload = Template.Parse(template);
        int commands = pattern.Split('\n').Length;
        foreach (string[][] unit in Rendered.Commands(workload, commands, most: 1).Chunk(commands))
        {
            string text = string.Join('\n', unit.Select(words => string.Join('\u00a6', words)));
            Assert.Matches($"^{BarsOutsideGroups(pattern)}$", text);
        }

        // However it is asked for, and over many units, it is whole commands.
        Assert.Equal(commands * 40, Rendered.Commands(workload, commands * 40, most: 3).Count);
    }

    /// <summary>A bar inside parentheses is a choice, all others separate arguments.</summary>
    private static string BarsOutsideGroups(string pattern)
    {
        int depth = 0;
        return string.Concat(pattern.Select((letter, at) =>
        {
            bool escaped = at > 0 && pattern[at - 1] == '\\';
            if (letter == '(' && !escaped) depth++;
            if (letter == ')' && !escaped) depth--;
            return letter == '|' && depth == 0 ? '\u00a6' : letter;
        }));
    }

    [Theory]
    [InlineData("GET {nothing}", "{nothing}")]
    [InlineData("GET \"x", "does not end")]
    [InlineData("GET 'x", "does not end")]
    [InlineData("GET {key uniform 5", "does not end")]
    [InlineData("GET {same x}", "name=x")]
    [InlineData("GET {key uniform x}", "'x'")]
    [InlineData("GET {key pareto 5}", "'pareto'")]
    [InlineData("GET {rand 5 4}", "larger")]
    [InlineData("GET {tag 16384}", "16383")]
    [InlineData("GET {now years}", "unit")]
    [InlineData("GET {value 5 fmt=%d}", "fmt=")]
    [InlineData("0* GET x", "repeats")]
    [InlineData("5*", "no command")]
    [InlineData(" ; ", "no command")]
    public void What_cannot_be_read_is_refused_and_named(string template, string named)
    {
        var refused = Assert.Throws<UsageException>(() => Template.Parse(template));
        Assert.Contains(named, refused.Message);
    }

    [Theory]
    [InlineData("GET {key} :80", "GET {key}", 80)]
    [InlineData("GET a:5", "GET a:5", 1)]
    [InlineData("GET a :b", "GET a :b", 1)]
    public void A_weight_is_taken_off_the_end(string text, string template, int weight) =>
        Assert.Equal((template, weight), Template.SplitWeight(text));

    [Fact]
    public void Templates_of_several_weights_are_an_exact_mix()
    {
        ShapedWorkload workload = Template.Parse([("GET {key}", 7), ("SET {key} {value 5}", 2), ("DEL {key}", 1)]);
        foreach (string[][] ten in Rendered.Commands(workload, 1000).Chunk(10))
        {
            Assert.Equal(7, ten.Count(words => words[0] == "GET"));
            Assert.Equal(2, ten.Count(words => words[0] == "SET"));
        }
    }

    [Fact]
    public void Kinds_of_a_sequence_are_counted_once_however_often_it_repeats_them()
    {
        ShapedWorkload workload = Template.Parse("300* INCR c; GET c");
        Assert.Equal(["INCR", "GET"], workload.Kinds.Select(kind => kind.Name));
        Assert.Equal([true, false], workload.Kinds.Select(kind => kind.Continues));
        using RequestSource source = workload.Open(0, 1, 1, 1);
        var session = default(SessionStream);
        RequestChunk chunk = source.Render(ref session, 301);
        Assert.Equal(301, chunk.Commands);
        Assert.True(chunk.Kinds[..300].IndexOfAnyExcept((byte)0) < 0);
        Assert.Equal(1, chunk.Kinds[300]);
    }

    [Fact]
    public void A_load_by_template_ends_after_its_units_and_scripts_are_named_once()
    {
        ShapedWorkload workload = Template.Parse(
            [("HSET h {key seq 50} v; EVALSHA {sha \"return 1\"} 0; EVALSHA {sha \"return 1\"} 0", 1)], count: 50);
        Assert.Equal(150L, workload.Commands);
        Assert.Equal(["return 1"], workload.Scripts);
        using RequestSource source = workload.Open(0, 1, 1, 1);
        var session = default(SessionStream);
        List<string[]> commands = Rendered.Parse(Rendered.Bytes(source, ref session, long.MaxValue, 7));
        Assert.Equal(150, commands.Count);
        Assert.Equal(50, commands.Where(words => words[0] == "HSET").Select(words => words[2]).Distinct().Count());
    }

    [Fact]
    public void Every_slot_has_a_tag()
    {
        Assert.Equal(12739, HashTag.SlotOf("123456789"u8));       // the checksum's published test value is 0x31C3
        var slots = new HashSet<int>();
        for (int number = 0; number < 1_000_000 && slots.Count < HashTag.Slots; number++)
            slots.Add(HashTag.SlotOf(System.Text.Encoding.ASCII.GetBytes(number.ToString())));
        Assert.Equal(HashTag.Slots, slots.Count);
    }

    [Theory]
    [InlineData("SET {key} {value 1-300000}; GET {key}")]
    [InlineData("MSET {repeat 5000: {key name=k} {value 10-200}}")]
    [InlineData(
        "X {geo} {now us} {client} {pick a|bb} {text 5} __rand_1st__ {rand -5 5} {key zipf:0.9:scrambled 1000}")]
    public void Rendering_a_template_allocates_nothing(string template)
    {
        using RequestSource source = Template.Parse(template).Open(0, 1, 2, 1);
        var sessions = new SessionStream[2];
        sessions[1].Session = 1;
        void Run()
        {
            for (int round = 0; round < 50; round++) source.Render(ref sessions[round & 1], 10);
        }

        Run();
        long before = GC.GetAllocatedBytesForCurrentThread();
        Run();
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }
}
