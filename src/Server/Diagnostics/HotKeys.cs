namespace Kv.Server.Diagnostics;

/// <summary>Which keys are used most of late, by all workers (<see cref="HotKeyTable"/>).</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class HotKeys(TimeProvider time)
{
    /// <summary>Keys that anybody is shown.</summary>
    public const int ShownMax = 128;

    private readonly Lock _guard = new();
    private HotKeyTable[] _tables = [];
    private uint _created;

    /// <summary>Milliseconds of a clock that never goes back: a wall clock that is set back would stand still here for
    /// as long, and the rates would be those of a millisecond.</summary>
    public long NowMs => time.GetElapsedTime(0).Ticks / TimeSpan.TicksPerMillisecond;

    /// <summary>A table for a worker, until <see cref="Remove"/>.</summary>
    public HotKeyTable Create()
    {
        // A copy for each change, so that readers need no lock; workers are few.
        lock (_guard)
        {
            var table = new HotKeyTable(NowMs, ++_created);
            Volatile.Write(ref _tables, [.. _tables, table]);
            return table;
        }
    }

    public void Remove(HotKeyTable table)
    {
        lock (_guard) Volatile.Write(ref _tables, Array.FindAll(_tables, other => other != table));
    }

    /// <summary>The keys of all workers.</summary>
    public HotKeyReading Read()
    {
        var sum = new Dictionary<ulong, HotKey>();
        double total = 0;
        long now = NowMs;
        foreach (var table in Volatile.Read(ref _tables)) total += table.AddTo(sum, now);
        return new HotKeyReading([.. sum.Values], total);
    }

    /// <summary>How often a key was used of late, as OBJECT FREQ says it.</summary>
    /// <returns>From 0 to 255: ten times the binary logarithm of its uses and one.</returns>
    public int FrequencyOf(ulong hash, int database, int nameBytes)
    {
        double uses = 0;
        long now = NowMs;
        foreach (var table in Volatile.Read(ref _tables)) uses += table.UsesOf(hash, database, nameBytes, now);
        return (int)Math.Min(byte.MaxValue, 10 * Math.Log2(1 + uses));
    }

    /// <summary>Forgets all that was counted (CONFIG RESETSTAT).</summary>
    public void Reset()
    {
        long now = NowMs;
        foreach (var table in Volatile.Read(ref _tables)) table.Reset(now);
    }
}
