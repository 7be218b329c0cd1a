using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>What is left of a server that an exception ends.</summary>
public sealed class CrashReportTests : IDisposable
{
    // SIGABRT, as the runtime ends a process.
    private const int Aborted = 128 + 6;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-crash-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("PANIC", "System.InvalidOperationException: Panic, as DEBUG PANIC asked for")]
    [InlineData("SEGFAULT", "System.NullReferenceException")]
    public void A_report_is_written_to_the_log_and_to_a_file_before_the_end(string word, string exception)
    {
        Requires.Linux("signals");
        string pid = Path.Combine(_directory, "kv.pid");
        using var kv = Start("--requirepass", "hunter2", "--pidfile", pid, "--maxclients", "77");
        using var other = kv.Connect();
        other.Ok("AUTH hunter2");
        other.Ok("SET secret-key secret-value");
        using var client = kv.Connect();
        client.Ok("AUTH hunter2");
        client.Send($"DEBUG {word}");
        Assert.Equal(Aborted, kv.WaitForExit());
        Assert.False(File.Exists(pid));
        string file = Assert.Single(Directory.GetFiles(_directory, $"kv-crash-{kv.Process.Id}-*.txt"));
        if (!OperatingSystem.IsWindows())
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        string report = File.ReadAllText(file);
        foreach (string part in (string[])["Kv ", exception, "   at Kv.Server.Families.DebugCommands",
            "requirepass ***  (command line)", "maxclients 77  (command line)", ": set, ", "kv-worker-0 "])
            Assert.Contains(part, report, StringComparison.Ordinal);
        foreach (string line in report.Split('\n', StringSplitOptions.RemoveEmptyEntries))
            Assert.Contains(line, kv.Log, StringComparison.Ordinal);
        foreach (string secret in (string[])["hunter2", "secret-key", "secret-value"])
        {
            Assert.DoesNotContain(secret, report, StringComparison.Ordinal);
            Assert.DoesNotContain(secret, kv.Log, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void No_report_is_written_where_it_is_switched_off()
    {
        Requires.Linux("signals");
        using var kv = Start("--crash-log-enabled", "no");
        using var client = kv.Connect();
        client.Send("DEBUG PANIC");
        Assert.Equal(Aborted, kv.WaitForExit());
        Assert.Empty(Directory.GetFiles(_directory));
        Assert.DoesNotContain(" Crash: ", kv.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void DEBUG_ends_no_server_that_does_not_allow_it()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        Assert.StartsWith("-ERR DEBUG command not allowed.", client.Command("DEBUG PANIC").ToString(),
            StringComparison.Ordinal);
        client.Ok("PING");
    }

    private KvProcess Start(params string[] options) =>
        KvProcess.Start(["--dir", _directory, "--enable-debug-command", "yes", .. options]);
}
