using System.Collections.Concurrent;
using System.Text;
using Kv.Server.Metrics;

namespace Kv.Server.Execution;

/// <summary>What all workers of a server have counted.</summary>
/// <remarks>Threads: any. Sums are as of no single instant: each counter is some recent value.</remarks>
internal sealed class ServerCounters(int commands)
{
    /// <summary>How many kinds of errors are counted by name; the rest count as OTHER. A limit, since scripts can make
    /// up kinds.</summary>
    private const int ErrorKindsMax = 128;

    private const int CodeLettersMax = 32;
    private const string OtherCode = "OTHER";

    private readonly Lock _guard = new();
    private readonly ConcurrentBag<WorkerCounters> _spare = [];
    private readonly ConcurrentDictionary<string, StrongBox> _errors = new();
    private WorkerCounters[] _all = [];
    private bool _tracksLatency;
    private long _outputLimitCloses, _inputLimitCloses, _authTimeouts, _changesBefore;

    /// <summary>Counters of a new worker.</summary>
    public WorkerCounters Create()
    {
        // A copy for each change, so that readers need no lock; workers are few.
        lock (_guard)
        {
            var counters = new WorkerCounters(commands) { TracksLatency = _tracksLatency };
            Volatile.Write(ref _all, [.. _all, counters]);
            return counters;
        }
    }

    /// <summary>Begins or stops to keep histograms of how long commands take. What there is stays.</summary>
    public void TrackLatency(bool tracks)
    {
        lock (_guard)
        {
            _tracksLatency = tracks;
            foreach (var worker in All) worker.TracksLatency = tracks;
        }
    }

    /// <summary>Counters for work outside of any worker, until <see cref="GiveBack"/>.</summary>
    public WorkerCounters Borrow() => _spare.TryTake(out var counters) ? counters : Create();

    /// <summary>Takes borrowed counters back, with what they have counted.</summary>
    public void GiveBack(WorkerCounters counters) => _spare.Add(counters);

    public ReadOnlySpan<WorkerCounters> All => Volatile.Read(ref _all);

    /// <summary>Clients closed because of client-output-buffer-limit.</summary>
    public long OutputLimitCloses => Volatile.Read(ref _outputLimitCloses);

    /// <summary>Clients closed because of client-query-buffer-limit, or the lower limit before AUTH.</summary>
    public long InputLimitCloses => Volatile.Read(ref _inputLimitCloses);

    /// <summary>Clients closed because of auth-timeout.</summary>
    public long AuthTimeouts => Volatile.Read(ref _authTimeouts);

    /// <summary>Adds one counter up over all workers.</summary>
    public long Sum(Func<WorkerCounters, long> counter)
    {
        long sum = 0;
        foreach (var worker in All) sum += counter(worker);
        return sum;
    }

    /// <summary>Changes since the start, over all workers: see <see cref="ChangeRule"/>.</summary>
    public long Changes(CommandTable commands)
    {
        long changes = Volatile.Read(ref _changesBefore) + Sum(static worker => worker.Changes);
        foreach (var command in commands.All)
        {
            Add(command);
            foreach (var subcommand in command.Subcommands) Add(subcommand);
        }

        return changes;

        void Add(Command command)
        {
            if ((command.Flags & CommandFlags.Write) == 0 || command.Changes != null) return;
            foreach (var worker in All)
            {
                ref var counts = ref worker.ByCommand[command.Id];
                changes += counts.Calls - counts.Failed;
            }
        }
    }

    /// <summary>The counts of one command over all workers.</summary>
    public CommandCounts SumOf(Command command)
    {
        var sum = new CommandCounts();
        foreach (var worker in All) sum.Add(worker.ByCommand[command.Id]);
        return sum;
    }

    /// <summary>How long the calls of one command took over all workers; empty for a command that was not
    /// called.</summary>
    public LatencyHistogram LatenciesOf(Command command)
    {
        var sum = new LatencyHistogram();
        foreach (var worker in All) worker.ByCommand[command.Id].AddLatenciesTo(sum);
        return sum;
    }

    /// <summary>How often errors with each first word were written.</summary>
    public IEnumerable<(string Code, long Count)> Errors =>
        _errors.Select(pair => (pair.Key, Volatile.Read(ref pair.Value.Value)));

    /// <param name="code">Empty of an error of a script that begins with a space: Redis counts it so, too.</param>
    public void CountError(ReadOnlySpan<byte> code)
    {
        // A string is made for the first error of a kind only: no garbage for a client that does everything wrong.
        Span<char> letters = stackalloc char[CodeLettersMax];
        ReadOnlySpan<char> name = code.Length <= CodeLettersMax
            ? letters[..Encoding.Latin1.GetChars(code, letters)] : OtherCode;
        if (!_errors.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(name, out var count))
        {
            if (_errors.Count >= ErrorKindsMax) name = OtherCode;
            count = _errors.GetOrAdd(name.ToString(), static _ => new StrongBox());
        }

        // Interlocked: workers share the count, and errors are rare.
        Interlocked.Increment(ref count.Value);
    }

    /// <summary>Begins to count anew, but for <see cref="Changes"/>.</summary>
    public void Reset(CommandTable commands)
    {
        Volatile.Write(ref _changesBefore, Changes(commands));
        foreach (var worker in All) worker.Reset();
        _errors.Clear();
        Volatile.Write(ref _outputLimitCloses, 0);
        Volatile.Write(ref _inputLimitCloses, 0);
        Volatile.Write(ref _authTimeouts, 0);
    }

    internal void CountInputLimitClose() => Interlocked.Increment(ref _inputLimitCloses);

    internal void CountAuthTimeout() => Interlocked.Increment(ref _authTimeouts);

    internal void CountOutputLimitClose() => Interlocked.Increment(ref _outputLimitCloses);

    private sealed class StrongBox
    {
        public long Value;
    }
}
