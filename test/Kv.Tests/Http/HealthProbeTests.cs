using System.Net;
using Kv.Tests.Harness;
using Kv.Tests.Tls;

namespace Kv.Tests.Http;

/// <summary>kv-server --health [--ready].</summary>
public class HealthProbeTests
{
    [Theory]
    [InlineData("", "alive")]
    [InlineData("--ready", "ready")]
    public void A_server_that_is_well_is_exit_0_and_one_line(string word, string expected)
    {
        using var kv = KvInstance.Start();
        var result = Probe(kv, word);
        Assert.Equal((0, $"{kv.EndPoint}: {expected}\n", ""), (result.ExitCode, result.Output, result.Errors));
        result = Probe(kv, word, "--host", "localhost");
        Assert.Equal((0, $"localhost:{Port(kv)}: {expected}\n"), (result.ExitCode, result.Output));
    }

    [Fact]
    public void A_server_that_is_not_there_is_exit_1_and_one_line()
    {
        string port = ServerProgram.FreePort().ToString();
        var result = ChildProcess.Run(KvProcess.Program, ["--health", "--port", port]);
        Assert.Equal((1, ""), (result.ExitCode, result.Output));
        Assert.Matches($@"^127\.0\.0\.1:{port}: Connection refused[^\n]*\n$", result.Errors);
    }

    [Fact]
    public void A_server_with_a_password_is_alive_and_says_more_to_who_knows_it()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        Assert.Equal(0, Probe(kv, "").ExitCode);
        var result = Probe(kv, "--ready");
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("password", result.Errors, StringComparison.Ordinal);
        Assert.Equal(0, Probe(kv, "--ready", "--requirepass", "secret").ExitCode);
        Assert.Equal(1, Probe(kv, "", "--requirepass", "wrong").ExitCode);
        result = ChildProcess.Run(KvProcess.Program, ["--health", "--ready", "--port", Port(kv)],
            variable: ("KV_REQUIREPASS", "secret"));
        Assert.Equal(0, result.ExitCode);
        Assert.DoesNotContain("secret", result.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void A_server_whose_default_user_may_not_PING_is_alive()
    {
        using var kv = KvInstance.Start("--user", "default on nopass -@all");
        Assert.Equal(0, Probe(kv, "").ExitCode);
        var result = Probe(kv, "--ready");
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("NOPERM", result.Errors, StringComparison.Ordinal);
    }

    [Fact]
    public void A_unix_socket_is_asked_where_there_is_no_port()
    {
        Requires.Linux("unix sockets");
        string path = Path.Combine(Path.GetTempPath(), $"kv-{Guid.NewGuid():N}.sock");
        using var kv = KvInstance.Start("--unixsocket", path);
        var result = ChildProcess.Run(KvProcess.Program, ["--health", "--port", "0", "--unixsocket", path]);
        Assert.Equal((0, $"{path}: alive\n"), (result.ExitCode, result.Output));
    }

    [Theory, InlineData("yes"), InlineData("no")]
    public void TLS_is_spoken_where_there_is_nothing_else(string authClients)
    {
        using var files = new CertificateFolder();
        int port = ServerProgram.FreePort();
        string[] options =
            ["--port", "0", "--tls-port", $"{port}", .. files.Options, "--tls-auth-clients", authClients];
        using var kv = KvProcess.StartOn(0, options[2..]);
        Assert.True(kv.WaitUntilReady(), kv.Log);
        foreach (string[] words in (string[][])[["--health"], ["--health", "--ready"]])
        {
            var result = ChildProcess.Run(KvProcess.Program, [.. words, .. options]);
            Assert.Equal((0, ""), (result.ExitCode, result.Errors));
        }

        // It says why, in a line.
        kv.Signal("TERM");
        kv.WaitForExit();
        var gone = ChildProcess.Run(KvProcess.Program, ["--health", .. options]);
        Assert.Equal(1, gone.ExitCode);
        Assert.Matches($"^127\\.0\\.0\\.1:{port}: [^\n]+\n$", gone.Errors);
    }

    [Fact]
    public void A_wrong_option_is_exit_1()
    {
        var result = ChildProcess.Run(KvProcess.Program, ["--health", "--nosuch", "1"]);
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("nosuch", result.Errors, StringComparison.Ordinal);
    }

    private static ChildResult Probe(KvInstance kv, string word, params string[] more) =>
        ChildProcess.Run(KvProcess.Program,
            ["--health", .. word.Length > 0 ? [word] : (string[])[], "--port", Port(kv), .. more]);

    private static string Port(KvInstance kv) => ((IPEndPoint)kv.EndPoint).Port.ToString();
}
