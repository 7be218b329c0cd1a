using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>SIGHUP: the log file is opened anew, and users are read again.</summary>
public sealed class ReloadTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-reload-").FullName;

    private string Users => Path.Combine(_directory, "users.acl");

    private string LogFile => Path.Combine(_directory, "kv.log");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void The_log_goes_on_in_a_new_file_and_users_are_those_of_the_file()
    {
        Requires.Linux("signals");
        using var kv = Start();
        using var client = kv.Connect();
        Assert.True(client.Command("AUTH alice secret").IsError);
        File.Move(LogFile, LogFile + ".1");
        File.WriteAllText(Users, "user alice on >secret ~* +@all\n");
        kv.Signal("HUP");
        AwaitInLog("SIGHUP: read again what is in files");
        Assert.DoesNotContain("SIGHUP", File.ReadAllText(LogFile + ".1"), StringComparison.Ordinal);
        client.Ok("AUTH alice secret");
    }

    [Fact]
    public void Of_a_file_with_a_wrong_line_nothing_is_taken_and_the_log_says_where()
    {
        Requires.Linux("signals");
        using var kv = Start();
        using var client = kv.Connect();
        File.WriteAllText(Users, "user alice on >secret ~* +@all\nuser bob on >hunter2 +nosuchcommand\n");
        kv.Signal("HUP");
        AwaitInLog("not all that is in files could be read");
        string log = File.ReadAllText(LogFile);
        Assert.Contains($"The users are as they were: {Users}:2", log, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", log, StringComparison.Ordinal);
        Assert.True(client.Command("AUTH alice secret").IsError);
        client.Ok("PING");
    }

    [Fact]
    public void A_log_file_that_cannot_be_opened_leaves_the_log_where_it_is()
    {
        Requires.Linux("signals");
        using var kv = Start();
        File.Move(LogFile, LogFile + ".1");
        Directory.CreateDirectory(LogFile);
        kv.Signal("HUP");
        Eventually.Holds(() => File.ReadAllText(LogFile + ".1").Contains("cannot be opened anew",
            StringComparison.Ordinal), () => File.ReadAllText(LogFile + ".1"));
        Directory.Delete(LogFile);
    }

    [Fact]
    public async Task Of_a_storm_of_signals_one_reload_runs_and_one_waits()
    {
        using var isIn = new ManualResetEventSlim();
        using var mayEnd = new ManualResetEventSlim();
        int rounds = 0, atOnce = 0;
        var reloads = new Kv.Host.Reloads(() =>
        {
            Assert.Equal(1, Interlocked.Increment(ref atOnce));
            Interlocked.Increment(ref rounds);
            isIn.Set();
            mayEnd.Wait();
            Interlocked.Decrement(ref atOnce);
        });
        var first = Task.Run(reloads.Ask);
        isIn.Wait();
        // None of these waits: the first one reads again what may have changed since it began.
        Parallel.For(0, 1000, _ => reloads.Ask());
        Assert.Equal(1, rounds);
        mayEnd.Set();
        await first;
        Assert.Equal(2, rounds);
        reloads.Ask();
        Assert.Equal(3, rounds);
    }

    [Fact]
    public void A_storm_under_load_ends_nothing_and_the_last_state_of_the_files_is_what_counts()
    {
        Requires.Linux("signals");
        using var kv = Start();
        using var client = kv.Connect();
        for (int i = 0; i < 100; i++)
        {
            File.WriteAllText(Users, i % 3 == 1 ? "user broken on +nosuch\n" : $"user u{i} on >p ~* +@all\n");
            if (i % 10 == 5) File.Move(LogFile, $"{LogFile}.{i}");
            kv.Signal("HUP");
            client.Ok($"SET k{i} v");
        }

        File.WriteAllText(Users, "user last on >p ~* +@all\n");
        kv.Signal("HUP");
        Eventually.Holds(() => !client.Command("AUTH last p").IsError, () => "the last state was not read");
        client.Ok("PING");
        kv.Signal("HUP");
        kv.Signal("TERM");
        kv.Signal("HUP");
        Assert.Equal(0, kv.WaitForExit());
    }

    private KvProcess Start()
    {
        File.WriteAllText(Users, "");
        var kv = KvProcess.StartOn(ServerProgram.FreePort(), "--logfile", LogFile, "--aclfile", Users);
        AwaitInLog("Ready to accept connections");
        return kv;
    }

    private void AwaitInLog(string text) => Eventually.Holds(
        () => File.Exists(LogFile) && File.ReadAllText(LogFile).Contains(text, StringComparison.Ordinal),
        () => $"the log does not say '{text}'");
}
