using System.Text.RegularExpressions;
using RespBenchmark.CommandLine;
using RespBenchmark.Tair;

namespace RespBenchmark.Tests.Tair;

public partial class TairParserTests
{
    [Fact]
    public void Each_option_of_the_original_s_help_is_accepted_or_refused_by_name()
    {
        string help = Goldens.Read("tair-resp-benchmark-0.1.7-help.txt");
        var options = NamedOption().Matches(help[help.IndexOf("options:", StringComparison.Ordinal)..]);
        Assert.Equal(13, options.Count);
        foreach (Match option in options)
        {
            string name = option.Groups[1].Value;
            string[] words = option.Groups[2].Value.Trim() is "" ? [name] : [name, "1"];
            if (name == "--cluster")
                Assert.Contains("--cluster is refused",
                    Assert.Throws<UsageException>(() => TairParser.Parse(words)).Message);
            else TairParser.Parse(["-n", "1", .. words]);
        }
    }

    [Theory]
    [InlineData("PING|-s|20")]
    [InlineData("-s|20|PING")]
    [InlineData("-s20|PING|-c|3")]
    public void The_command_stands_anywhere(string line)
    {
        var options = TairParser.Parse(line.Split('|'));
        Assert.Equal(("PING", 20), (options.Command, options.Seconds));
    }

    [Fact]
    public void A_command_may_hold_an_equals_sign() =>
        Assert.Equal("SET a=b {value 3}", TairParser.Parse(["SET a=b {value 3}"]).Command);

    [Theory]
    [InlineData("--load", "--load needs -n, the number of requests to send")]
    [InlineData("GET k", "one command, please: 'k' comes after 'GET' (quote it)")]
    [InlineData("--cores 3-1", "--cores takes cores like 0-3,5, got '3-1'")]
    [InlineData("-P 0", "-P takes a number from 1 to 16777216, got '0'")]
    [InlineData("-q", "-q is no option of resp-benchmark (--help lists them)")]
    public void What_cannot_be_run_is_said_with_its_option(string line, string message)
    {
        var problem = Assert.Throws<UsageException>(() => TairParser.Parse(line.Split(' ')));
        Assert.Equal((message, ExitCode.Usage), (problem.Message, problem.ExitCode));
    }

    [Fact]
    public void Cores_are_ranges_and_numbers() =>
        Assert.Equal([0, 1, 2, 3, 5], TairParser.Parse(["--cores", "0-3,5,2"]).Cores);

    [GeneratedRegex(@"^  (?:-v, )?(--?[a-zA-Z-]+)( [a-zA-Z]+)?(?:  |$)", RegexOptions.Multiline)]
    private static partial Regex NamedOption();
}
