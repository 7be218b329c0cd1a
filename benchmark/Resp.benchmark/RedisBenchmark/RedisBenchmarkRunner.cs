using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.RedisBenchmark;

/// <summary>Runs the tests of redis-benchmark one after another and prints them as they end.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class RedisBenchmarkRunner(RedisBenchmarkOptions options, Surroundings surroundings)
{
    private readonly TextWriter _output = surroundings.Output;
    private readonly bool _legacy = options.Extras.RedisBenchmarkFormat == RedisBenchmarkFormat.Legacy;
    private readonly ProgressLine _line =
        new(surroundings.Output, options.Extras.RedisBenchmarkFormat == RedisBenchmarkFormat.Legacy);
    private readonly ProgressClock _clock = new();
    private ServerSettings? _settings;
    private CellWatch? _watch;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        try
        {
            _settings = FetchSettings();
            return options.Idle ? HoldIdle() : RunTests();
        }
        catch (ConnectException failed)
        {
            surroundings.Note($"Could not connect to Redis at {failed.Address}: {failed.Reason}");
            return ExitCode.RunError;
        }
        catch (TargetException refused)
        {
            surroundings.Note($"Error from server: {refused.Message}");
            return ExitCode.RunError;
        }
    }

    private int RunTests()
    {
        var tests = TestSelection.Of(options, ReadLast());
        using var watch = _watch = CellWatch.Open(options.Target, options.Clients, options.Extras, surroundings);
        if (tests.Count > 0) WarmUp.Run(PlanOf(tests[0]), surroundings.Interrupt);
        if (options.Csv && !_legacy) _output.Write(ResultText.CsvHeader);
        int exitCode;
        do
        {
            exitCode = RunAll(tests);
            if (!options.Csv && options.Command.Length == 0) _output.Write("\n");
            _output.Flush();
        }
        // ends by a signal or an error
        while (options.Loop && exitCode == ExitCode.Ok && !surroundings.Interrupt.Requested);

        return exitCode == ExitCode.Ok ? options.Extras.Finish(surroundings, Grammar.RedisBenchmark) : exitCode;
    }

    private int RunAll(IReadOnlyList<PlannedTest> tests)
    {
        foreach (var test in tests)
        {
            if (surroundings.Interrupt.Requested) return ExitCode.Ok;
            int exitCode = RunOne(test);
            if (exitCode != ExitCode.Ok) return exitCode;
        }

        return ExitCode.Ok;
    }

    private int RunOne(PlannedTest test)
    {
        var plan = PlanOf(test);
        using var run = LoadRun.Connect(plan);
        using var attached = surroundings.Interrupt.OnRequest(run.Stop);
        run.WarmUp(options.Warmup);
        using var log = CellLog.Open(options.Extras, test.Title, plan, run);
        _watch!.Begin();
        run.Begin();
        Watch(run, test.Title, log);
        var measured = run.Finish();
        var use = _watch.Stop();
        switch (measured.End)
        {
            case RunEnd.ErrorReply:
                surroundings.Note($"Error from server: {measured.Failure}");
                return ExitCode.RunError;
            case RunEnd.AllDisconnected:
                surroundings.Note("All clients disconnected... aborting.");
                return ExitCode.RunError;
            case RunEnd.BrokenReply or RunEnd.DrainTimeout:
                surroundings.Note($"Error: {measured.Failure}");
                return ExitCode.RunError;
        }

        Print(test, measured);
        _watch.Add(new CellOutcome
        {
            Op = test.Title, Plan = plan, Measurement = measured, Keys = options.KeySpace,
                Value = $"{options.DataBytes}",
            Distribution = options.Sequential ? "seq" : "uniform",
        }, use);
        return ExitCode.Ok;
    }

    private void Watch(LoadRun run, string title, CellLog log)
    {
        _line.Begin();
        bool draws = !options.Csv && options.Extras.Progress != ProgressForm.Off;
        long count = 0;
        double sum = 0;
        // Ends: with the run, which its count, its duration or a signal ends.
        while (true)
        {
            if (draws && _clock.IsDue)
            {
                var interval = run.TakeInterval();
                log.Add(interval);
                count += interval.Service.Count;
                sum += interval.Service.Sum;
                double rate = interval.Length > TimeSpan.Zero
                    ? interval.Counters.Ops / interval.Length.TotalSeconds : 0;
                double overall = run.Elapsed > TimeSpan.Zero ? run.Counters.Ops / run.Elapsed.TotalSeconds : double.NaN;
                _line.Draw(title, rate, overall, interval.Service.Mean / 1e6,
                    count == 0 ? double.NaN : sum / count / 1e6);
                _clock.Advance();
            }

            if (run.Wait(draws ? _clock.UntilDue : TimeSpan.FromSeconds(1))) break;
            if (!draws) log.Take(run);
        }

        log.Take(run);
    }

    private void Print(PlannedTest test, Measurement measured)
    {
        if (!options.Csv) _line.Clear();
        _output.Write(ResultText.Of(new TestOutcome
        {
            Title = test.Title, Requests = measured.Counters.Commands, Elapsed = measured.Elapsed,
                Latencies = measured.Service,
            PayloadBytes = test.PayloadBytes, Options = options, Settings = _settings,
        }));
        _output.Flush();
    }

    private CellPlan PlanOf(PlannedTest test) => options.Extras.Apply(new CellPlan
    {
        Target = options.Target,
        Workload = test.Workload,
        Sessions = options.Clients,
        Depth = options.Pipeline,
        Mode = DepthMode.Batch,
        Loops = Math.Max(1, options.Threads),
        Commands = options.Duration > TimeSpan.Zero ? 0 : options.Requests,
        Duration = options.Duration,
        Arrivals = options.Rate > 0 ? new ArrivalPlan { Rate = options.Rate } : null,
        AbortOnError = true,
        Reconnect = options.KeepAlive == 0,
        Seed = options.Seed,
    });

    /// <summary>The last argument from stdin; null: it is not to be read.</summary>
    private byte[]? ReadLast()
    {
        if (!options.LastFromInput || options.Command.Length == 0) return null;
        using var bytes = new MemoryStream();
        surroundings.Input.CopyTo(bytes);
        return bytes.ToArray();
    }

    private int HoldIdle()
    {
        var ping = new PlannedTest("", Workload.RedisTests.Custom(["PING"]), 0);
        using var run = LoadRun.Connect(PlanOf(ping));
        _output.Write($"Creating {options.Clients} idle connections and waiting forever (Ctrl+C when done)\n");
        do
        {
            _line.DrawIdle(options.Clients);
        }
        while (!surroundings.Interrupt.Wait(ProgressClock.Period));        // ends by a signal

        return ExitCode.Ok;
    }

    /// <summary>What the server says about its persistence; null, with a warning, when it does not.</summary>
    private ServerSettings? FetchSettings()
    {
        using var control = ControlConnection.Open(options.Target);
        if (Setting(control, "save") is { } save && Setting(control, "appendonly") is { } appendOnly)
            return new(save, appendOnly);
        surroundings.Note("WARNING: Could not fetch server CONFIG");
        return null;
    }

    private static string? Setting(ControlConnection control, string name)
    {
        var reply = control.Send("CONFIG", "GET", name);
        return !reply.IsError && reply.Elements is [_, { IsNull: false } value] ? value.Text : null;
    }
}
