namespace Kv.Server.Scripting;

//   Harmless --> Written     it changes something, and runs to its end
//       +------> Killed      somebody wanted its end before it did

/// <summary>What has become of a script: only one that has changed nothing can be killed.</summary>
/// <remarks>Threads: any may kill; it begins and writes on the one that runs the script.</remarks>
internal sealed class ScriptFate
{
    private const int Harmless = 0, Written = 1, Killed = 2;

    private int _state;

    /// <summary>Whether it has changed something, perhaps.</summary>
    public bool HasWritten => Volatile.Read(ref _state) == Written;

    public bool IsKilled => Volatile.Read(ref _state) == Killed;

    /// <summary>Another script begins.</summary>
    public void Begin() => Volatile.Write(ref _state, Harmless);

    /// <summary>It is about to change something.</summary>
    /// <returns>False: it has been killed.</returns>
    // Interlocked, here and below: exactly one of the two is first.
    public bool TryWrite() =>
        _state == Written || Interlocked.CompareExchange(ref _state, Written, Harmless) != Killed;

    /// <summary>Somebody wants its end.</summary>
    /// <returns>False: it has changed something.</returns>
    public bool TryKill() => Interlocked.CompareExchange(ref _state, Killed, Harmless) != Written;
}
