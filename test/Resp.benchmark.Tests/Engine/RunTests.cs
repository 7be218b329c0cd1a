using System.Diagnostics;
using Kv.Tests.Harness;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Engine;

/// <summary>Shapes of runs other than the plain closed loop.</summary>
public class RunTests
{
    private const int Watchdog = 120_000, CommandBytes = 27;
    private static readonly byte[] Value = "$8\r\nabcdefgh\r\n"u8.ToArray();

    public static TheoryData<string> Models => ["Epoll", "Thread", "Portable"];

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Replies_beyond_all_socket_buffers_do_not_block_the_client(string model) => Task.Run(() =>
    {
        // 64 replies of 1 MiB: the server cannot write the second before the client reads, nor read the rest of the
        // requests, which are as large again.
        byte[] reply = [.. "$1048576\r\n"u8, .. new byte[1048576], .. "\r\n"u8];
        string request = $"*2\r\n$3\r\nGET\r\n$1048576\r\n{new string('k', 1048576)}\r\n";
        using var server = new FakeServer(peer =>
        {
            while (peer.ReadCommands(request.Length) is > 0 and int commands)
            {
                for (int index = 0; index < commands; index++) peer.Write(reply);
            }
        });
        Measurement result = Runs.ToEnd(Plan(server, model) with
        {
            Workload = FixedWorkload.Of(new CommandKind("GET", ReplyRule.Bulk, 1, reply.Length), request),
            Depth = 64,
            Commands = 128,
            Mode = DepthMode.Batch,
        });
        Assert.Equal((128, 128, RunEnd.Completed), (result.Counters.Commands, result.Counters.Ops, result.End));
        Assert.Equal(128L * reply.Length, result.Counters.BytesIn);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task No_more_is_outstanding_than_the_bound_of_bytes_in_flight(string model) => Task.Run(() =>
    {
        long most = 0, answered = 0;
        using var server = new FakeServer(peer =>
        {
            // Answers only when nothing more comes: what was sent by then is all that was allowed.
            while (peer.ReadCommands(CommandBytes) > 0)
            {
                while (peer.Socket.Poll(20_000, System.Net.Sockets.SelectMode.SelectRead)
                    && peer.ReadCommands(CommandBytes) > 0)
                {
                }

                most = Math.Max(most, peer.Seen - answered);
                for (; answered < peer.Seen; answered++) peer.Hold(Value);
                peer.Flush();
            }
        });
        Measurement result = Runs.ToEnd(
            Plan(server, model) with { Depth = 500, Commands = 500, InflightBytesMax = 1400, Mode = DepthMode.Batch });
        Assert.Equal(500, result.Counters.Commands);
        Assert.InRange(most, 2, 101);       // 14 bytes each
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Long_commands_leave_in_pieces(string model) => Task.Run(() =>
    {
        string request = $"*2\r\n$3\r\nGET\r\n$100000\r\n{new string('k', 100000)}\r\n";
        using var server = FakeServer.Answering(request.Length, Value);
        var workload = FixedWorkload.Cut(new CommandKind("GET", ReplyRule.Bulk), request, imageBytesMax: 999);
        Measurement result =
            Runs.ToEnd(Plan(server, model) with { Workload = workload, Depth = 3, Commands = 50, Sessions = 2 });
        Assert.Equal((50, 50, 50L * request.Length),
            (result.Counters.Commands, result.Counters.Sent, result.Counters.BytesOut));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_stream_that_ends_ends_the_run(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        Measurement result =
            Runs.ToEnd(Plan(server, model) with { Workload = FixedWorkload.Ending(1234), Depth = 100, Sessions = 3,
                Warmup = TimeSpan.FromSeconds(1) });
        Assert.Equal((3 * 1234, RunEnd.Completed), (result.Counters.Commands, result.End));
    });

    [Theory(Timeout = Watchdog), InlineData("Epoll"), InlineData("Portable")]
    public Task A_connection_a_request_sends_exactly_so_many_over_as_many_connections(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        Measurement result = Runs.ToEnd(
            Plan(server, model) with { Sessions = 5, Commands = 300, Reconnect = true, Mode = DepthMode.Batch });
        Assert.Equal((300, 0, RunEnd.Completed), (result.Counters.Commands, result.Counters.Lost, result.End));
        Assert.Equal(300, server.Accepted);
    });

    [Theory(Timeout = Watchdog), InlineData("Epoll"), InlineData("Portable")]
    public Task A_batch_has_a_connection_of_its_own(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        Measurement result = Runs.ToEnd(
            Plan(server, model) with { Commands = 800, Depth = 8, Reconnect = true, Mode = DepthMode.Batch });
        Assert.Equal((800, 0, RunEnd.Completed), (result.Counters.Commands, result.Counters.Lost, result.End));
        Assert.Equal(100, server.Accepted);
    });

    [Theory(Timeout = Watchdog), InlineData("Epoll"), InlineData("Portable")]
    public Task A_new_connection_is_opened_with_its_handshake(string model) => Task.Run(() =>
    {
        byte[] handshake = Handshake.Encode("AUTH", "secret");
        int good = 0;
        using var server = new FakeServer(peer =>
        {
            peer.ReadExactly(handshake.Length);
            peer.Write("+OK\r\n"u8);
            peer.ReadExactly(CommandBytes);
            Interlocked.Increment(ref good);
            peer.Write(Value);
            peer.ReadCommands(int.MaxValue);
        });
        Measurement result = Runs.ToEnd(Plan(server, model) with
        {
            Target = new Target { Port = server.Port, Password = "secret" }, Commands = 20, Reconnect = true,
                Mode = DepthMode.Batch,
        });
        Assert.Equal((20, 20L, 20L), (good, result.Counters.Commands, result.Counters.Ops));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_batch_latency_is_one_for_all_its_commands(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        Measurement result = Runs.ToEnd(
            Plan(server, model) with { Depth = 16, Commands = 160, BatchLatency = true, Mode = DepthMode.Batch });
        Assert.Equal((160L, 10L), (result.Counters.Ops, result.Service.Count));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task A_flood_does_not_wait_for_replies(string model) => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            while (peer.Seen < 10_000 && peer.ReadCommands(CommandBytes) > 0)
            {
            }

            for (long index = 0; index < peer.Seen; index++) peer.Hold(Value);
            peer.Flush();
            peer.ReadCommands(int.MaxValue);
        });
        Measurement result = Runs.ToEnd(Plan(server, model) with { Flood = true, Commands = 10_000 });
        Assert.Equal((10_000L, 0L), (result.Counters.Commands, result.Service.Count));
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Wrong_values_are_found_in_their_share_of_replies(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        CellPlan plan = Plan(server, model) with { Workload = FixedWorkload.TrackedGets, Commands = 4000, Depth = 100,
            VerifyShare = 1 };
        Assert.Equal(4000, Runs.ToEnd(plan).Counters.Wrong);
        Assert.InRange(Runs.ToEnd(plan with { VerifyShare = 0.25 }).Counters.Wrong, 800, 1200);
        Assert.Equal(0, Runs.ToEnd(plan with { VerifyShare = 0 }).Counters.Wrong);
    });

    [Theory(Timeout = Watchdog), MemberData(nameof(Models))]
    public Task Sessions_can_be_added_and_the_measurement_begun_anew_while_it_runs(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        using var run = LoadRun.Connect(Plan(server, model) with { Sessions = 2, Depth = 4 });
        run.Begin();
        Until(() => run.Counters.Commands > 100);
        run.SetSessions(7);
        Until(() => server.Accepted == 7);
        IntervalSample before = run.TakeInterval();
        Assert.True(before.Service.Count > 0);
        run.ResetMeasurement();
        Until(() => run.Counters.Commands > 100);
        IntervalSample first = run.TakeInterval();
        long intervals = first.Counters.Commands, recorded = first.Service.Count;
        Until(() => run.Counters.Commands > intervals + 100);
        run.Stop();
        Assert.True(run.Wait(TimeSpan.FromMilliseconds(Watchdog)));
        IntervalSample last = run.TakeInterval();
        Measurement result = Runs.Checked(run.Finish());
        Assert.Equal(RunEnd.Interrupted, result.End);
        Assert.Equal(result.Counters.Commands, intervals + last.Counters.Commands);
        Assert.Equal(result.Counters.Commands, recorded + last.Service.Count);
        Assert.Equal(result.Service.Count, recorded + last.Service.Count);
        Assert.Equal(first.Start + first.Length, last.Start);
    });

    [Theory(Timeout = Watchdog), InlineData("Epoll"), InlineData("Portable")]
    public Task Loops_that_begin_without_sessions_drive_those_that_come(string model) => Task.Run(() =>
    {
        int served = 0;
        using var server = new FakeServer(peer =>
        {
            bool first = true;
            while (peer.ReadCommands(CommandBytes) is > 0 and int commands)
            {
                if (first) Interlocked.Increment(ref served);
                first = false;
                for (int index = 0; index < commands; index++) peer.Write(Value);
            }
        });
        using var run = LoadRun.Connect(Plan(server, model) with { Sessions = 1, SessionsMax = 6, Loops = 3 });
        Assert.Equal(3, run.Loops);
        run.Begin();
        Until(() => run.Counters.Commands > 100);
        run.SetSessions(6);
        Until(() => Volatile.Read(ref served) == 6);
        run.Stop();
        Assert.True(run.Wait(TimeSpan.FromMilliseconds(Watchdog)));
        Assert.Equal(RunEnd.Interrupted, Runs.Checked(run.Finish()).End);
    });

    [Theory(Timeout = Watchdog), InlineData("Epoll"), InlineData("Portable")]
    public Task Loops_without_sessions_hold_up_no_end(string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        CellPlan plan = Plan(server, model) with { Sessions = 1, SessionsMax = 6, Loops = 3 };
        Assert.Equal((500, RunEnd.Completed),
            (Runs.ToEnd(plan with { Commands = 500 }).Counters.Commands, RunEnd.Completed));
        Assert.Equal(RunEnd.Completed, Runs.ToEnd(plan with { Duration = TimeSpan.FromMilliseconds(20) }).End);
        using var closing = new FakeServer(peer => peer.ReadCommands(CommandBytes));
        Assert.Equal(RunEnd.AllDisconnected, Runs.ToEnd(plan with { Target = new Target { Port = closing.Port } }).End);
    });

    [Fact(Timeout = Watchdog)]
    public Task A_loop_allocates_nothing_for_its_commands() => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        foreach ((int sessions, int depth) in ((int, int)[])[(1, 1), (3, 1), (2, 500)])
        {
            Measurement result =
                Runs.ToEnd(Plan(server, "Epoll") with { Sessions = sessions, Depth = depth, Commands = 20_000,
                    Warmup = TimeSpan.FromMilliseconds(200) });
            Assert.InRange(result.AllocatedBytes, 0, 1000);        // of the phase, whatever the count
        }
    });

    [Theory(Timeout = Watchdog)]
    [InlineData("Poisson", 1, "Epoll")]
    [InlineData("Uniform", 1, "Epoll")]
    [InlineData("Burst", 10, "Epoll")]
    [InlineData("Poisson", 1, "Portable")]
    public Task An_open_loop_sends_its_rate(string shape, int burst, string model) => Task.Run(() =>
    {
        using var server = FakeServer.Answering(CommandBytes, Value);
        var time = TimeSpan.FromMilliseconds(500);
        Measurement result = Runs.ToEnd(Plan(server, model) with
        {
            Sessions = 3, Duration = time, Arrivals =
                new ArrivalPlan { Rate = 2000, Shape = Enum.Parse<ArrivalShape>(shape), Burst = burst },
        });
        // On a loaded machine sends are late, and the last ones of the time may be missing; too many can never be sent.
        Assert.InRange(result.Counters.Sent, 1, 1100);
        Assert.Equal((result.Counters.Commands, result.Counters.Commands),
            (result.Response!.Count, result.Service.Count));
        Assert.Equal(result.Counters.Sent, result.Lag!.Count);
        Assert.True(result.Response.Max >= result.Service.Min);
    });

    /// <summary>A server that stands still for a time while the loop goes on sending: the response time counts from
    /// when each command was meant to leave, so the stall shows in a tenth of all; the service time of a closed loop
    /// hides it.</summary>
    [Fact(Timeout = Watchdog)]
    public Task A_stall_shows_in_the_response_times_of_an_open_loop_and_not_in_a_closed_one() => Task.Run(() =>
    {
        using var server = new FakeServer(peer =>
        {
            long begin = Stopwatch.GetTimestamp();
            bool stalled = false;
            while (peer.ReadCommands(CommandBytes) is > 0 and int commands)
            {
                if (!stalled && Stopwatch.GetElapsedTime(begin).TotalMilliseconds > 300)
                {
                    stalled = true;
                    Thread.Sleep(200);      // the stall is what is tested
                }

                for (int index = 0; index < commands; index++) peer.Hold(Value);
                peer.Flush();
            }
        });
        CellPlan plan = Plan(server, "Epoll") with { Duration = TimeSpan.FromSeconds(2) };
        Measurement open = Runs.ToEnd(plan with { Arrivals = new ArrivalPlan { Rate = 1000, InflightMax = 8 } });
        Assert.InRange(open.Response!.ValueAt(0.99), 150_000_000, 2_000_000_000);
        Measurement closed = Runs.ToEnd(plan);
        long stalls = closed.Service.Counts[Histogram.IndexOf(150_000_000)..].ToArray().Sum();
        Assert.InRange(stalls, 1, Math.Max(3, closed.Service.Count / 100));
        Assert.Null(closed.Response);
    });

    [Fact]
    public void Poisson_arrivals_have_the_rate_exactly_and_the_gaps_of_a_Poisson_process()
    {
        var arrivals = new Arrivals(new ArrivalPlan { Rate = 10_000 }, 0, 1, 7);
        arrivals.Begin(0);
        long count = 0, above = 0, last = 0;
        while (arrivals.Next < 5_000_000_000)
        {
            Assert.True(arrivals.Next >= last);
            if (arrivals.Next - last > 100_000) above++;
            last = arrivals.Next;
            count++;
            arrivals.Advance();
        }

        Assert.Equal(50_000, count);
        Assert.InRange((double)above / count, 0.358, 0.378);        // e^-1 = 0.368; 0.002 is one standard deviation
    }

    [Theory]
    [InlineData("Poisson", 1)]
    [InlineData("Uniform", 1)]
    [InlineData("Burst", 100)]
    public void Looking_ahead_counts_what_is_due_and_changes_no_time(string shape, int burst)
    {
        var plan = new ArrivalPlan { Rate = 1_000_000, Shape = Enum.Parse<ArrivalShape>(shape), Burst = burst };
        Arrivals plain = new(plan, 0, 1, 7), looked = new(plan, 0, 1, 7);
        plain.Begin(0);
        looked.Begin(0);
        Random random = Seed.NewRandom();
        for (long now = 0; now < 10_000_000; now += random.Next(100_000))
        {
            int due = looked.CountDue(now);
            Assert.Equal(due, looked.CountDue(now));
            for (int index = 0; index < due; index++)
            {
                Assert.InRange(plain.Next, 0, now);
                Assert.Equal(plain.Next, looked.Next);
                plain.Advance();
                looked.Advance();
            }

            if (due < Arrivals.AheadMax) Assert.True(plain.Next > now);
        }
    }

    private static void Until(Func<bool> condition)
    {
        while (!condition()) Thread.Sleep(1);       // ends, or the watchdog does it
    }

    private static CellPlan Plan(FakeServer server, string model) => new()
    {
        Target = new Target { Port = server.Port },
        Workload = FixedWorkload.Gets,
        Model = Enum.Parse<SessionModel>(model),
        Loops = 1,
    };
}
