using System.Text.RegularExpressions;
using RespBenchmark.CommandLine;
using RespBenchmark.RedisBenchmark;

namespace RespBenchmark.Tests.RedisBenchmark;

public partial class RedisBenchmarkParserTests
{
    [Fact]
    public void Each_option_of_the_original_s_help_is_accepted_or_refused_by_name()
    {
        var options = NamedOption().Matches(Goldens.Read("redis-benchmark-7.0-help.txt"));
        Assert.Equal(35, options.Count);
        foreach (Match option in options)
        {
            string name = option.Groups[1].Value;
            string[] words = option.Groups[2].Value switch
            {
                "" => name == "--precision" ? [name, "2"] : [name],
                "<uri>" => [name, "redis://localhost:7000"],
                "<tests>" or "<hostname>" or "<socket>" or "<password>" or "<username>" or "<host>" or "<file>"
                or "<dir>" or "<list>" => [name, "word"],
                _ => [name, "1"],
            };
            if (name == "--cluster") Assert.Contains("--cluster is refused", Problem(words).Message);
            else RedisBenchmarkParser.Parse(words);
        }
    }

    [Fact]
    public void The_first_word_without_a_dash_begins_the_command()
    {
        var options = RedisBenchmarkParser.Parse(["-r", "10", "-q", "hset", "h", "-n", "--x=1", "-5"]);
        Assert.Equal(["hset", "h", "-n", "--x=1", "-5"], options.Command);
        Assert.True(options.Quiet);
        Assert.Equal(10, options.KeySpace);
        Assert.Equal(100_000, options.Requests);
    }

    [Fact]
    public void A_command_makes_the_choice_of_tests_void()
    {
        Assert.Equal(["WARNING: Option -t is ignored."], RedisBenchmarkParser.Parse(["-t", "get", "PING"]).Warnings);
        Assert.Empty(RedisBenchmarkParser.Parse(["-t", "get"]).Warnings);
    }

    [Theory]
    [InlineData("-Z", "Invalid option \"-Z\" or option argument missing")]
    [InlineData("-n", "Invalid option \"-n\" or option argument missing (-n needs a value)")]
    [InlineData("-q -c many",
        "Invalid option \"-c\" or option argument missing (-c takes a number from 1 to 1000000, got 'many')")]
    [InlineData("--rdma", "--rdma is refused: it is not built yet")]
    [InlineData("--fuzz-mode x", "--fuzz-mode is refused: fuzzing is not what this tool is for")]
    [InlineData("-u http://x", "-u takes redis[s]://[user:password@]host[:port][/db], got 'http://x'")]
    public void What_cannot_be_read_ends_with_1_and_names_the_option(string line, string message)
    {
        var problem = Problem(line.Split(' '));
        Assert.Equal(message, problem.Message);
        Assert.Equal(ExitCode.RunError, problem.ExitCode);
    }

    [Fact]
    public void Too_many_threads_are_limited_with_a_warning()
    {
        var options = RedisBenchmarkParser.Parse(["--threads", "501"]);
        Assert.Equal(500, options.Threads);
        Assert.Equal(["WARNING: Too many threads, limiting threads to 500."], options.Warnings);
    }

    [Fact]
    public void A_uri_gives_server_user_database_and_security()
    {
        var target = RedisBenchmarkParser.Parse(["-u", "rediss://me:p%40ss@db.example:7001/3"]).Target;
        Assert.Equal(("db.example", 7001, "me", "p@ss", 3),
            (target.Host, target.Port, target.User, target.Password, target.Database));
        Assert.NotNull(target.Tls);
        Assert.Null(RedisBenchmarkParser.Parse(["-u", "redis://localhost"]).Target.Tls);
    }

    [Fact]
    public void Values_out_of_range_are_taken_as_the_original_takes_them()
    {
        Assert.Equal(1, RedisBenchmarkParser.Parse(["-d", "0"]).DataBytes);
        Assert.Equal(1, RedisBenchmarkParser.Parse(["--precision", "0"]).Precision);
        Assert.Equal(4, RedisBenchmarkParser.Parse(["--precision", "9"]).Precision);
    }

    private static UsageException Problem(params string[] words) =>
        Assert.Throws<UsageException>(() => RedisBenchmarkParser.Parse(words));

    [GeneratedRegex(@"^ (--?[a-zA-Z0-9-]+) +(<[a-z]+>)?", RegexOptions.Multiline)]
    private static partial Regex NamedOption();
}
