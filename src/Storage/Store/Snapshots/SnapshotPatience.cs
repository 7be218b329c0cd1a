using System.Globalization;

namespace Kv.Storage;

/// <summary>Gives up a snapshot that writers wait for and whose file gets nothing any more: a disk that takes nothing
/// is no reason to wait for ever.</summary>
/// <remarks>Threads: one at a time, the round's.</remarks>
internal sealed class SnapshotPatience(Store store)
{
    /// <summary>Longer than a disk that works takes for a piece (<see cref="RdbFileWriter"/>), even a slow one that
    /// others write to.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromSeconds(10);

    private readonly TimeProvider _time = store.Options.Time;
    private StoreSnapshot? _snapshot;
    private long _bytes, _since;

    /// <summary>Looks once. Call it in each round, before keys are evicted: what the snapshot has pinned is no room to
    /// come once it is given up.</summary>
    public void Look()
    {
        var snapshot = store.Snapshot;
        long bytes = snapshot?.WrittenBytes ?? 0;
        if (snapshot == null || snapshot != _snapshot || bytes != _bytes)
        {
            (_snapshot, _bytes, _since) = (snapshot, bytes, _time.GetTimestamp());
            return;
        }

        if (!store.AwaitsSnapshot || _time.GetElapsedTime(_since) < Longest) return;
        snapshot.Fail(new IOException(string.Create(CultureInfo.InvariantCulture,
            $"its file has got nothing for {Longest.TotalSeconds} seconds, while writers waited for that")));
        store.Options.SnapshotGivenUp?.Invoke(bytes);
    }
}
