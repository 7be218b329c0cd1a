using RespBenchmark.Engine;
using RespBenchmark.Workload;

namespace RespBenchmark.Measure;

/// <summary>The .hlog and .hgrm files of one cell: a line for each kind of command and second, however often the run is
/// asked for its intervals.</summary>
/// <remarks>Threads: the controlling one.</remarks>
internal sealed class IntervalLog : IDisposable
{
    private readonly HdrFiles _files;
    private readonly TimeSpan _interval;
    private readonly string[] _tags;
    private readonly Histogram[] _kinds;
    private TimeSpan _start, _length;

    /// <param name="interval">Lines are at least so long, but for the last.</param>
    /// <param name="kinds">Of the run's workload, whose intervals must be split.</param>
    /// <exception cref="IOException">The files cannot be made.</exception>
    public IntervalLog(HdrFiles files, TimeSpan interval, IReadOnlyList<CommandKind> kinds)
    {
        (_files, _interval) = (files, interval);
        _tags = [.. kinds.Select(kind => kind.Name)];
        _kinds = [.. kinds.Select(_ => new Histogram())];
    }

    /// <summary>Adds what a run measured since it was asked last.</summary>
    public void Add(in IntervalSample sample)
    {
        if (_length == TimeSpan.Zero) _start = sample.Start;
        _length += sample.Length;
        for (int kind = 0; kind < _kinds.Length; kind++) _kinds[kind].Add(sample.Kinds[kind]);
        if (_length >= _interval) Write();
    }

    /// <summary>Writes what is left, and the percentiles of all.</summary>
    public void Dispose()
    {
        Write();
        _files.Dispose();
    }

    private void Write()
    {
        for (int kind = 0; kind < _kinds.Length; kind++)
        {
            if (_kinds[kind].Count == 0) continue;
            _files.Add(_tags[kind], _start, _length, _kinds[kind]);
            _kinds[kind].Reset();
        }

        _length = TimeSpan.Zero;
    }
}
