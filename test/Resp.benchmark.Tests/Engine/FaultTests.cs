using System.Net.Sockets;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Tests.Engine;

/// <summary>Servers that misbehave: all of it is counted or reported, and no run hangs.</summary>
public class FaultTests
{
    private const int Watchdog = 120_000, CommandBytes = 27;

    public static TheoryData<string> Models => ["Epoll", "Thread", "Portable"];

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Error_replies_are_counted_by_class_and_are_no_operations(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, "-OOM command not allowed\r\n"u8.ToArray());
        Measurement result = Runs.ToEnd(Plan(server, model) with { Commands = 1000, Depth = 10 });
        Assert.Equal((1000, 1000, 0), (result.Counters.Commands, result.Counters.Errors, result.Counters.Ops));
        Assert.Equal([new ErrorClass("OOM", 1000, "OOM command not allowed")], result.Errors);
        Assert.Equal(0, result.Service.Count);
        Assert.Equal(RunEnd.Completed, result.End);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task The_first_error_reply_can_end_the_run(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, "-WRONGTYPE no\r\n"u8.ToArray());
        Measurement result = Runs.ToEnd(Plan(server, model) with { AbortOnError = true });
        Assert.Equal((RunEnd.ErrorReply, "WRONGTYPE no"), (result.End, result.Failure));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Replies_of_a_wrong_type_are_mismatches(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, ":1\r\n"u8.ToArray());
        Measurement result = Runs.ToEnd(Plan(server, model) with { Commands = 500 });
        Assert.Equal((500, 500, 0), (result.Counters.Commands, result.Counters.Mismatches, result.Counters.Ops));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Replies_split_at_every_byte_count_as_they_are(string model) => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            while (peer.ReadCommands(CommandBytes) is > 0 and int commands)
            {
                for (int index = 0; index < commands; index++)
                {
                    foreach (byte one in "$8\r\nabcdefgh\r\n"u8.ToArray()) peer.Write([one]);
                }
            }
        });
        Measurement result = Runs.ToEnd(Plan(server, model) with { Commands = 300, Depth = 7, Sessions = 3 });
        Assert.Equal((300, 300, RunEnd.Completed), (result.Counters.Commands, result.Counters.Ops, result.End));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task What_is_no_RESP_ends_the_session_with_its_place_and_bytes(string model) => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            while (peer.ReadCommands(CommandBytes) > 0)
                peer.Write(peer.Seen == 1 ? "$8\r\nabcdefgh\r\n"u8 : "HTTP/1.1 400 Bad Request\r\n"u8);
        });
        Measurement result = Runs.ToEnd(Plan(server, model));
        Assert.Equal(RunEnd.BrokenReply, result.End);
        Assert.StartsWith("no RESP at byte 14 of the connection: 485454502F312E31", result.Failure);
        Assert.Equal((1, 1), (result.Counters.Commands, result.Counters.Lost));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_value_shorter_than_announced_is_no_RESP_or_a_missing_reply(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, "$8\r\nabc\r\n"u8.ToArray());
        Measurement result =
            Runs.ToEnd(Plan(server, model) with { Depth = 4, Commands = 8, Drain = TimeSpan.FromMilliseconds(50) });
        Assert.True(result.End is RunEnd.BrokenReply or RunEnd.DrainTimeout, result.End.ToString());
        Assert.True(result.Counters.Lost > 0);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_server_that_closes_ends_the_run_and_what_was_outstanding_is_lost(string model) => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            while (peer.Seen < 50 && peer.ReadCommands(CommandBytes) is > 0 and int commands)
            {
                for (int index = 0; index < commands; index++) peer.Write("$-1\r\n"u8);
            }
        });
        Measurement result = Runs.ToEnd(Plan(server, model) with { Sessions = 3, Depth = 10, Mode = DepthMode.Batch });
        Assert.Equal(RunEnd.AllDisconnected, result.End);
        Assert.NotNull(result.Failure);
        Assert.Equal(result.Counters.Nils, result.Counters.Commands);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task One_lost_connection_of_several_does_not_end_a_counted_run(string model) => Task.Run(() =>
    {
        int connections = 0;
        using var server = new FakeServer(peer =>
        {
            bool bad = Interlocked.Increment(ref connections) == 2;
            while (peer.ReadCommands(CommandBytes) is > 0 and int commands)
            {
                if (bad) return;
                for (int index = 0; index < commands; index++) peer.Write("$-1\r\n"u8);
            }
        });
        Measurement result = Runs.ToEnd(
            Plan(server, model) with { Sessions = 4, Loops = 1, Depth = 3, Commands = 2000, Mode = DepthMode.Batch });
        Assert.Equal(RunEnd.Completed, result.End);
        Assert.InRange(result.Counters.Lost, 1, 3);
        Assert.Equal(2000, result.Counters.Sent);
        Assert.NotNull(result.Failure);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_server_that_hangs_ends_the_run_when_the_drain_is_over(string model) => Task.Run(() =>
    {
        using var seen = new SemaphoreSlim(0);
        using var server = new FakeServer(peer =>
        {
            peer.ReadCommands(CommandBytes);
            seen.Release();
            peer.ReadCommands(int.MaxValue);     // until the client goes away
        });
        CellPlan plan = Plan(server, model) with { Drain = TimeSpan.FromMilliseconds(50) };
        using (var run = LoadRun.Connect(plan))
        {
            run.Begin();
            Assert.True(seen.Wait(Watchdog));
            run.Stop();
            Assert.True(run.Wait(TimeSpan.FromMilliseconds(Watchdog)), "the run hangs");
            Measurement stopped = Runs.Checked(run.Finish());
            Assert.Equal((RunEnd.DrainTimeout, 1), (stopped.End, stopped.Counters.Lost));
        }

        Measurement counted = Runs.ToEnd(plan with { Commands = 1000 });
        Assert.Equal((RunEnd.DrainTimeout, 1), (counted.End, counted.Counters.Lost));
    });

    [Fact(Timeout = Watchdog)]
    public Task A_port_where_nobody_listens_is_reported_with_its_address() => Task.Run(() =>
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        // bound and not listening: refused, and nobody else's
        listener.Bind(new System.Net.IPEndPoint(System.Net.IPAddress.Loopback, 0));
        int port = ((System.Net.IPEndPoint)listener.LocalEndPoint!).Port;
        var error = Assert.Throws<ConnectException>(
            () => LoadRun.Connect(new CellPlan { Target = new Target { Port = port }, Workload = FixedWorkload.Gets }));
        Assert.Equal(($"127.0.0.1:{port}", "Connection refused"), (error.Address, error.Reason));
    });

    [Fact(Timeout = Watchdog)]
    public Task A_refused_password_is_reported_in_the_servers_words() => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            peer.ReadCommands(1);
            peer.Write("-WRONGPASS invalid username-password pair\r\n"u8);
            peer.ReadCommands(int.MaxValue);
        });
        var error = Assert.Throws<TargetException>(
            () =>
                LoadRun.Connect(
                    Plan(server, "Epoll") with { Target = new Target { Port = server.Port, Password = "no" } }));
        Assert.Equal("WRONGPASS invalid username-password pair", error.Message);
    });

    private static CellPlan Plan(FakeServer server, string model) => new()
    {
        Target = new Target { Port = server.Port },
        Workload = FixedWorkload.Gets,
        Model = Enum.Parse<SessionModel>(model),
    };
}
