using RespBenchmark.CommandLine;
using RespBenchmark.Garnet;

namespace RespBenchmark.Tests.Garnet;

public class GarnetParserTests
{
    [Fact]
    public void Defaults_are_the_original_s()
    {
        var options = GarnetParser.Parse([]);
        Assert.Equal(("127.0.0.1", 6379, "GET", 1024, 33_554_432, 8, 8, 15),
            (options.Host, options.Port, options.Op, options.DbSize, options.TotalOps, options.KeyLength,
                options.ValueLength, options.RunTime));
        Assert.Equal([4096], options.BatchSizes);
        Assert.Equal([1, 2, 4, 8, 16, 32], options.Threads);
    }

    [Theory]
    [InlineData("-h box -p 7000 -t 1,8 -b 4 -s -a secret")]
    [InlineData("-hbox -p7000 -t1,8 -b4 -s -asecret")]
    [InlineData("--host=box --port=7000 --threads=1,8 --batchsize=4 --skipload --auth=secret")]
    [InlineData("--host box --port 7000 --threads 1,8 --pipeline 4 --skipload --auth secret")]
    public void Options_are_long_or_short_with_their_value_after_or_attached(string line)
    {
        var options = GarnetParser.Parse(line.Split(' '));
        Assert.Equal(("box", 7000, true, "secret"), (options.Host, options.Port, options.SkipLoad, options.Auth));
        Assert.Equal([1, 8], options.Threads);
        Assert.Equal([4], options.BatchSizes);
    }

    [Theory]
    [InlineData("--op-percent 80,30 --op-workload GET,SET --online", "--op-percent must sum to 100, got 110")]
    [InlineData("--op-percent 100 --op-workload GET,SET --online",
        "--op-workload has 2 operations, --op-percent 1 shares: they must be as many")]
    [InlineData("--op SET --online", "--op SET is for throughput mode; with --online give --op-workload")]
    [InlineData("--op SETEX", "SETEX needs --ttl of at least 1")]
    [InlineData("--op PFCOUNT --skipload", "PFCOUNT reads what the load wrote: it cannot go with --skipload")]
    [InlineData("--runtime -1", "--runtime -1 is for --online")]
    [InlineData("--client SERedis", "--client SERedis is for --online")]
    [InlineData("--client Jedis",
        "--client takes one of LightClient, GarnetClientSession, GarnetClient, SERedis, InProc, got 'Jedis'")]
    [InlineData("-t 1,two", "-t takes a number from 1 to 65536, got 'two'")]
    [InlineData("-t 1,,2", "-t takes words between commas, got '1,,2'")]
    [InlineData("--port", "--port needs a value")]
    [InlineData("--port=0", "--port takes a number from 1 to 65535, got '0'")]
    [InlineData("--skipload=yes --op GET", "--skipload takes no value, got 'yes'")]
    [InlineData("--nonsense", "--nonsense is no option of Garnet's tool (--help lists them)")]
    [InlineData("GET", "GET is no option of Garnet's tool (--help lists them)")]
    [InlineData("--cert-file-name f", "--cert-file-name is for --tls, which is not given")]
    [InlineData("--loops 0", "--loops takes auto or a number from 1 to 1024, got '0'")]
    public void What_cannot_be_run_is_said_with_its_option(string line, string message)
    {
        var problem = Assert.Throws<UsageException>(() => GarnetParser.Parse(line.Split(' ')));
        Assert.Equal((message, ExitCode.Usage), (problem.Message, problem.ExitCode));
    }

    [Theory]
    [InlineData("--txn")]
    [InlineData("-x")]
    [InlineData("--cluster-bench")]
    [InlineData("--aof")]
    [InlineData("-i 1g")]
    [InlineData("--aof-bench-type=x")]
    [InlineData("--client InProc")]
    public void What_needs_a_server_inside_or_is_not_built_is_refused_by_name(string line)
    {
        var problem = Assert.Throws<UsageException>(() => GarnetParser.Parse(line.Split(' ')));
        Assert.StartsWith($"{line.Split('=')[0].Replace(" 1g", "")} is refused: ", problem.Message);
        Assert.Equal(ExitCode.Usage, problem.ExitCode);
    }

    [Fact]
    public void Options_without_effect_are_remembered_for_a_note() => Assert.Equal(
        ["--sync", "--client-hist", "--object-dbsize", "--pool"],
        GarnetParser.Parse("--sync --client-hist --object-dbsize 4 --pool".Split(' ')).Ignored);

    [Fact]
    public void Online_takes_one_command_a_batch()
    {
        Assert.True(GarnetParser.Parse(["--online"]).BatchSizeReplaced);
        Assert.Equal([1], GarnetParser.Parse(["--online", "-b", "4,8"]).BatchSizes);
        Assert.False(GarnetParser.Parse(["--online", "-b", "1"]).BatchSizeReplaced);
    }

    [Theory]
    [InlineData("--op GET", true)]
    [InlineData("--op PING", false)]
    [InlineData("--op GET --skipload", false)]
    [InlineData("--op PFADD", true)]
    [InlineData("--online", false)]
    public void Keys_are_loaded_where_the_operation_reads_them(string line, bool loads) =>
        Assert.Equal(loads, GarnetRules.Loads(GarnetParser.Parse(line.Split(' '))));
}
