using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>Why a server does not start: said on standard error, and in its log.</summary>
public sealed class StartFailureTests : IDisposable
{
    private const string Reason = "No such command in rename-command";

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-start-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void The_log_file_has_it_too()
    {
        string log = Path.Combine(_directory, "kv.log");
        var run = ChildProcess.Run(KvProcess.Program,
            ["--port", "0", "--save", "", "--logfile", log, "--rename-command", "NOTHING", "x"]);
        Assert.Equal(1, run.ExitCode);
        Assert.Contains(Reason, run.Errors, StringComparison.Ordinal);
        string line = Assert.Single(File.ReadLines(log), line => line.Contains(Reason, StringComparison.Ordinal));
        Assert.Contains("Server: ", line, StringComparison.Ordinal);
    }

    [Fact]
    public void A_port_that_is_taken_is_in_the_log_file()
    {
        using var taken = new TcpListener(System.Net.IPAddress.Loopback, 0);
        taken.Start();
        int port = ((System.Net.IPEndPoint)taken.LocalEndpoint).Port;
        string log = Path.Combine(_directory, "kv.log");
        var run = ChildProcess.Run(KvProcess.Program, ["--port", $"{port}", "--save", "", "--logfile", log]);
        Assert.Equal(1, run.ExitCode);
        Assert.Contains("Address already in use", File.ReadAllText(log), StringComparison.Ordinal);
    }

    [Fact]
    public void On_standard_output_it_is_not_repeated()
    {
        var run = ChildProcess.Run(KvProcess.Program,
            ["--port", "0", "--save", "", "--rename-command", "NOTHING", "x"]);
        Assert.Equal(1, run.ExitCode);
        Assert.Contains(Reason, run.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain(Reason, run.Output, StringComparison.Ordinal);
    }
}
