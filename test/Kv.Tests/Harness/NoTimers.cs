namespace Kv.Tests.Harness;

/// <summary>Time whose timers never tick: the test does what they would.</summary>
public sealed class NoTimers : TimeProvider
{
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
        new Never();

    private sealed class Never : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => true;

        public void Dispose()
        {
            // There is none.
        }

        public ValueTask DisposeAsync() => default;
    }
}
