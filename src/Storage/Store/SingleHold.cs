using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The one key that a session holds outside of transactions, for the caller alone.</summary>
/// <remarks>Threads: the session's. Others who want the key wait meanwhile.</remarks>
internal sealed unsafe class SingleHold(StoreSession session, RecordChanges changes, KeyLocks locks, Store store)
{
    private HeldRecord _held;

    /// <summary>Whether a key is held, in builds with assertions.</summary>
    public bool SeesHeld { get; private set; }

    /// <inheritdoc cref="StoreSession.Hold(in Key, DataType, int)"/>
    public HeldKey Hold(scoped in Key key, DataType type, int expectedBytes)
    {
        Debug.Assert(session.Transaction == null, "a transaction holds its keys already");
        Debug.Assert(expectedBytes >= HeldKey.OnlyIfThere, "a value has a length");
        Debug.Assert(!SeesHeld, "a session holds one single key at a time");
        byte* record = session.Locate(key);
        // Ends: a round is repeated only when the record died or another session inserted the key in this very moment.
        while (true)
        {
            if (record == null)
            {
                if (expectedBytes == HeldKey.OnlyIfThere) return With(StoreStatus.NotFound);
                if (session.SelectedOrNew() is not { } database) return With(StoreStatus.OutOfMemory);
                if (key.Bytes.Length > Store.KeyBytesMax) return With(StoreStatus.TooLarge);
                var status = changes.HoldAbsent(database, key, Math.Max(8, expectedBytes), ref _held, out bool again);
                if (!again) return With(status);
            }
            else if (session.TryLock(record, out ulong word))
            {
                return With(HoldLocked(record, word, key, type, expectedBytes));
            }

            record = session.Find(key);
        }
    }

    /// <returns>Not Ok: nothing is held any more.</returns>
    private StoreStatus HoldLocked(byte* record, ulong word, in Key key, DataType type, int expectedBytes)
    {
        Debug.Assert(Record.IsLocked(record), "the caller has locked the record");
        session.SnapshotWait.Await(record, word, key.Hash);
        _held = session.HeldOf(record, session.Uses.Counted(word), key);
        if (Record.IsExpired(record, word, session.NowMs))
        {
            if (expectedBytes == HeldKey.OnlyIfThere && store.IsExpiryHeld)
            {
                Record.Unlock(record, word);
                return StoreStatus.NotFound;
            }

            changes.Expire(ref _held);
        }

        if (_held.Exists)
        {
            if (type == DataType.Any || ValueKinds.TypeOf(RecordWord.Kind(word)) == type) return StoreStatus.Ok;
            Record.Unlock(record, word);
            return StoreStatus.WrongType;
        }

        if (expectedBytes != HeldKey.OnlyIfThere)
        {
            changes.HeldAbsent++;
            return StoreStatus.Ok;
        }

        changes.LetGo(ref _held);
        return StoreStatus.NotFound;
    }

    private HeldKey With(StoreStatus status)
    {
        See(status == StoreStatus.Ok);
        return new(session, status, ref _held);
    }

    [Conditional("DEBUG")]
    private void See(bool isHeld) => SeesHeld = isHeld;

    /// <summary>Lets go of it; of a transaction's key that was looked at by itself when the transaction ends.</summary>
    public void LetGo(ref HeldRecord held)
    {
        if (session.Transaction != null)
        {
            Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
            return;
        }

        See(false);
        if (held.Record == null) return;        // others have the lock now
        changes.LetGo(ref held);
        changes.HeldAbsent = 0;
    }

    /// <summary>Has work on it done in steps: what the caller holds goes over to that.</summary>
    /// <returns>Null when that cannot be just now: the caller holds the key as before.</returns>
    public IHeldSteps? TryBeginUse(ref HeldRecord held, IHeldUse use)
    {
        Debug.Assert(held.Record != null && Record.IsLocked(held.Record), "the key is held");
        if (session.Transaction != null) return new BorrowedUse(session, ref held, use);
        locks.TakeOver(held);
        session.Keys.SetToHeld();
        var begun = locks.TryBeginUse(session.Keys, use);
        if (begun != null) held.Record = null;
        else locks.GiveBack();
        return begun;
    }
}
