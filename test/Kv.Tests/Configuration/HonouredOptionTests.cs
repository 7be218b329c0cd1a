using System.Net.Sockets;
using System.Text.RegularExpressions;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;
using Kv.Tests.Tidy;

namespace Kv.Tests.Configuration;

/// <summary>Options do what their rows say. (Those of limits, transports and publish/subscribe are tested where they
/// act.)</summary>
public partial class HonouredOptionTests
{
    [Fact]
    public void Every_honoured_option_is_read_by_the_part_that_it_is_for()
    {
        string rows = Repository.Read("src/Server/Configuration/HonouredOptions.cs")
            + Repository.Read("src/Server/Configuration/AppendOptionRows.cs")
            + Repository.Read("src/Server/Configuration/TlsOptionRows.cs");
        string[] readers = [.. Repository.Files().Where(IsReader).Select(Repository.Read)];
        Assert.NotEmpty(readers);
        var properties = PropertyOfRow().Matches(rows).Select(match => match.Groups[1].Value).Distinct().ToList();
        Assert.Equal(typeof(ServerOptions).GetProperties().Length - NotHonoured.Length, properties.Count);
        Assert.Equal([], properties.Where(name => !readers.Any(code => Regex.IsMatch(code, $@"[oO]ptions\.{name}\b")))
            .ToArray());
    }

    // Read by OptionTable itself, which decides who may set what.
    [Fact]
    public void Options_that_name_files_are_set_where_that_is_allowed()
    {
        string directory = Directory.GetCurrentDirectory();
        using var refusing = KvInstance.Start();
        using var client = refusing.Connect();
        Assert.EndsWith("can't set protected config", client.Command($"CONFIG SET dir {directory}").ToString(),
            StringComparison.Ordinal);
        using var allowing = KvInstance.Start("--enable-protected-configs", "local");
        using var local = allowing.Connect();
        Assert.Equal("+OK", local.Command($"CONFIG SET dir {directory}").ToString());
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_key_longer_than_max_key_bytes_is_refused_wherever_it_stands(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--max-key-bytes", "10");
        using var client = kv.Connect();
        client.Ok("SET exactly-10 v");
        client.Ok("MSET a 1 b 12345678901");
        foreach (string line in (string[])["SET 12345678901 v", "GET 12345678901", "MSET a 2 12345678901 3",
            "DEL a 12345678901", "RENAME a 12345678901",
                     "COPY 12345678901 a", "OBJECT ENCODING 12345678901", "LCS a 12345678901"])
            Assert.Equal("-ERR key is larger than max-key-bytes", client.Command(line).ToString());
        Assert.Equal("[\"1\" \"v\"]", client.Command("MGET a exactly-10").ToString());
        client.Ok("CONFIG SET max-key-bytes 11");
        client.Ok("SET 12345678901 v");
        client.Ok("CONFIG SET max-key-bytes 512mb");
        client.Ok("SET 123456789012 v");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Above_maxmemory_what_needs_memory_is_refused_and_the_rest_is_served(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        string value = new('v', 50_000);
        client.Ok($"MSET a {value} n 5");
        client.Ok("CONFIG SET maxmemory 1");
        const string refusal = "-OOM command not allowed when used memory > 'maxmemory'.";
        foreach (string line in (string[])["SET b 1", "APPEND a x", "INCR n", "MSET c 1 d 2", "SETRANGE a 0 x",
            "GETSET a x", "COPY a z"])
            Assert.Equal(refusal, client.Command(line).ToString());
        Assert.Equal(50_000, client.Ok("STRLEN a").Integer);
        Assert.Equal("\"5\"", client.Command("GET n").ToString());
        Assert.Equal(":1", client.Command("EXPIRE n 1000").ToString());
        Assert.Equal(":1", client.Command("DEL a").ToString());
        Assert.Equal("-ERR wrong number of arguments for 'set' command", client.Command("SET b").ToString());
        client.Ok("CONFIG SET maxmemory 0");
        client.Ok("SET b 1");
    }

    // Small values are records in segments, large ones are blocks, received by themselves: all are counted.
    [Theory]
    [InlineData("epoll", 1_000), InlineData("epoll", 100_000), InlineData("epoll", 3_000_000)]
    [InlineData("pipelines", 1_000), InlineData("pipelines", 100_000), InlineData("pipelines", 3_000_000)]
    public void Maxmemory_counts_values_of_any_size_and_forgets_those_that_were_deleted(string transport, int bytes)
    {
        if (transport == "epoll") Requires.Linux("epoll");
        const long limit = 64 << 20;
        using var kv = KvInstance.Start("--transport", transport, "--maxmemory", $"{limit}");
        using var client = kv.Connect();
        byte[] value = new byte[bytes];
        long most = 2 * limit / bytes;
        int stored = 0;
        while (stored < most && !Set().IsError) stored++;
        Assert.InRange(stored, limit / bytes * 3 / 4, limit / bytes);
        Assert.Equal("-OOM command not allowed when used memory > 'maxmemory'.", Set().ToString());
        client.Ok("FLUSHALL");
        Eventually.Holds(() => !Set().IsError, () => "writes are refused although all is deleted");

        Reply Set() => client.Command("SET"u8.ToArray(), RespText.Bytes($"k{stored}"), value);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_gives_no_password_in_time_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--requirepass", "secret", "--auth-timeout", "1000");
        using RespClient silent = kv.Connect(), failing = kv.Connect(), known = kv.Connect();
        known.Ok("AUTH secret");
        Assert.True(failing.Command("AUTH wrong").IsError);
        known.Ok("CONFIG SET auth-timeout 1");
        Assert.True(silent.IsClosedByServer());
        Assert.True(failing.IsClosedByServer());
        known.Ok("PING");
        Assert.Equal("2", known.Info("kv_auth_timeouts"));
    }

    // The sweep comes by again and again until the connection's own loop ends it.
    [Fact]
    public async Task Who_gives_no_password_in_time_is_counted_once_however_long_its_end_takes()
    {
        using var mayEnd = new ManualResetEventSlim();
        var table = new CommandTable([.. AllCommands.Table.All,
            new Command("STUCK", 1, (ref CommandContext context) =>
            {
                mayEnd.Wait();
                context.Reply.WriteOk();
            })
            {
                Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
                Flags = CommandFlags.NoAuth,
            }]);
        var options = KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", "pipelines",
            "--worker-threads", "2", "--requirepass", "secret", "--auth-timeout", "1"]);
        await using var kv = await KvServer.StartAsync(options, null, TimeProvider.System, table, default);
        try
        {
            using var stuck = new RespClient(kv.Endpoints[0]);
            stuck.Send("STUCK");
            Eventually.Holds(() => kv.Counters.AuthTimeouts == 1, () => $"{kv.Counters.AuthTimeouts} are counted");
            // Sent off by a later sweep.
            using var silent = new RespClient(kv.Endpoints[0]);
            Assert.True(silent.IsClosedByServer());
            Assert.Equal(2, kv.Counters.AuthTimeouts);
        }
        finally
        {
            mayEnd.Set();
        }
    }

    [Fact]
    public void Limits_of_the_protocol_can_be_lowered_and_raised_while_it_runs()
    {
        using var kv = KvInstance.Start("--proto-max-args", "20", "--proto-inline-max-size", "1kb");
        using (var client = kv.Connect())
        {
            client.Ok("MSET" + string.Concat(Enumerable.Repeat(" k v", 9)));
            client.Send("*21\r\n"u8);
            Assert.Equal("-ERR Protocol error: invalid multibulk length", client.Read().ToString());
            Assert.True(client.IsClosedByServer());
        }

        using (var client = kv.Connect())
        {
            client.Send(RespText.Bytes(new string('x', 2000)));
            Assert.Equal("-ERR Protocol error: too big inline request", client.Read().ToString());
            Assert.True(client.IsClosedByServer());
        }

        using var changed = kv.Connect();
        changed.Ok("CONFIG SET proto-max-args 1000 proto-inline-max-size 64kb");
        changed.Ok("MSET" + string.Concat(Enumerable.Repeat(" k v", 100)));
        changed.Send(RespText.Bytes("ECHO " + new string('x', 2000) + "\r\n"));
        Assert.Equal(2000, changed.Read().Text!.Length);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_sends_more_than_the_query_buffer_limit_of_one_command_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-query-buffer-limit", "1mb");
        using var other = kv.Connect();
        using var client = kv.Connect();
        byte[] piece = RespText.Bytes("$50000\r\n" + new string('x', 50_000) + "\r\n");
        bool closed = false;
        try
        {
            client.Send("*1000\r\n"u8);
            for (int i = 0; i < 100; i++) client.Send(piece);
            closed = client.IsClosedByServer();
        }
        catch (SocketException)
        {
            closed = true;
        }

        Assert.True(closed);
        other.Ok("PING");
        Assert.Equal("1", other.Info("client_query_buffer_limit_disconnections"));
    }

    [Fact]
    public void SELECT_reaches_so_many_databases()
    {
        using var kv = KvInstance.Start("--databases", "3");
        using var client = kv.Connect();
        client.Ok("SELECT 2");
        Assert.Equal("-ERR DB index is out of range", client.Command("SELECT 3").ToString());
    }

    [Fact]
    public async Task Commands_of_objects_are_refused_on_request()
    {
        var table = new CommandTable([.. AllCommands.Table.All,
            new Command("OBJECTS", 1, (ref CommandContext context) => context.Reply.WriteOk())
            {
                Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Hash,
            }]);
        var options = KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--no-obj", "yes"]);
        await using var kv = await KvServer.StartAsync(options, null, TimeProvider.System, table, default);
        using var client = new RespClient(kv.Endpoints[0]);
        Assert.Equal("-ERR commands of objects are switched off (no-obj)", client.Command("OBJECTS").ToString());
        client.Ok("SET k v");
    }

    [Fact]
    public void DEBUG_is_refused_unless_it_was_enabled()
    {
        using var refusing = KvInstance.Start();
        using var stranger = refusing.Connect();
        Assert.StartsWith("-ERR DEBUG command not allowed.", stranger.Command("DEBUG SLEEP 0").ToString(),
            StringComparison.Ordinal);
        using var allowing = KvInstance.Start("--enable-debug-command", "local");
        using var client = allowing.Connect();
        Assert.Equal("+OK", client.Command("DEBUG SLEEP 0").ToString());
    }

    [Fact]
    public void The_program_writes_its_pid_and_its_log_where_it_is_told()
    {
        string directory = Directory.CreateTempSubdirectory("kv-").FullName;
        try
        {
            string pid = Path.Combine(directory, "kv.pid"), log = Path.Combine(directory, "kv.log");
            int port = ServerProgram.FreePort();
            using var kv = KvProcess.StartOn(port, "--pidfile", pid, "--logfile", log, "--loglevel", "debug");
            Eventually.Holds(() => File.Exists(log)
                && File.ReadAllText(log).Contains("Ready to accept connections", StringComparison.Ordinal),
                () => "not ready: " + kv.Log);
            Assert.Equal(kv.Process.Id.ToString(), File.ReadAllText(pid).Trim());
            using (var client = kv.Connect())
            {
                client.Send("*1\r\n:\r\n"u8);
                client.Read();
                Assert.True(client.IsClosedByServer());
            }

            using (var client = kv.Connect())
            {
                client.Ok("CONFIG SET loglevel warning");
                client.Send("*1\r\n:\r\n"u8);
                client.Read();
                Assert.True(client.IsClosedByServer());
            }

            if (OperatingSystem.IsWindows()) return;
            kv.Signal("TERM");
            Assert.Equal(0, kv.WaitForExit());
            Assert.False(File.Exists(pid), "the pid file is left behind");
            Assert.Equal("", kv.Log);
            // "verbose" holds the first client's error; that of the second came when only warnings were asked for.
            Assert.Single(File.ReadAllLines(log),
                line => line.Contains("Protocol error of client", StringComparison.Ordinal));
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    [Fact]
    public void A_client_that_reads_nothing_does_not_keep_the_program_from_its_end()
    {
        Requires.Linux("signals");
        using var kv = KvProcess.Start("--shutdown-timeout", "1000000");
        using var client = kv.Connect();
        client.Command("SET"u8.ToArray(), "big"u8.ToArray(), new byte[1 << 20]);
        for (int i = 0; i < 64; i++) client.Send("GET big");
        Eventually.Holds(() => client.HasInput, () => "no reply has begun");
        kv.Signal("TERM");
        Assert.Equal(0, kv.WaitForExit());
    }

    private static readonly string[] NotHonoured =
        [nameof(ServerOptions.DbFilename), nameof(ServerOptions.Dir),
            nameof(ServerOptions.Hz), nameof(ServerOptions.ConfigFile), nameof(ServerOptions.OwnsProcess),
            nameof(ServerOptions.ListeningSockets)];

    // Metrics show what is set; that alone would not make an option do anything.
    private static bool IsReader(string path) =>
        path.StartsWith("src/", StringComparison.Ordinal) && path.EndsWith(".cs", StringComparison.Ordinal)
        && !path.StartsWith("src/Server/Reports/", StringComparison.Ordinal)
        && !path.EndsWith("Options.cs", StringComparison.Ordinal);

    [GeneratedRegex(@"o => o\.(\w+)")]
    private static partial Regex PropertyOfRow();
}
