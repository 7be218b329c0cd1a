using System.Net;
using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>A kv-server that is given sockets which listen already, as by a socket unit of systemd.</summary>
public class SocketActivationTests
{
    private const string Script = """
        import os, socket, sys
        kind, where, program = sys.argv[1:4]
        s = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET,
                          socket.SOCK_DGRAM if kind == "datagrams" else socket.SOCK_STREAM)
        s.bind(where if kind == "unix" else ("127.0.0.1", int(where)))
        if kind not in ("datagrams", "silent"):
            s.listen()
        os.dup2(s.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ["LISTEN_FDS"] = os.environ.get("TEST_FDS", "1")
        os.environ["LISTEN_PID"] = str(os.getpid())
        os.execv(program, [program] + sys.argv[4:])
        """;

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_socket_that_was_handed_over_is_served_in_place_of_the_port(string transport)
    {
        Requires.Linux("descriptors that are handed over");
        int port = ServerProgram.FreePort();
        using var kv = new Activated(port, "tcp", $"{port}", "--transport", transport, "--port", "1");
        Assert.True(kv.WaitUntilReady(), kv.Log);
        using var client = kv.Connect();
        client.Ok("SET k v");
        Assert.Equal($"{port}", client.Info("tcp_port"));
    }

    [Fact]
    public void The_file_of_a_unix_socket_that_was_handed_over_stays()
    {
        Requires.Linux("descriptors that are handed over");
        string path = Path.Combine(Path.GetTempPath(), $"kv-{Guid.NewGuid():N}.sock");
        try
        {
            using var kv = new Activated(0, "unix", path);
            Assert.True(kv.WaitUntilReady(), kv.Log);
            var health = ChildProcess.Run(KvProcess.Program, ["--health", "--port", "0", "--unixsocket", path]);
            Assert.Equal(0, health.ExitCode);
            kv.Signal("TERM");
            Assert.Equal(0, kv.WaitForExit());
            Assert.True(File.Exists(path));
        }
        finally
        {
            File.Delete(path);
        }
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_socket_that_has_the_port_of_TLS_is_served_over_TLS(string transport)
    {
        Requires.Linux("descriptors that are handed over");
        using var files = new Tls.CertificateFolder();
        int port = ServerProgram.FreePort();
        using var kv = new Activated(port, "tcp", $"{port}",
            [.. files.Options, "--transport", transport, "--tls-port", $"{port}", "--tls-auth-clients", "no"]);
        Assert.True(kv.WaitUntilReady(), kv.Log);
        var run = ChildProcess.Run(Requires.Tool("redis-cli"),
            ["-p", $"{port}", "--tls", "--insecure", "PING"]);
        Assert.Equal("PONG\n", run.Output);
    }

    [Theory]
    [InlineData("datagrams", "A socket that was handed over is neither of TCP nor the only unix socket")]
    [InlineData("silent", "A socket that was handed over does not listen")]
    public void What_takes_no_connections_is_a_reason_not_to_start(string kind, string reason)
    {
        Requires.Linux("descriptors that are handed over");
        int port = ServerProgram.FreePort();
        using var kv = new Activated(port, kind, $"{port}");
        Assert.Equal(1, kv.WaitForExit());
        Assert.Contains(reason, kv.Log, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("65", "LISTEN_FDS is '65', and at most 64 sockets are taken: it has to be the number of sockets")]
    [InlineData("many", "LISTEN_FDS is 'many', which is no number")]
    [InlineData("64", "LISTEN_FDS is '64', but descriptor ")]
    public void A_number_of_sockets_that_is_wrong_is_named_with_what_to_do(string count, string reason)
    {
        Requires.Linux("descriptors that are handed over");
        int port = ServerProgram.FreePort();
        var run = ChildProcess.Run(Requires.Tool("python3"), ["-c", "import os; os.environ['TEST_FDS'] = '" + count
            + "'\n" + Script, "tcp", $"{port}", KvProcess.Program, "--save", ""]);
        Assert.Equal(1, run.ExitCode);
        Assert.Contains(reason, run.Errors, StringComparison.Ordinal);
        Assert.Contains("Unset it and LISTEN_PID", run.Errors, StringComparison.Ordinal);
    }

    private sealed class Activated(int port, string kind, string where, params string[] options)
        : ServerProgram(Requires.Tool("python3"), ["-c", Script, kind, where, KvProcess.Program, .. options],
            new IPEndPoint(IPAddress.Loopback, port))
    {
        public override string Name => "kv-server";
    }
}
