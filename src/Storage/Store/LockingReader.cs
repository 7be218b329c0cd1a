using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a value where a look at it is not enough: it is being written, may have expired, or is a large
/// collection.</summary>
/// <remarks>Threads: one session's. The cold half of <see cref="StoreSession.Read"/>.</remarks>
internal sealed unsafe class LockingReader(StoreSession session, SteppedHolds holds)
{
    /// <inheritdoc cref="StoreSession.Read"/>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public StoreStatus Read<TRead>(in Key key, DataType type, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        StoreStatus status = ReadAgain(key, type, ref read);
        if (TRead.IsUse) session.CountRead(key, status);
        return status;
    }

    /// <summary>Reads under the lock what an optimistic read has failed at: it has been counted already.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public StoreStatus ReadAgain<TRead>(in Key key, DataType type, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        if (session.Transaction is { } transaction)
            return transaction.Read(session.SelectedDatabase, key, type, ref read);
        // Ends: after a few rounds the record is locked, and then nobody changes it; a dead one is found no more.
        var wait = new SpinWait();
        for (int round = 1; ; round++)
        {
            byte* record = session.Find(key);
            if (record == null) return StoreStatus.NotFound;
            ulong word = Record.ReadWord(record);
            if (RecordWord.IsDead(word)) continue;
            bool locked = round > StoreSession.OptimisticReadsMax || (word & RecordWord.Lock) != 0
                || RecordWord.HoldsRegion(word);
            if (locked)
            {
                if ((word & RecordWord.Lock) != 0 && round <= StoreSession.OptimisticReadsMax * 64)
                {
                    holds.Wait(ref wait, record, session);
                    continue;
                }

                if (!session.TryLock(record, out word)) continue;
            }

            StoreStatus status = StoreStatus.Ok;
            bool expired = Record.IsExpired(record, word, session.NowMs);
            if (expired) status = StoreStatus.NotFound;
            else if (type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(word)) != type)
                status = StoreStatus.WrongType;
            else if (locked) ReadLocked(record, word, ref read);
            else read.Read(new ValueView(record, word));

            if (locked)
            {
                if (status != StoreStatus.Ok) Record.Unlock(record, word);
            }
            else
            {
                Volatile.ReadBarrier();     // the value before the word again
                if (!RecordWord.Same(Record.ReadWord(record), word)) continue;
            }

            if (expired) ExpiredKeys.Delete(session, key);
            return status;
        }
    }

    /// <summary>Reads a large collection: under the lock.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public StoreStatus ReadRegion<TRead>(byte* record, in Key key, DataType type, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        ulong word = Record.ReadWord(record);
        if (RecordWord.IsBusy(word) || Record.IsExpired(record, word, session.NowMs) || !RecordWord.HoldsRegion(word)
            || !Record.TryLockFrom(record, word)) return ReadAgain(key, type, ref read);
        bool isRight = type == DataType.Any || ValueKinds.TypeOf(RecordWord.Kind(word)) == type;
        if (isRight) ReadLocked(record, word, ref read);
        else Record.Unlock(record, word);
        return isRight ? StoreStatus.Ok : StoreStatus.WrongType;
    }

    /// <summary>Reads a locked record and unlocks it, whatever the reader does: a reply may be larger than it may
    /// be.</summary>
    private static void ReadLocked<TRead>(byte* record, ulong word, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        Debug.Assert(Record.IsLocked(record), "the caller has locked the record");
        try
        {
            Fault.Point("read.locked");
            read.Read(new ValueView(record, word | RecordWord.Lock));
        }
        finally
        {
            Record.Unlock(record, word);
        }
    }
}
