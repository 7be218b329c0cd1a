using System.Text;
using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public sealed class OptionParserTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-config-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    // How people's documents start the servers that this one replaces.
    [Theory]
    [InlineData("--bind 127.0.0.1 --port 6379 --no-pubsub --no-obj --index 1g",
        "bind=127.0.0.1 port=6379 no-pubsub=yes no-obj=yes index=1000000000")]
    [InlineData(
        "--bind 10.0.0.4 --port 6379 --logfile '' --save '' --appendonly no --protected-mode no --io-threads 32",
        "bind=10.0.0.4 save= appendonly=no protected-mode=no io-threads=32 worker-threads=32")]
    [InlineData("-m 16g -i 128mb --port 3278 --auth Password --password x",
        "maxmemory=16000000000 index=134217728 port=3278 requirepass=x")]
    [InlineData("--memory 16g --no-obj --bind ::1", "maxmemory=16000000000 no-obj=yes no-pubsub=no bind=::1")]
    [InlineData("--requirepass secret --save 60 1", "requirepass=secret save=60_1")]
    [InlineData("--save 60 1 --save 300 10", "save=60_1_300_10")]
    [InlineData("--save 60 1 --save ''", "save=")]
    [InlineData("--save --port 7000", "save= port=7000")]
    [InlineData("--port 7000 --save", "save= port=7000")]
    [InlineData("'--port 7000' '--bind 127.0.0.1 -::1'", "port=7000 bind=127.0.0.1_-::1")]
    [InlineData("--port=7000 --requirepass=a=b", "port=7000 requirepass=a=b")]
    [InlineData("--requirepass --hunter2 --port 1", "requirepass=--hunter2 port=1")]
    [InlineData("--bind", "error=command line: '--bind': needs a value (addresses)")]
    [InlineData("--bind ''", "bind=")]
    [InlineData("--bind '* -::*'", "bind=*_-::*")]
    [InlineData("--PORT 1 --port 2", "port=2")]
    [InlineData("--no-pubsub yes --no-obj no", "no-pubsub=yes no-obj=no")]
    [InlineData("--list-max-listpack-size -2 --transport pipelines", "list-max-listpack-size=-2 transport=pipelines")]
    [InlineData("--client-output-buffer-limit pubsub 1mb 2 3",
        "client-output-buffer-limit=normal_0_0_0_slave_268435456_67108864_60_pubsub_1048576_2_3")]
    [InlineData("--replicaof no one --unixsocketperm 700", "replicaof= unixsocketperm=700")]
    public void Understands_the_command_lines_people_have(string line, string expected)
    {
        var parsed = OptionParser.Parse(ConfigLine.Split(line)!);
        if (expected.StartsWith("error=", StringComparison.Ordinal))
        {
            Assert.Equal(expected[6..], parsed.Error);
            return;
        }

        Assert.Null(parsed.Error);
        foreach (string pair in expected.Split(' '))
        {
            string[] parts = pair.Split('=', 2);
            Assert.Equal([(parts[0], parts[1].Replace('_', ' '))], OptionTable.Match(parsed.Options!, [parts[0]]));
        }
    }

    [Theory]
    [InlineData("--prot 6380", "command line: '--prot': unknown option '--prot'; did you mean '--port'?")]
    [InlineData("--maxmemroy=1gb",
        "command line: '--maxmemroy=1gb': unknown option '--maxmemroy'; did you mean '--maxmemory'?")]
    [InlineData("--xyzzy", "command line: '--xyzzy': unknown option '--xyzzy'")]
    [InlineData("-port 1", "command line: '-port': did you mean '--port'?")]
    [InlineData("-p 1", "command line: '-p': unknown option")]
    [InlineData("--port 1 2", "command line: '--port 1 2': wrong number of arguments (0..65535)")]
    [InlineData("--port", "command line: '--port': needs a value (0..65535)")]
    [InlineData("--port --bind ::1", "command line: '--port': needs a value (0..65535)")]
    [InlineData("--port 65536", "command line: '--port 65536': argument must be between 0 and 65535 inclusive")]
    [InlineData("--port x", "command line: '--port x': argument couldn't be parsed into an integer")]
    [InlineData("--requirepass --port 1", "command line: '--requirepass': needs a value (password)")]
    [InlineData("--requirepass a b", "command line: 'requirepass ***': wrong number of arguments (password)")]
    [InlineData("'--port \"1'", "command line: '--port \"1': unbalanced quotes")]
    [InlineData("--daemonize yes",
        "command line: '--daemonize yes': the server stays in the foreground: start it from systemd, a container or "
        + "with '&'")]
    [InlineData("--cluster-enabled yes",
        "command line: '--cluster-enabled yes': cluster mode does not exist yet")]
    [InlineData("--loadmodule x.so", "command line: '--loadmodule': modules cannot be loaded")]
    [InlineData("--auth Aad", "command line: '--auth Aad': argument(s) must be one of the following: Password, NoAuth")]
    [InlineData("--no-obj maybe", "command line: '--no-obj maybe': argument must be 'yes' or 'no'")]
    [InlineData("a.conf b.conf", "command line: 'b.conf': expected an option, as in --port 6379")]
    [InlineData("a.conf", "cannot read the configuration file 'a.conf': No such file")]
    [InlineData("--port 1 --bind a..b!", "command line: '--bind a..b!': argument must be a list of addresses")]
    public void A_mistake_is_one_line_that_says_where_and_what(string line, string error)
    {
        var parsed = OptionParser.Parse(ConfigLine.Split(line)!);
        Assert.Equal(error, parsed.Error);
        Assert.False(parsed.IsOk);
    }

    [Fact]
    public void Later_wins_from_file_over_input_and_environment_to_command_line()
    {
        string file = Write("kv.conf", """
            # comment
            port 1
            timeout 1
            tcp-keepalive 1
               HZ 1
            maxclients 1
            """);
        var environment = new Dictionary<string, string> { ["KV_TCP_KEEPALIVE"] = "3", ["KV_HZ"] = "3",
            ["KV_PASSWORD"] = "pw" };
        var parsed = OptionParser.Parse(
            [file, "--hz", "4", "-"], environment, () =>
                new MemoryStream("timeout 2\ntcp-keepalive 2\nhz 2\r\n"u8.ToArray()));
        Assert.Null(parsed.Error);
        var o = parsed.Options!;
        Assert.Equal((1, 1, 2, 3, 4, "pw"), (o.Port, o.MaxClients, o.Timeout, o.TcpKeepAlive, o.Hz, o.RequirePass));
        Assert.Equal(file, o.ConfigFile);
    }

    [Fact]
    public void An_override_lifts_a_refusal()
    {
        string file = Write("kv.conf", "cluster-enabled yes\ndaemonize yes\n");
        Assert.Equal(
            $"{file}:1: 'cluster-enabled yes': cluster mode does not exist yet",
            OptionParser.Parse([file]).Error);
        Assert.Null(OptionParser.Parse([file, "--cluster-enabled", "no", "--daemonize", "no"]).Error);
    }

    [Fact]
    public void Files_have_quotes_escapes_includes_and_lines_that_add_up()
    {
        Write("conf.d/20-b.conf", "timeout 20\nsave 300 10\n");
        Write("conf.d/10-a.conf", "timeout 10\nmaxclients 77\n");
        Write("conf.d/.hidden.conf", "timeout 99\n");
        string file = Write("kv.conf", $"""
            requirepass "a\x20\"b\\\xc3\xa9"
            masterauth 'it\'s'
            save 60 1
            include {_directory}/conf.d/*.conf
            client-output-buffer-limit normal 1 2 3
            client-output-buffer-limit pubsub 1kb 2 3
            include {_directory}/none.d/*.conf
            """);
        var parsed = OptionParser.Parse([file, "--save", "900", "1"]);
        Assert.Null(parsed.Error);
        Assert.Equal("a \"b\\é", parsed.Options!.RequirePass);
        Assert.Equal(
            [("masterauth", "it's"), ("save", "60 1 300 10 900 1"), ("timeout", "20"), ("maxclients", "77"),
                ("client-output-buffer-limit", "normal 1 2 3 slave 268435456 67108864 60 pubsub 1024 2 3")],
            OptionTable.Match(parsed.Options,
                ["masterauth", "save", "timeout", "maxclients", "client-output-buffer-limit"]));
    }

    [Theory]
    [InlineData("port 1\n\nmaxmemroy 1gb",
        ":3: 'maxmemroy 1gb': unknown option 'maxmemroy'; did you mean 'maxmemory'?")]
    [InlineData("requirepass \"abc", ":1: 'requirepass ***': unbalanced quotes")]
    [InlineData("requirepass \"a\"b", ":1: 'requirepass ***': unbalanced quotes")]
    [InlineData("port 1 2", ":1: 'port 1 2': wrong number of arguments (0..65535)")]
    [InlineData("port", ":1: 'port': wrong number of arguments (0..65535)")]
    [InlineData("rename-command FLUSHALL", ":1: 'rename-command FLUSHALL': wrong number of arguments")]
    [InlineData("tls-cluster yes", ":1: 'tls-cluster yes': cluster mode does not exist yet")]
    [InlineData("tls-protocols TLSv1.1",
        ":1: 'tls-protocols TLSv1.1': TLSv1.1 is not served, since it is no longer safe: use TLSv1.2, TLSv1.3 or both")]
    [InlineData("include", ":1: 'include': wrong number of arguments")]
    [InlineData("include /no/such/file",
        ":1: 'include /no/such/file': cannot read the configuration file '/no/such/file': No such file")]
    public void A_mistake_in_a_file_names_file_and_line(string text, string error)
    {
        string file = Write("kv.conf", text);
        Assert.Equal(file + error, OptionParser.Parse([file]).Error);
    }

    [Fact]
    public void A_file_that_includes_itself_is_an_error()
    {
        string file = Write("kv.conf", $"include {_directory}/kv.conf\n");
        Assert.Equal($"{file}:1: 'include {file}': more than 16 files deep: does it include itself?",
            OptionParser.Parse([file]).Error);
    }

    [Fact]
    public void A_file_of_random_bytes_is_an_error_and_not_an_exception()
    {
        string file = Path.Combine(_directory, "kv.conf");
        foreach (byte[] bytes in (byte[][])[[0xff, 0xfe, 0], [0], "port \"\\xff\""u8.ToArray(),
            Encoding.UTF8.GetBytes(new string('a', 100_000))])
        {
            File.WriteAllBytes(file, bytes);
            string error = Assert.IsType<string>(OptionParser.Parse([file]).Error);
            Assert.DoesNotContain('\n', error);
            Assert.True(error.Length < 500);
        }
    }

    [Fact]
    public void Secrets_come_from_files_and_do_not_show_in_errors()
    {
        string secret = Write("secret", "s3cret\n");
        var parsed = OptionParser.Parse([], new Dictionary<string, string> { ["KV_PASSWORD_FILE"] = secret });
        Assert.Equal("s3cret", parsed.Options!.RequirePass);
        Assert.Equal("7", OptionParser.Parse([],
            new Dictionary<string, string> { ["KV_BIO_CPULIST"] = "7" }).Options is { } o
            ? OptionTable.Find("bio_cpulist")!.Read(o) : "");
        Assert.StartsWith(
            "environment: 'KV_REQUIREPASS_FILE=***': cannot read the file: ",
            OptionParser.Parse([], new Dictionary<string, string> { ["KV_REQUIREPASS_FILE"] = "/no/such" }).Error);
        Assert.EndsWith("KV_PASSWORD sets the same option", OptionParser.Parse(
            [], new Dictionary<string, string> { ["KV_PASSWORD"] = "x", ["KV_REQUIREPASS"] = "y" }).Error);
    }

    [Fact]
    public void Foreign_variables_are_left_alone()
    {
        var parsed = OptionParser.Parse([], new Dictionary<string, string>
        {
            ["KV_PORT"] = "tcp://10.0.0.1:6379", ["KV_SERVICE_HOST"] = "10.0.0.1", ["KV_PORT_6379_TCP"] = "x",
                ["KV_"] = "x",
            ["KV_MAXMEMROY"] = "1gb", ["KV_TIMEOUT"] = "", ["PORT"] = "1",
        });
        Assert.Null(parsed.Error);
        Assert.Equal((6379, 0), (parsed.Options!.Port, parsed.Options.Timeout));
        Assert.Equal(
            ["environment variable KV_MAXMEMROY is no option: did you mean KV_MAXMEMORY?",
                "environment variable KV_PORT is ignored: a container platform set it for a service named kv"],
            parsed.Warnings);
    }

    [Fact]
    public void What_has_no_effect_is_warned_of_once()
    {
        var parsed = OptionParser.Parse(["--activedefrag", "no", "--appendfsync", "everysec",
            "--activedefrag", "yes"]);
        Assert.Equal(
            ["option 'activedefrag' has no effect: memory goes back to the system by itself"],
            parsed.Warnings);
    }

    [Theory]
    [InlineData("--version")]
    [InlineData("-v")]
    public void Version_is_a_line_that_names_both_versions(string arg) => Assert.Equal(
        $"kv-server {ServerVersion.KvVersion} (redis 7.4.0, .NET {Environment.Version})\n",
        OptionParser.Parse([arg]).Output);

    [Theory]
    [InlineData("--help")]
    [InlineData("-h")]
    public void Help_names_every_option_that_has_an_effect_with_its_default(string arg)
    {
        string help = OptionParser.Parse([arg]).Output!;
        Assert.EndsWith(".\n", help, StringComparison.Ordinal);
        Assert.All(OptionTable.Rows.Where(o => o.Class == OptionClass.Honoured),
            o => Assert.Contains($"\n  --{o.Name}", help));
        Assert.Contains(
            "--port                            TCP port; 0 at start takes a free one (none with tls-port), later it "
                + "ends TCP (6379)",
            help);
        Assert.All(help.Split('\n'), line => Assert.True(line.Length <= 120, line));
    }

    private string Write(string name, string text)
    {
        string path = Path.Combine(_directory, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
        return path;
    }
}
