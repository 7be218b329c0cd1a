using System.Diagnostics;

namespace Kv.Storage;

//   wanted:   | key | key | ...        by who is about to change it, or the walk
//   current:  lock, a piece, unlock, to the file;  lock, a piece, unlock, to the file; ...  kept
//                                  |
//                                  readers; who cannot wait for it, before its change: lock, the rest, kept, change

/// <summary>Large collections that a snapshot has yet to keep: the walk keeps one after the other, in steps, between
/// which others have its key.</summary>
/// <remarks>
/// Each piece is written under the lock of the key's record, and nobody changes the key before all of it is kept: who
/// wants to (<see cref="TryAwait"/>) lets go of it and comes again, and who cannot come again writes the rest
/// (<see cref="TryEnd"/>), under the same lock. So all pieces are of one value, the one at the instant. Reclaim may
/// move the record meanwhile, and readers read it.
/// Threads: any wants, one walks. <see cref="_current"/> is set by the walk; what an owner of a record asks is whether
/// that key is the current one, which was said under the lock that it has now, or is not so.
/// </remarks>
internal sealed unsafe class LargeKeys(StoreSnapshot snapshot, ISnapshotSink sink)
{
    /// <summary>What is less is kept at once: some 4,096 elements, half a millisecond.</summary>
    private const long BytesMin = 128 * 1024;

    private readonly Lock _lock = new();
    private readonly Queue<LargeKey> _wanted = [];
    private readonly HashSet<(SnapshotPart Part, ulong Hash)> _known = [];
    private LargeKey? _current;
    private int _count;

    /// <summary>Whether any is wanted. From any thread.</summary>
    // Volatile, and orders nothing: the walk looks again a turn later.
    public bool IsAny => Volatile.Read(ref _count) != 0;

    /// <summary>Whether the value of a locked record is kept in steps.</summary>
    public static bool Has(byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "nobody moves what is looked at");
        return RecordWord.HoldsRegion(word) && Record.RegionOf(record, word).TouchedBytes >= BytesMin;
    }

    /// <summary>Has a key kept ahead of its turn.</summary>
    /// <param name="key">Its bytes; they are copied.</param>
    public void Want(SnapshotPart part, ulong hash, ReadOnlySpan<byte> key)
    {
        lock (_lock)
        {
            if (!_known.Add((part, hash))) return;
            _wanted.Enqueue(new LargeKey(part, hash, key.ToArray()));
            Volatile.Write(ref _count, _wanted.Count);
        }
    }

    /// <summary>Writes the rest of a key that the walk is keeping, by the owner of its record.</summary>
    /// <returns>False when it is not that key.</returns>
    public bool TryEnd(SnapshotPart part, ulong hash, byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "what is kept stands still");
        // Volatile: if it is this key, the walk has set it before it locked the record for the last time.
        if (Volatile.Read(ref _current) is not { } current || current.Part != part || current.Hash != hash
            || !Record.KeyOf(record, word).SequenceEqual(current.Bytes)) return false;
        var value = new ValueView(record, Record.ReadWord(record));
        // Ends: each round writes a piece.
        while (!sink.KeepSome(part.Number, current.Bytes, value))
        {
        }

        return true;
    }

    /// <summary>Keeps all that are wanted. By the walk, offline.</summary>
    public void KeepAll(StoreSession session)
    {
        // Ends: a key is wanted once, and those that are large at the instant have a number.
        while (TryTake(out var key))
        {
            Volatile.Write(ref _current, key);
            bool isDone = false;
            // Ends: each round keeps a piece.
            while (!isDone && snapshot.Failure == null)
            {
                session.BeginTurn();
                isDone = TryKeepSome(key, session);
                session.GoOffline();
                sink.MoveSome();
                Thread.Yield();     // as in the walk
            }

            Volatile.Write(ref _current, null);
        }
    }

    private bool TryTake(out LargeKey key)
    {
        lock (_lock)
        {
            bool isThere = _wanted.TryDequeue(out key!);
            Volatile.Write(ref _count, _wanted.Count);
            return isThere;
        }
    }

    /// <summary>Keeps a piece of the current key.</summary>
    /// <returns>True when it is kept.</returns>
    private bool TryKeepSome(LargeKey key, StoreSession session)
    {
        SnapshotPart part = key.Part;
        Debug.Assert(ReferenceEquals(Volatile.Read(ref _current), key), "one key at a time is kept in steps");
        if (part.HasPassed(key.Hash)) return true;
        var index = part.Database.Index;
        // Ends: a round is repeated only when the record died in this very moment; a key that is gone was kept by who
        // deleted it.
        while (index.Find(key.Bytes, key.Hash) is var record && record != null)
        {
            if (!session.TryLock(record, out ulong word)) continue;
            try
            {
                if (part.Kept.Has(key.Hash)) return true;
                if (!sink.KeepSome(part.Number, key.Bytes, new ValueView(record, word | RecordWord.Lock))) return false;
                part.Kept.Add(key.Hash);
            }
            catch (Exception exception)
            {
                snapshot.Fail(exception);       // whatever it is
            }
            finally
            {
                Record.WriteWord(record, word);     // as it was: readers have nothing to notice
            }

            return true;
        }

        return true;
    }

    private sealed record LargeKey(SnapshotPart Part, ulong Hash, byte[] Bytes);
}
