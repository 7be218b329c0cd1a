namespace Kv.Tests.Storage;

/// <summary>A clock that stands still until the test moves it.</summary>
internal sealed class TestClock : TimeProvider
{
    private long _ms = 1_700_000_000_000;

    public long Ms
    {
        get => Volatile.Read(ref _ms);
        set => Volatile.Write(ref _ms, value);
    }

    public void Advance(long ms) => Interlocked.Add(ref _ms, ms);

    public override long TimestampFrequency => 1000;

    public override long GetTimestamp() => Ms;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.FromUnixTimeMilliseconds(Ms);
}
