using System.Globalization;
using System.Net;
using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Running;

/// <summary>What a kv-server tells systemd, whose socket is the test's.</summary>
public class SupervisorTests
{
    [Theory]
    [InlineData("systemd", false)]
    [InlineData("auto", true)]
    public void The_supervisor_is_told_of_the_start_of_a_reload_and_of_the_end(string supervised, bool isAbstract)
    {
        using var socket = new NotifySocket(isAbstract);
        using var kv = KvProcess.StartWith("NOTIFY_SOCKET", socket.Path, "--supervised", supervised);
        Assert.Equal($"READY=1\nMAINPID={kv.Process.Id}\n"
            + $"STATUS=Ready to accept connections: {kv.EndPoint}, [::1]:{((IPEndPoint)kv.EndPoint).Port}",
            WithBoth(socket.Read(), kv));
        kv.Signal("HUP");
        string[] reloading = socket.Read().Split('\n');
        Assert.Equal("RELOADING=1", reloading[0]);
        double uptime = double.Parse(File.ReadAllText("/proc/uptime").Split(' ')[0], CultureInfo.InvariantCulture);
        Assert.Matches("^MONOTONIC_USEC=[0-9]+$", reloading[1]);
        // The kernel's own clock since boot, which every process reads alike.
        Assert.InRange(long.Parse(reloading[1].Split('=')[1]) / 1e6, 0, uptime + 1);
        Assert.StartsWith("READY=1\nSTATUS=Ready", socket.Read(), StringComparison.Ordinal);
        kv.Signal("TERM");
        Assert.StartsWith("STOPPING=1\n", socket.Read(), StringComparison.Ordinal);
        Assert.Equal(0, kv.WaitForExit());
    }

    // A machine may have no IPv6.
    private static string WithBoth(string text, KvProcess kv) => text.Contains("[::1]", StringComparison.Ordinal)
        ? text : $"{text}, [::1]:{((IPEndPoint)kv.EndPoint).Port}";

    [Fact]
    public void Nobody_is_told_unless_it_was_asked_for()
    {
        using var socket = new NotifySocket();
        using (var kv = KvProcess.StartWith("NOTIFY_SOCKET", socket.Path)) kv.Signal("TERM");
        using var asking = KvProcess.StartWith("NOTIFY_SOCKET", socket.Path, "--supervised", "systemd");
        // The first that comes is of the second server.
        Assert.Contains($"MAINPID={asking.Process.Id}", socket.Read(), StringComparison.Ordinal);
    }

    [Fact]
    public void Without_a_socket_the_log_says_so_and_the_server_serves()
    {
        using var kv = KvProcess.Start("--supervised", "systemd");
        Assert.Contains("NOTIFY_SOCKET names no socket", kv.Log, StringComparison.Ordinal);
        using var lost = KvProcess.StartWith("NOTIFY_SOCKET", "/nonexistent/socket", "--supervised", "systemd");
        Eventually.Holds(() => lost.Log.Contains("Cannot tell the supervisor", StringComparison.Ordinal),
            () => lost.Log);
        using var client = lost.Connect();
        client.Ok("PING");
    }

    [Fact]
    public void A_watchdog_is_fed_while_the_server_serves()
    {
        using var socket = new NotifySocket();
        using var kv = KvProcess.StartWith(
            [("NOTIFY_SOCKET", socket.Path), ("WATCHDOG_USEC", "200000")], "--supervised", "auto");
        Assert.StartsWith("READY=1", socket.Read(), StringComparison.Ordinal);
        for (int i = 0; i < 3; i++) Assert.Equal("WATCHDOG=1", socket.Read());
        using var other = KvProcess.StartWith(
            [("NOTIFY_SOCKET", socket.Path), ("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")], "--supervised", "auto");
        string next;
        // Ends: with the second server's start. It is not fed for: the watchdog is that of another process.
        while ((next = socket.Read()) == "WATCHDOG=1")
        {
        }

        Assert.Contains($"MAINPID={other.Process.Id}", next, StringComparison.Ordinal);
    }

    // 60 days; more than a .NET time holds.
    [Theory, InlineData("5184000000000"), InlineData("9223372036854775807")]
    public void A_watchdog_that_has_time_is_no_reason_to_end(string microseconds)
    {
        using var socket = new NotifySocket();
        using var kv = KvProcess.StartWith(
            [("NOTIFY_SOCKET", socket.Path), ("WATCHDOG_USEC", microseconds)], "--supervised", "auto");
        Assert.StartsWith("READY=1", socket.Read(), StringComparison.Ordinal);
        using var client = kv.Connect();
        client.Ok("PING");
        kv.Signal("TERM");
        Assert.StartsWith("STOPPING=1\n", socket.Read(), StringComparison.Ordinal);
        Assert.Equal(0, kv.WaitForExit());
    }

    // What feeds the watchdog: that workers come by, not that time passes.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_server_serves_while_its_workers_come_by(string transport)
    {
        using var isIn = new ManualResetEventSlim();
        using var mayEnd = new ManualResetEventSlim();
        var table = new CommandTable([.. AllCommands.Table.All,
            new Command("STUCK", 1, (ref CommandContext context) =>
            {
                isIn.Set();
                mayEnd.Wait();
                context.Reply.WriteOk();
            })
            {
                Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            }]);
        var options = KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport,
            "--worker-threads", "1"]);
        await using var kv = await KvServer.StartAsync(options, null, TimeProvider.System, table, default);
        Assert.True(kv.IsServing(TimeSpan.FromMinutes(1)));
        using var client = new RespClient(kv.Endpoints[0]);
        client.Send("STUCK");
        isIn.Wait();
        try
        {
            Assert.False(kv.IsServing(TimeSpan.FromMilliseconds(50)));
        }
        finally
        {
            mayEnd.Set();
        }

        Assert.Equal("+OK", client.Read().ToString());
        Assert.True(kv.IsServing(TimeSpan.FromMinutes(1)));
    }
}
