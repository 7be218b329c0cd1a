using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.CommandLine;

public class DetectionTests
{
    [Fact]
    public void Every_line_of_the_seeds_is_read_as_its_comment_says()
    {
        int lines = 0;
        foreach (var (grammar, line) in Goldens.SeedCommands())
        {
            var (program, arguments) = Goldens.Split(line);
            // By the look of the arguments alone; only "--help" needs the name.
            if (arguments is ["--help"])
                Assert.Equal(Grammar.Native, Detection.Read("Resp.benchmark", arguments).Grammar);
            else Assert.True(Named(grammar) == Detection.Read("Resp.benchmark", arguments).Grammar, line);
            Assert.True(Named(grammar) == Detection.Read(program, arguments).Grammar, line);
            lines++;
        }

        Assert.Equal(34, lines);
    }

    [Theory]
    [InlineData("run --op GET", Grammar.Native)]
    [InlineData("--help", Grammar.Native)]
    [InlineData("--version", Grammar.Native)]
    [InlineData("-- --help", Grammar.Native)]
    [InlineData("", Grammar.RedisBenchmark)]
    [InlineData("-q --help", Grammar.RedisBenchmark)]
    [InlineData("-t get --threads 4 --tls --cluster", Grammar.RedisBenchmark)]
    [InlineData("--op=GET", Grammar.Garnet)]
    [InlineData("-t 1,2,4", Grammar.Garnet)]
    [InlineData("-t ping", Grammar.RedisBenchmark)]
    [InlineData("-h localhost -b 1", Grammar.Garnet)]
    [InlineData("-s --op GET", Grammar.Garnet)]
    [InlineData("--json out.json --op GET", Grammar.Garnet)]
    [InlineData("-s 20", Grammar.RespBenchmark)]
    [InlineData("-s /tmp/redis.sock", Grammar.RedisBenchmark)]
    [InlineData("--load -n 10", Grammar.RespBenchmark)]
    [InlineData("GET{key", Grammar.RespBenchmark)]
    [InlineData("-n 10 SET k -b", Grammar.RedisBenchmark)]
    [InlineData("--as garnet -s 20", Grammar.Garnet)]
    [InlineData("-q --as=resp-benchmark", Grammar.RespBenchmark)]
    [InlineData("-s 20 --as native", Grammar.Native)]
    public void A_line_is_read_by_its_first_mark(string line, object grammar) =>
        Assert.Equal(grammar,
            Detection.Read("Resp.benchmark", line.Split(' ', StringSplitOptions.RemoveEmptyEntries)).Grammar);

    [Theory]
    [InlineData("redis-benchmark", Grammar.RedisBenchmark)]
    [InlineData("valkey-benchmark", Grammar.RedisBenchmark)]
    [InlineData("resp-benchmark", Grammar.RespBenchmark)]
    [InlineData("Resp.benchmark", Grammar.Garnet)]
    [InlineData("dotnet", Grammar.Garnet)]
    public void The_program_s_name_decides_before_the_options_do(string program, object grammar) =>
        Assert.Equal(grammar, Detection.Read(program, ["--op", "GET"]).Grammar);

    [Fact]
    public void A_leading_double_dash_and_the_word_as_are_taken_away()
    {
        var detected = Detection.Read("redis-benchmark", ["--", "-q", "--as", "garnet", "-t", "1"]);
        Assert.Equal(Grammar.Garnet, detected.Grammar);
        Assert.Equal(["-q", "-t", "1"], detected.Arguments);
        Assert.False(detected.Guessed);
    }

    [Theory]
    [InlineData("--as")]
    [InlineData("--as tair")]
    [InlineData("--as=")]
    public void An_unknown_grammar_is_a_problem_that_says_the_four_names(string line) =>
        Assert.Contains("garnet, redis-benchmark, resp-benchmark or native",
            Detection.Read("x", line.Split(' ')).Problem);

    [Fact]
    public void Whatever_the_words_are_a_grammar_is_found()
    {
        string[] words =
        [
            "", "-", "--", "---", "=", "--=", "-t", "-t=", "--threads", "-s", "1,2", "9", "{", " ", "--as", "--as=",
            "native", "run",
            "\0", "é", "-b", "--op", "--load", "--json", "SET", "-c", "--help", "=garnet",
        ];
        var random = Seed.NewRandom();
        for (int round = 0; round < 100_000; round++)
        {
            string[] line = random.GetItems(words, random.Next(8));
            string program = random.Next(4) == 0 ? "redis-benchmark" : words[random.Next(words.Length)];
            var detected = Detection.Read(program, line);
            Assert.True(Enum.IsDefined(detected.Grammar)
                && detected.Arguments.Length <= line.Length, $"{string.Join('|', line)} {Seed.Hint}");
        }
    }

    private static Grammar Named(string grammar) => grammar switch
    {
        "garnet" => Grammar.Garnet,
        "redis-benchmark" => Grammar.RedisBenchmark,
        "resp-benchmark" => Grammar.RespBenchmark,
        _ => throw new ArgumentOutOfRangeException(nameof(grammar), grammar, null),
    };
}
