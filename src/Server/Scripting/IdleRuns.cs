using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Scripting;

/// <summary>Machines of one session of the store that wait for a script.</summary>
/// <remarks>Threads: any; a script that a thread of the pool has ended comes back from there.</remarks>
internal sealed class IdleRuns(StoreSession store)
{
    /// <summary>Of many that ran at once on a worker more would be rare, and take memory.</summary>
    private const int RunsMax = 7;

    private readonly Lock _change = new();
    private readonly ScriptRun?[] _runs = new ScriptRun?[RunsMax];
    private ScriptRun? _next;
    private int _count;

    /// <summary>Whose they are.</summary>
    public StoreSession Store { get; } = store;

    /// <summary>Takes one, or null.</summary>
    // Interlocked, here and below: a machine has one user, who sees all that the last one has left. The lock is for
    // those beyond the first only, since mostly one script runs at a time.
    public ScriptRun? Take()
    {
        if (Interlocked.Exchange(ref _next, null) is { } next) return next;
        lock (_change)
        {
            if (_count == 0) return null;
            var run = _runs[--_count];
            Debug.Assert(run != null, "there are as many as are counted");
            _runs[_count] = null;
            return run;
        }
    }

    /// <returns>False when there are enough.</returns>
    public bool TryAdd(ScriptRun run)
    {
        if (Interlocked.CompareExchange(ref _next, run, null) == null) return true;
        lock (_change)
        {
            if (_count == RunsMax) return false;
            _runs[_count++] = run;
            return true;
        }
    }
}
