using System.Collections.Concurrent;

namespace Kv.Storage;

/// <summary>Large collections that have lost most of their elements, and keep the memory: one after another gets a region of its size.</summary>
/// <remarks>
/// Threads: any may note one, with its key locked; the store's own works on them. Who needs a key meanwhile ends the work on it, which
/// is tried again in later rounds, but not for ever: a collection that is always asked for keeps its memory, for its next elements.
/// </remarks>
internal sealed class SparseRegions(Store store)
{
    private const int RoundsMax = 16;

    private readonly ConcurrentQueue<Noted> _noted = new();

    private readonly record struct Noted(Database Database, byte[] Key, int Rounds);

    /// <summary>Notes a collection, once.</summary>
    public void Note(Database database, ReadOnlySpan<byte> key) => _noted.Enqueue(new Noted(database, key.ToArray(), 0));

    /// <summary>Works on those that are noted.</summary>
    public void Run(StoreSession session)
    {
        // Ends: as many as there are now.
        for (int left = _noted.Count; left > 0 && _noted.TryDequeue(out var noted); left--)
        {
            if (noted.Database.IsDropped) continue;
            session.Use(noted.Database);
            using var rebuild = new RegionRebuild(store);
            if (!TryRebuild(session, noted.Key, rebuild) && noted.Rounds < RoundsMax) _noted.Enqueue(noted with { Rounds = noted.Rounds + 1 });
            session.Tick();
        }
    }

    private static bool TryRebuild(StoreSession session, byte[] key, RegionRebuild rebuild)
    {
        LongUse? use;
        using (var held = session.Hold(session.Key(key), DataType.Any))
        {
            if (held.Status != StoreStatus.Ok) return true;
            if (!RegionRebuild.IsWanted(held.Value))
            {
                // It has been filled again meanwhile, and may become sparse once more.
                if (held.Value.HoldsRegion) held.Value.Region.IsNotedAsSparse = false;
                return true;
            }

            use = held.TryBeginUse(rebuild);
        }

        if (use == null) return false;
        // Ends: each step gets on, or somebody has ended it.
        while (!use.Step())
        {
        }

        return rebuild.IsDone && use.Failure == null;
    }
}
