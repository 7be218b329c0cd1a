using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.Garnet;

public sealed class GarnetRunTests : IDisposable
{
    private readonly RedisServer _server = RedisServer.Start();

    [Fact]
    public void Throughput_prints_what_the_seed_shows()
    {
        // As in the seed each slice of the load is a multiple of a batch, so that as many lines say how the buffer
        // grew; the line of keys loaded, which large databases do not have, is looked at apart.
        var run =
            Run("--op GET --keylength 8 --valuelength 128 --threads 1,2 --batchsize 1 --dbsize 32768 --runtime 1");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains(">>> Loaded 32768 keys into the DB >>>\n", run.Output);
        Assert.Contains("maxBytesWritten out of maxBufferSize: 614417/1048576\n", run.Output);
        Assert.Contains("maxBytesWritten out of maxBufferSize: 27/65536\n", run.Output);
        Assert.Equal(MaskedText.Of(Cells(Goldens.Read("garnet-throughput-get.txt"), 2)),
            MaskedText.Of(run.Output.Replace(">>> Loaded 32768 keys into the DB >>>\n", "")));
        Assert.DoesNotContain("nil", run.Errors);
    }

    [Fact]
    public void Online_prints_what_the_seed_shows()
    {
        var run =
            Run("--batchsize 1 --threads 4 --client GarnetClientSession --runtime 1 --op-workload GET,SET "
                + "--op-percent 80,20 "
            + "--online --valuelength 128 --keylength 8 --dbsize 1024 --itp 1");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Equal(MaskedText.Of(Goldens.Read("garnet-online.txt")).TrimEnd(),
            MaskedText.Of(run.Output).TrimEnd());
        Assert.Contains("# summary over all rows\n", run.Errors);
    }

    [Fact]
    public void Online_runs_every_session_count_or_the_first_only()
    {
        string line = "--online -b 1 -t 1,2 --runtime 1 --op-workload PING --op-percent 100 --disable-console-logger";
        string output = Run(line).Output;
        Assert.Contains("\n\nNum threads: 1\nmin (us); ", output);
        Assert.Contains("\n\nNum threads: 2\nmin (us); ", output);
        Assert.DoesNotContain("Num threads: ", Run(line + " --online-sweep off").Output);
    }

    [Fact]
    public void StackExchange_Redis_drives_online_mode_too()
    {
        var run = Run("--online -b 1 -t 3 --runtime 1 --client seredis --pool --itp 2 --ttl 60 "
            + "--op-workload GET,SET,SETEX,DEL,SETBIT,GETBIT,ZADD,ZREM,ZCARD,PUBLISH,PING --op-percent "
                + "10,10,10,10,10,10,10,10,5,5,10");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("Running benchmark using SERedis client type\nUsing OpRunnerSERedisParallel...\n", run.Output);
        Assert.Contains("Pool: True\n", run.Output);
        Assert.Contains("# errors 0, nils ", run.Errors);
    }

    [Fact]
    public void StackExchange_Redis_has_a_verdict_files_and_a_headroom_as_our_engine_has()
    {
        string folder = Directory.CreateTempSubdirectory("resp-se").FullName;
        var run =
            Run($"--online -b 1 -t 2 --runtime 1 --client SERedis --op-workload GET,SET --op-percent 80,20 "
                + $"--valuelength 16 --calibrate "
            + $"--json {folder}/out.json --csv-file {folder}/out.csv --hdr {folder}");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Matches(@"# (\w+-BOUND|UNKNOWN)  client \d+% / ", run.Errors);
        Assert.Matches(@"# headroom \d+\.\dx", run.Errors);
        using var report = System.Text.Json.JsonDocument.Parse(File.ReadAllText($"{folder}/out.json"));
        var cell = report.RootElement.GetProperty("cells")[0];
        var rep = cell.GetProperty("reps")[0];
        Assert.Equal(rep.GetProperty("ops").GetInt64(), rep.GetProperty("service").GetProperty("n").GetInt64());
        Assert.True(rep.GetProperty("ops").GetInt64() > 0);
        Assert.True(cell.GetProperty("headroom").GetDouble() > 0);
        Assert.Contains("GET:80,SET:20", File.ReadAllText($"{folder}/out.csv"));
        string log = File.ReadAllText(Directory.GetFiles(folder, "*.hlog").Single());
        Assert.Contains("\nTag=GET,", log);
        Assert.Contains("\nTag=SET,", log);
        Assert.Single(Directory.GetFiles(folder, "*.hgrm"));
        Directory.Delete(folder, recursive: true);
    }

    [Fact]
    public void Errors_through_StackExchange_Redis_are_counted_and_end_with_1()
    {
        using var full = RedisServer.Start("--maxmemory", "1");
        string line = $"-p {full.Port} --online -b 1 -t 1 --runtime 1 --client SERedis "
            + "--op-workload SET --op-percent 100";
        var run = ProgramRun.Of(line.Split(' '));
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains(" error replies OOM: OOM command not allowed", run.Errors);
    }

    [Fact]
    public void Rows_go_to_a_file_as_well()
    {
        string file = Path.GetTempFileName();
        var run =
            Run($"--online -b 1 -t 1 --runtime 1 --op-workload PING --op-percent 100 --file-logger {file} "
                + $"--disable-console-logger");
        string[] lines = File.ReadAllLines(file);
        File.Delete(file);
        Assert.Equal(2, lines.Length);
        Assert.All(lines, line => Assert.Contains("(info)] |online| ", line));
        Assert.DoesNotContain("|online|", run.Output);
    }

    [Theory]
    [InlineData("SET", "+")]
    [InlineData("MGET", "*")]
    [InlineData("PFADD", ":")]
    [InlineData("PFMERGE", "+")]
    [InlineData("ZADDREM", ":")]
    [InlineData("BITFIELD", "*")]
    [InlineData("SCRIPTGET", "$")]
    public void Operations_run_without_an_error(string op, string reply)
    {
        var run = Run($"--op {op} -t 2 -b 8 --dbsize 100 --runtime 1");
        Assert.True(run.ExitCode == ExitCode.Ok, $"{op} ({reply}): {run.Errors}");
        Assert.Contains($"\nOperation type: {op}\nNum threads: 2\n", run.Output);
    }

    [Fact]
    public void Error_replies_are_counted_and_end_with_1()
    {
        var run = Run("--op SETIFPM -t 1 -b 4 --dbsize 10 --runtime 1");
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("error replies ERR: ERR unknown command", run.Errors);
    }

    [Fact]
    public void A_runtime_of_0_only_loads()
    {
        var run = Run("--dbsize 5000 --runtime 0 --lset --garnet-format 2");
        Assert.Contains("\nOperation type: SET\nNum threads: 8\n[Total time]: ", run.Output);
        Assert.EndsWith(">>> Loaded 5000 keys into the DB >>>\n", run.Output);
    }

    [Fact]
    public void An_unknown_operation_lists_those_there_are()
    {
        var run = Run("--op NONSENSE");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("--op takes one of GET SET SETEX", run.Errors);
        Assert.Equal("", run.Output);
    }

    [Fact]
    public void A_signal_ends_online_mode_without_an_end_and_a_row_says_what_was_measured()
    {
        var run = ProgramRun.InterruptedAt("min (us)", "Resp.benchmark", "-p", $"{_server.Port}", "--online", "-b",
            "1", "-t", "1",
            "--runtime", "-1");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("# summary over all rows", run.Errors);
    }

    [Fact]
    public void Until_a_server_listens_it_says_that_it_waits()
    {
        int port = ServerProgram.FreePort();
        var run = ProgramRun.InterruptedAt("Waiting for server at", "Resp.benchmark", "-p", $"{port}", "--op", "GET");
        Assert.StartsWith($"Waiting for server at 127.0.0.1:{port}\n", run.Output);
        Assert.Equal(ExitCode.RunError, run.ExitCode);
    }

    [Fact]
    public void Saves_are_asked_for_beside_the_load()
    {
        using var client = _server.Connect();
        long before = client.Command("LASTSAVE").Integer;
        Run("--op PING -t 1 -b 1 --runtime 3 --save-freq 1");
        Assert.Contains("cmdstat_save:calls=", client.Command("INFO commandstats").ToString());
        Assert.True(client.Command("LASTSAVE").Integer >= before);
    }

    public void Dispose() => _server.Dispose();

    /// <summary>The text up to the end of so many cells.</summary>
    private static string Cells(string text, int count)
    {
        int at = text.IndexOf("Operation type: GET", StringComparison.Ordinal);
        for (; count > 1; count--) at = text.IndexOf("Operation type: GET", at + 1, StringComparison.Ordinal);
        int end = text.IndexOf(" ops/sec\n", at, StringComparison.Ordinal);
        return text[..(end + " ops/sec\n".Length)];
    }

    private ProgramRun Run(string line) => ProgramRun.Of(["-p", $"{_server.Port}", .. line.Split(' ')]);
}
