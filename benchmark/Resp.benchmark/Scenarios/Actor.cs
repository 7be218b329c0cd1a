using Kv.Protocol;

namespace RespBenchmark.Scenarios;

/// <summary>One connection's part in a scenario: what it sends, and what it makes of each reply.</summary>
/// <remarks>Threads: its loop's. Those that must tell each other something are of one group, and a group is of one
/// loop.</remarks>
internal abstract class Actor(ScenarioRecorder recorder)
{
    public RequestBuffer Requests { get; } = new();

    /// <summary>What messages call it: publisher, subscriber.</summary>
    public abstract string Role { get; }

    /// <summary>Whether it may begin one more operation; false for who only waits for others.</summary>
    public virtual bool CanBegin => false;

    /// <summary>Operations begun and not ended: waited for when sending has ended.</summary>
    public virtual int Outstanding => 0;

    /// <summary>Set when others may begin: a subscriber's subscriptions are confirmed.</summary>
    public virtual bool IsReady => true;

    /// <summary>The loop's: an operation ended by another's doing, so that a next one may begin.</summary>
    public Action? Freed { get; set; }

    protected ScenarioRecorder Recorder { get; } = recorder;

    /// <summary>Adds what it sends before any operation.</summary>
    public virtual void Prepare()
    {
    }

    /// <summary>Adds the requests of one operation.</summary>
    /// <param name="intended">When it was due; in a closed loop, now.</param>
    public virtual void Begin(long intended, long now) =>
        throw new InvalidOperationException($"a {Role} begins nothing");

    /// <summary>Takes one reply or push.</summary>
    /// <returns>Null; or why the scenario cannot go on.</returns>
    public abstract string? Receive(RespValue reply, long now);
}

/// <summary>When an operation was due and when it left, in nanoseconds of the clock.</summary>
internal readonly record struct Departure(long Intended, long Sent);
