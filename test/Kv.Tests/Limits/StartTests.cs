using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What cannot be made at the start is said in one line, with exit code 1.</summary>
public sealed class StartTests
{
    [Theory]
    [InlineData("--pidfile", "/proc/nowhere/kv.pid", "Can't write the pid file /proc/nowhere/kv.pid: ")]
    [InlineData("--pidfile", "/proc", "Can't write the pid file /proc: ")]
    [InlineData("--logfile", "/proc/nowhere/kv.log", "Can't open the log file /proc/nowhere/kv.log: ")]
    [InlineData("--logfile", "/proc", "Can't open the log file /proc: ")]
    [InlineData("--unixsocket", "/proc/nowhere/kv.sock",
        "Could not create server Unix listening socket /proc/nowhere/kv.sock: bind: ")]
    [InlineData("--unixsocket", "nowhere/kv.sock",
        "Could not create server Unix listening socket nowhere/kv.sock: bind: ")]
    [InlineData("--unixsocket", "/proc", "Could not create server Unix listening socket /proc: bind: ")]
    [InlineData("--bind", "no.such.host.invalid", "Could not create server TCP listening socket no.such.host.invalid:")]
    public void A_file_or_socket_that_cannot_be_made_is_one_line_and_exit_code_1(
        string option, string value, string begin) => Check(option, value, begin);

    // 108 bytes with the final zero on Linux.
    [Theory]
    [InlineData(108)]
    [InlineData(109)]
    [InlineData(4096)]
    public void A_path_too_long_for_a_unix_socket_is_one_line_and_exit_code_1(int length)
    {
        string path = "/tmp/" + new string('k', length - 5);
        Check("--unixsocket", path, $"Could not create server Unix listening socket {path}: bind: ");
    }

    private static void Check(string option, string value, string begin)
    {
        Requires.Linux("/proc takes no files");
        var run = ChildProcess.Run(KvProcess.Program, ["--port", "0", option, value]);
        Assert.Equal(1, run.ExitCode);
        Assert.StartsWith(begin, run.Errors, StringComparison.Ordinal);
        Assert.Equal(run.Errors.Length - 1, run.Errors.IndexOf('\n'));
        Assert.DoesNotContain("xception", run.Errors + run.Output, StringComparison.Ordinal);
    }
}
