using System.Collections.Concurrent;
using System.Diagnostics;
using Kv.Lua;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Scripting;

/// <summary>What a server needs to run scripts: those it knows, machines for them, and which are running.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class ScriptEngine(KvServer server) : IDisposable
{
    // By the session of the store that they are bound to: a worker's, or a lease's.
    private readonly ConcurrentDictionary<StoreSession, IdleRuns> _idle = [];
    private readonly List<ScriptRun> _running = [];
    private long _alone, _machineBytes;
    private int _stopping, _busyWithFunction;

    public ScriptCache Cache { get; } = new(server.Commands, () => server.Options.ScriptCacheLimit,
        server.Store.ChargeManaged);

    public FunctionLibraries Functions { get; } = new(server.Commands,
        (chunk, registered, limits) =>
        {
            var run = new ScriptRun(server, server.Scripts);
            try
            {
                return run.Load(chunk, registered, limits);
            }
            finally
            {
                run.Discard();
            }
        },
        server.Store.ChargeManaged);

    /// <summary>What reads texts that take long.</summary>
    public LargeTexts Texts { get; } = new(server.Log);

    /// <summary>How often a script ran while all others stood still.</summary>
    public long Alone => Volatile.Read(ref _alone);

    /// <summary>A machine for one script; it comes back by itself.</summary>
    public ScriptRun Rent(StoreSession store)
    {
        if (!_idle.TryGetValue(store, out var idle)) idle = _idle.GetOrAdd(store, static store => new IdleRuns(store));
        var run = idle.Take() ?? new ScriptRun(server, this);
        run.Idle = idle;
        return run;
    }

    public void GiveBack(ScriptRun run, StoreSession store)
    {
        Debug.Assert(!run.Holds, "a run that is given back holds nothing");
        var idle = run.Idle!.Store == store ? run.Idle : _idle.GetOrAdd(store, static store => new IdleRuns(store));
        if (!idle.TryAdd(run)) run.Discard();
    }

    /// <summary>Bytes of all machines, each as it was measured when its last script ended, about.</summary>
    public long MachineBytes => Volatile.Read(ref _machineBytes);

    public void CountMachineBytes(long more) => Interlocked.Add(ref _machineBytes, more);

    /// <summary>Whether the server stops: scripts that take long are ended.</summary>
    // Volatile: a script looks again.
    public bool IsStopping => Volatile.Read(ref _stopping) != 0;

    public void BeginStop() => Volatile.Write(ref _stopping, 1);

    public void Dispose() => Texts.Dispose();

    /// <summary>What others are told while a script takes long that stands alone.</summary>
    public ReadOnlySpan<byte> BusyReply => IsBusyWithFunction ? ScriptErrors.BusyWithFunction : Errors.Busy;

    /// <summary>Whether the script that took long last is a function.</summary>
    // Volatile: written before others go on to ask.
    public bool IsBusyWithFunction
    {
        get => Volatile.Read(ref _busyWithFunction) != 0;
        set => Volatile.Write(ref _busyWithFunction, value ? 1 : 0);
    }

    public void CountAlone() => Interlocked.Increment(ref _alone);

    /// <summary>Makes a script known that takes more than one turn.</summary>
    public void AddRunning(ScriptRun run)
    {
        lock (_running) _running.Add(run);
    }

    /// <summary>Whether some script takes more than one turn.</summary>
    public bool IsRunningAny
    {
        get
        {
            lock (_running) return _running.Count > 0;
        }
    }

    public void RemoveRunning(ScriptRun run)
    {
        lock (_running) _running.Remove(run);
    }

    /// <summary>SCRIPT KILL and FUNCTION KILL: ends every running one that has changed nothing.</summary>
    /// <param name="isBusy">Whether one that stands alone is what all are told of.</param>
    /// <returns>Why none was ended; nothing when one was.</returns>
    public ReadOnlySpan<byte> Kill(bool isFunction, bool isBusy)
    {
        lock (_running)
        {
            var some = _running.Where(run => run.IsOfFunction == isFunction).ToList();
            if (some.Count(run => run.TryKill()) > 0) return [];
            // In the reference there is but one.
            bool hasWritten = some.Count > 0 || (isBusy && _running.Exists(run => run.HasWritten));
            return hasWritten ? ScriptErrors.Unkillable : isBusy ? BusyReply : ScriptErrors.NotBusy;
        }
    }

    /// <summary>The function that has run longest of those that take more than one turn.</summary>
    /// <returns>False: there is none.</returns>
    public bool TryFindRunning(out string name, out List<LuaString> command, out long milliseconds)
    {
        lock (_running)
        {
            foreach (var run in _running)
                if (run.TryDescribe(out name, out command, out milliseconds)) return true;
        }

        (name, command, milliseconds) = ("", [], 0);
        return false;
    }
}
