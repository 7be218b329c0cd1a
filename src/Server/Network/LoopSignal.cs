using System.Diagnostics;
using System.Threading.Tasks.Sources;

namespace Kv.Server.Network;

/// <summary>A signal on which one loop sleeps until anybody wakes it. Allocates nothing.</summary>
/// <remarks>
/// Threads: <see cref="Clear"/> and <see cref="WaitAsync"/> are the loop's, <see cref="Set"/> is anybody's.
/// The loop clears the signal, then looks for reasons to go on, then waits; whoever has a reason makes it visible, then
/// sets the signal. All three exchange the state, a full fence: if the loop did not see a reason, the signal was set
/// after the loop cleared it, and the wait returns at once.
/// </remarks>
internal sealed class LoopSignal : IValueTaskSource
{
    private const int None = 0, IsSet = 1, IsWaited = 2;

    private ManualResetValueTaskSourceCore<bool> _core;
    private int _state;

    public void Clear()
    {
        int before = Interlocked.Exchange(ref _state, None);
        Debug.Assert(before != IsWaited, "one loop has the signal, and it does not clear it while it waits");
    }

    public ValueTask WaitAsync()
    {
        _core.Reset();
        return Interlocked.CompareExchange(ref _state, IsWaited, None) == None
            ? new ValueTask(this, _core.Version) : ValueTask.CompletedTask;
    }

    /// <summary>Wakes the loop, now or when it next waits.</summary>
    /// <param name="here">Whether the loop may run within this call: for a caller that has nothing else to do.</param>
    public void Set(bool here = false)
    {
        // Of all who set it while the loop waits, exactly one sees that it waits.
        if (Interlocked.Exchange(ref _state, IsSet) != IsWaited) return;
        _core.RunContinuationsAsynchronously = !here;
        _core.SetResult(true);
    }

    void IValueTaskSource.GetResult(short token) => _core.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _core.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token,
        ValueTaskSourceOnCompletedFlags flags) => _core.OnCompleted(continuation, state, token, flags);
}
