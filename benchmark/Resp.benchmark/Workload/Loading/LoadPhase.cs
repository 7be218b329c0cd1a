using Kv.Protocol;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Workload;

/// <summary>Writes a data set, then looks whether the server has it.</summary>
/// <remarks>Threads: the controlling thread's, but for <see cref="Stop"/>.</remarks>
internal sealed class LoadPhase(Target target, LoadPlan plan)
{
    private const int SamplesMax = 1000;
    private const long SampleBytesMax = 64 * 1024 * 1024;

    private readonly Lock _lock = new();
    private LoadRun? _run;
    private bool _stopped;

    public LoadPlan Plan => plan;

    /// <summary>Ends the load early; any thread, also before it began.</summary>
    public void Stop()
    {
        lock (_lock)
        {
            _stopped = true;
            _run?.Stop();
        }
    }

    /// <summary>Loads and checks.</summary>
    /// <param name="progress">Called with what was done so far every <paramref name="period"/>; null: never.</param>
    /// <exception cref="ConnectException">A connection could not be made.</exception>
    /// <exception cref="TargetException">The server refused a handshake, or the connection for the check.</exception>
    public LoadOutcome Run(Action<RunCounters>? progress = null, TimeSpan? period = null, int loops = 0, ulong seed = 1)
    {
        Measurement measured = Write(progress, period ?? TimeSpan.FromMilliseconds(250), loops, seed);
        List<string> warnings = [.. Complaints(measured)];
        if (plan.IsCut)
        {
            warnings.Add($"batches of {plan.BatchKeys} pairs are {plan.BatchBytes} bytes: sent as MSETs of "
                + $"{plan.PairsPerCommand} pairs, at most 16 MiB each");
        }

        long? stored = null;
        if (measured.End == RunEnd.Completed)
        {
            using ControlConnection control = ControlConnection.Open(target);
            RespValue size = control.Send("DBSIZE");
            if (!size.IsError) stored = size.Integer;
            if (plan.Format is not null) warnings.AddRange(Check(control, stored, seed));
        }

        return new LoadOutcome(measured, stored, warnings);
    }

    private Measurement Write(Action<RunCounters>? progress, TimeSpan period, int loops, ulong seed)
    {
        using LoadRun run = LoadRun.Connect(new CellPlan
        {
            Target = target, Workload = plan.Workload, Sessions = plan.Sessions, Depth = plan.Depth, Loops = loops,
                Seed = seed,
            Drain = TimeSpan.FromMinutes(1),
        });
        lock (_lock)
        {
            _run = run;
            if (_stopped) run.Stop();
        }

        try
        {
            run.Begin();
            while (!run.Wait(period)) progress?.Invoke(run.Counters);
            return run.Finish();
        }
        finally
        {
            lock (_lock) _run = null;
        }
    }

    private static IEnumerable<string> Complaints(Measurement measured)
    {
        if (measured.End != RunEnd.Completed)
            yield return $"the load did not end well: {measured.Failure ?? measured.End.ToString()}";
        foreach (ErrorClass error in measured.Errors)
            yield return $"{error.Count} commands of the load failed: {error.FirstText}";
        if (measured.Counters.Mismatches > 0)
            yield return $"{measured.Counters.Mismatches} replies to the load had a wrong type";
    }

    /// <summary>Compares the count of keys, and reads some: from all parts of the key space, at random within
    /// each.</summary>
    private IEnumerable<string> Check(ControlConnection control, long? stored, ulong seed)
    {
        if (stored is null) yield return "DBSIZE is not answered: it is not known whether all keys are there";
        else if (stored != plan.Keys) yield return $"DBSIZE is {stored}, {plan.Keys} keys were loaded";

        long fitting = (long)(SampleBytesMax / Math.Max(1, plan.ValueBytes));
        long samples = Math.Min(plan.Keys, Math.Clamp(fitting, 1, SamplesMax));
        var generator = new Xoshiro256(seed);
        long missing = 0, wrong = 0;
        string? refused = null;
        for (int sample = 0; sample < samples && refused is null; sample++)
        {
            (long begin, long length) = Slice.Of(plan.Keys, (int)samples, sample);
            long key = begin + generator.Below(length);
            RespValue reply = control.Send("GET", plan.Format!.NameOf(key));
            if (reply.IsError) refused = reply.Text;
            else if (reply.IsNull) missing++;
            else if (plan.Verifier is { } verifier && !verifier.Check(key, reply.Bytes)) wrong++;
        }

        if (refused is not null) yield return $"a key that was loaded cannot be read: {refused}";
        if (missing > 0) yield return $"{missing} of {samples} sampled keys are missing";
        if (wrong > 0) yield return $"{wrong} of {samples} sampled values are not what was loaded";
    }
}

/// <summary>What a load gave.</summary>
/// <param name="Stored">DBSIZE afterwards; null: not known.</param>
/// <param name="Warnings">What stderr should say.</param>
internal sealed record LoadOutcome(Measurement Measurement, long? Stored, IReadOnlyList<string> Warnings)
{
    public bool IsComplete => Measurement.End == RunEnd.Completed && Measurement.Counters.Errors == 0;
}
