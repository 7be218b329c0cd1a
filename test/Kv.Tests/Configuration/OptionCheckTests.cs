using System.Net;
using Kv.Server.Configuration;
using Kv.Tests.Harness;

namespace Kv.Tests.Configuration;

/// <summary>kv-server --check, and CONFIG EXPLAIN: what options are, and where they come from.</summary>
public sealed class OptionCheckTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-check-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void All_mistakes_are_told_with_their_lines_and_what_to_do()
    {
        string file = Write("kv.conf", """
            port 70000
            maxmemroy 1gb
            requirepass "hunter2
            cluster-enabled yes
            include nosuch.conf
            timeout 5
            loadmodule x.so
            """);
        var result = Check(file, "--databases", "x", "--nosuch", "1", "--hz", "5");
        Assert.Equal(1, result.ExitCode);
        Assert.Equal($"""
            error: command line: '--nosuch': unknown option '--nosuch'
              remedy: docs/configuration.md and --help have the names there are
            error: {file}:3: 'requirepass ***': unbalanced quotes
              remedy: close the quote, and put a space behind it
            error: {file}:5: 'include nosuch.conf': cannot read the configuration file 'nosuch.conf': No such file
              remedy: name a file that is there and that this user may read
            error: {file}:1: 'port 70000': argument must be between 0 and 65535 inclusive
              remedy: port takes 0..65535
            error: {file}:2: 'maxmemroy 1gb': unknown option 'maxmemroy'; did you mean 'maxmemory'?
              remedy: docs/configuration.md and --help have the names there are
            error: {file}:7: 'loadmodule x.so': modules cannot be loaded
              remedy: leave the line out
            error: command line: '--databases x': argument couldn't be parsed into an integer
              remedy: databases takes 1..10000
            error: {file}:4: 'cluster-enabled yes': cluster mode does not exist yet
              remedy: leave the line out, or write cluster-enabled no

            """.ReplaceLineEndings("\n"), result.Errors);
        Assert.EndsWith(" 1 warning, 8 errors\n", result.Output, StringComparison.Ordinal);
    }

    // Opening a pipe waits until somebody opens its other end, if ever.
    [Fact]
    public void A_pipe_is_read_if_somebody_writes_to_it_and_given_up_if_nobody_does()
    {
        string pipe = Path.Combine(_directory, "pipe");
        Assert.Equal(0, ChildProcess.Run(Requires.Tool("mkfifo"), [pipe]).ExitCode);
        using (var silent = StartFile.Open(pipe, silentMsMax: 20))
            Assert.Contains("nobody has written", Assert.Throws<IOException>(() => silent.ReadByte()).Message,
                StringComparison.Ordinal);

        // The writer waits for a reader to open it; the reader waits for what is written.
        var writer = new Thread(() => File.WriteAllText(pipe, "port 7000\nhz 20\n"));
        writer.Start();
        var result = Check(pipe);
        writer.Join();
        Assert.Equal((0, ""), (result.ExitCode, result.Errors));
        Assert.Contains($"{pipe}:1: port 7000", result.Output, StringComparison.Ordinal);
        Assert.Contains($"{pipe}:2: hz 20", result.Output, StringComparison.Ordinal);
    }

    [Theory, InlineData("foo bar"), InlineData("port \"1"), InlineData("port x")]
    public void Of_a_file_that_is_none_of_options_the_first_mistakes_are_told(string line)
    {
        string file = Write("kv.conf", string.Concat(Enumerable.Repeat(line + "\n", 1000)));
        var result = Check(file);
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(" 100 errors\n", result.Output, StringComparison.Ordinal);
        Assert.Contains($"{file}:100: ", result.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain($"{file}:101: ", result.Errors, StringComparison.Ordinal);
    }

    // A name with a letter wrong is no option, and its value a password all the same.
    [Theory]
    [InlineData("requirepas", "requirepass"), InlineData("RequirePasss", "requirepass")]
    [InlineData("masterauht", "masterauth"), InlineData("usr", "user")]
    [InlineData("tls-keyfile-pass", "tls-key-file-pass")]
    public void A_secret_with_a_misspelled_name_is_not_shown(string wrong, string meant)
    {
        foreach (string line in (string[])[$"{wrong} hunter2", $"{wrong}\t\"hunter2", $"{wrong}\thunter2 on"])
        {
            var result = Check(Write("kv.conf", line + "\n"));
            Assert.Equal(1, result.ExitCode);
            Assert.DoesNotContain("hunter", result.Errors + result.Output, StringComparison.Ordinal);
            Assert.Contains($"kv.conf:1: '{wrong} ***': ", result.Errors, StringComparison.Ordinal);
        }

        foreach (string[] words in (string[][])
            [[$"--{wrong}", "hunter2"], [$"--{wrong}=hunter2"], [$"--{wrong} hunter2"]])
        {
            var result = ChildProcess.Run(KvProcess.Program, words);
            Assert.Equal(1, result.ExitCode);
            Assert.DoesNotContain("hunter", result.Errors + result.Output, StringComparison.Ordinal);
            Assert.Contains($"did you mean '--{meant}'?", result.Errors, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void A_good_file_is_told_line_by_line_with_what_has_no_effect()
    {
        string file = Write("kv.conf",
            "port 7000\nrequirepass hunter2\nhz 100\nport 7001\nuser alice on >hunter3 ~* +@all\n");
        var result = Check(file, "--port", "7002");
        Assert.Equal((0, ""), (result.ExitCode, result.Errors));
        Assert.Equal($"""
            {file}:1: port 7000  # TCP port; 0 at start takes a free one (none with tls-port), later it ends TCP
            {file}:2: requirepass ***  # password that clients must give
            {file}:3: hz 100  # no effect here
            {file}:4: port 7001  # TCP port; 0 at start takes a free one (none with tls-port), later it ends TCP
            {file}:5: user ***  # a user and what it may do; one line each
            command line: port 7002  # TCP port; 0 at start takes a free one (none with tls-port), later it ends TCP
            warning: {file}:1: 'port' has no effect: {file}:4 sets it again
            warning: option 'hz' has no effect: background work goes by its own clock
            6 options set, 2 warnings, 0 errors

            """.ReplaceLineEndings("\n"), result.Output);
    }

    [Theory]
    [InlineData("rename-command CONFIG \"\"", "rename-command CONFIG \"\"")]
    [InlineData("rename-command CONFIG ''", "rename-command CONFIG \"\"")]
    [InlineData("rename-command CONFIG KONFIG", "rename-command CONFIG KONFIG")]
    [InlineData("save \"\"", "save \"\"")]
    public void A_value_that_is_empty_is_shown_as_one(string line, string shown)
    {
        string file = Write("kv.conf", line + "\n");
        Assert.StartsWith($"{file}:1: {shown}  # ", Check(file).Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("user alice on +nosuchcommand", "user alice: Error in ACL SETUSER modifier '+nosuchcommand'")]
    [InlineData("rename-command nosuch x", "option 'rename-command'")]
    [InlineData("pidfile /nonexistent/kv.pid", "the folder does not exist")]
    public void What_only_a_start_would_see_is_told_too(string line, string error)
    {
        var result = Check(Write("kv.conf", line + "\n"));
        Assert.Equal(1, result.ExitCode);
        Assert.Contains(error, result.Errors, StringComparison.Ordinal);
    }

    [Fact]
    public void EXPLAIN_says_where_each_value_comes_from()
    {
        string file = Write("kv.conf", "maxclients 77\nsave 60 1\nsave 300 10\n");
        string secret = Write("secret", "hunter2");
        using var kv = new WithFile(file, secret, ServerProgram.FreePort());
        Assert.True(kv.WaitUntilReady(), kv.Log);
        using var client = kv.Connect();
        client.Ok("AUTH hunter2");
        Assert.Equal(("77", $"{file}:1"), Of(client, "maxclients"));
        Assert.Equal(("60 1 300 10", $"{file}:2, {file}:3"), Of(client, "save"));
        Assert.Equal(("7", "command line"), Of(client, "databases"));
        Assert.Equal(("***", "environment variable KV_REQUIREPASS_FILE"), Of(client, "requirepass"));
        Assert.Equal(("0", "default"), Of(client, "timeout"));
        client.Ok("CONFIG SET timeout 5 maxclients 78");
        var (value, by) = Of(client, "timeout");
        Assert.Equal("5", value);
        Assert.Matches(@"^CONFIG SET by default from 127\.0\.0\.1:\d+ at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", by);
        Assert.Equal("78", Of(client, "maxclients").Value);
        Assert.StartsWith("CONFIG SET by", Of(client, "maxclients").By, StringComparison.Ordinal);
        // What fails changes nothing, nor who has set it.
        Assert.True(client.Command("CONFIG SET maxmemory 1gb timeout x").IsError);
        Assert.Equal(("0", "default"), Of(client, "maxmemory"));
    }

    [Fact]
    public void EXPLAIN_of_a_program_that_holds_a_server_says_so()
    {
        using var kv = KvInstance.Start("--maxclients", "77");
        using var client = kv.Connect();
        Assert.Equal(("77", "the program that runs the server"), Of(client, "maxclients"));
        Assert.True(client.Command("CONFIG EXPLAIN *").Items!.Count > 200);
    }

    private static (string Value, string By) Of(RespClient client, string name)
    {
        var reply = client.Ok($"CONFIG EXPLAIN {name}").Items!;
        Assert.Equal(name, reply[0].String);
        var fields = reply[1].Items!.Chunk(2).ToDictionary(pair => pair[0].String, pair => pair[1].String);
        Assert.Equal(["value", "default", "set-by", "config-set", "meaning"], fields.Keys);
        return (fields["value"], fields["set-by"]);
    }

    /// <summary>A server with a file, whose name comes before all other words.</summary>
    private sealed class WithFile(string file, string secret, int port) : ServerProgram(KvProcess.Program,
        [file, "--port", $"{port}", "--databases", "7"], new IPEndPoint(IPAddress.Loopback, port),
        ("KV_REQUIREPASS_FILE", secret))
    {
        public override string Name => "kv-server";
    }

    private ChildResult Check(params string[] arguments) =>
        ChildProcess.Run(KvProcess.Program, ["--check", .. arguments]);

    private string Write(string name, string text)
    {
        string path = Path.Combine(_directory, name);
        File.WriteAllText(path, text);
        return path;
    }
}
