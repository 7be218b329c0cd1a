using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Garnet;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Reports;

namespace RespBenchmark.Suites;

/// <summary>The rows of Garnet's online mode for the cells of a suite, made while they run.</summary>
internal sealed class OnlineRecord(TimeProvider clock, Interrupt interrupt)
{
    private readonly Dictionary<(CellAxis Axis, string Target), Block> _blocks = [];

    /// <summary>Adds an interval of a cell.</summary>
    public void Add(CellAxis axis, Target target, IntervalSample sample)
    {
        if (!_blocks.TryGetValue((axis, target.Name), out Block? block))
            _blocks[(axis, target.Name)] = block = new Block(clock, interrupt);
        block.Add(sample);
    }

    /// <summary>A cell's rows; empty: it was not run.</summary>
    public string RowsOf(CellAxis axis, string target) =>
        _blocks.TryGetValue((axis, target), out Block? block) ? block.Text() : "";

    private sealed class Block
    {
        private readonly StringWriter _text = new() { NewLine = "\n" };
        private readonly OnlineRows _rows;
        private readonly Histogram _latencies = new();
        private long _ops;
        private TimeSpan _time;

        public Block(TimeProvider clock, Interrupt interrupt) => _rows = new OnlineRows(new GarnetOptions(),
            new Surroundings { Output = _text, Errors = TextWriter.Null, Interrupt = interrupt,
                Clock = clock }, log: null);

        public void Add(IntervalSample sample)
        {
            _latencies.Add(sample.Service);
            _ops += sample.Counters.Ops;
            _time += sample.Length;
            // Intervals end a little late; half of one less is still this row's.
            if (_time + (sample.Length / 2) >= OnlineRows.Period) Row();
        }

        public string Text()
        {
            if (_time > TimeSpan.Zero && _ops > 0) Row();
            return _text.ToString();
        }

        private void Row()
        {
            _rows.Add(_latencies, _ops, _time);
            _latencies.Reset();
            (_ops, _time) = (0, TimeSpan.Zero);
        }
    }
}
