using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads several keys as of one instant: without locks first, then with.</summary>
/// <remarks>Threads: one session's.</remarks>
internal sealed unsafe class ManyReader(StoreSession session, Store store)
{
    /// <inheritdoc cref="StoreSession.ReadMany"/>
    public void Read<TRead>(KeyList keys, ref TRead read) where TRead : struct, IManyRead, allows ref struct
    {
        if (session.Transaction != null && TryReadHeld(keys, ref read))
        {
            if (TRead.IsUse) session.Changes.Notices.NoteMiss(keys);
            return;
        }

        // Ends: after some rounds the keys are held. Without the memory for that, when writers leave them alone for a
        // round.
        for (int round = 1; ; round++)
        {
            read.Restart();
            for (int i = 0; i < keys.Count; i++)
            {
                if (i % HashIndex.Together == 0) Prefetch(keys, i);
                ReadOne(i, ref keys[i], ref read);
            }

            // Between the last read and the first check there is an instant at which all of them held.
            Volatile.ReadBarrier();
            if (StillHold(keys) || (round == StoreSession.OptimisticReadsMax && TryReadHeld(keys, ref read)))
            {
                if (TRead.IsUse) session.Changes.Notices.NoteMiss(keys);
                return;
            }

            if (round < StoreSession.OptimisticReadsMax) continue;
            session.SelectAgain();    // another table of databases is no reason to fail for ever
        }
    }

    private bool TryReadHeld<TRead>(KeyList keys, ref TRead read) where TRead : struct, IManyRead, allows ref struct
    {
        using HeldKeys held = session.Hold(keys);
        if (held.Status != StoreStatus.Ok) return false;
        read.Restart();
        for (int i = 0; i < keys.Count; i++)
        {
            keys[i].IsMissed = !held.Exists(i);
            read.Read(i, held.View(i));
        }

        return true;
    }

    private void Prefetch(KeyList keys, int first)
    {
        int count = Math.Min(HashIndex.Together, keys.Count - first);
        if (count == 1) return;
        Span<ulong> hashes = stackalloc ulong[count];
        for (int i = 0; i < count; i++) hashes[i] = keys[first + i].Hash;
        session.SelectedTable[keys[first].Database]?.Index.PrefetchAll(hashes);
    }

    private void ReadOne<TRead>(int index, ref KeyList.Entry item, ref TRead read)
        where TRead : struct, IManyRead, allows ref struct
    {
        Database? database = session.SelectedTable[item.Database];
        item.Seen = null;
        item.IsMissed = database == null;
        if (database == null)
        {
            if (TRead.IsUse) session.CountMiss(null, item.Hash);
            read.Read(index, default);
            return;
        }

        // Ends: a holder of the lock works for microseconds, or is a long command, which is then run here; a dead
        // record is found no more.
        var wait = new SpinWait();
        while (true)
        {
            byte* record = database.Index.FindSlow(item.Bytes, item.Hash, out ulong* home, out ulong control);
            item.SeenRecord = record != null;
            if (record == null)
            {
                item.IsMissed = true;
                item.Seen = (byte*)home;
                item.SeenWord = control;
                if (TRead.IsUse) session.CountMiss(database, item.Hash);
                read.Read(index, default);
                return;
            }

            ulong word = Record.ReadWord(record);
            if (!RecordWord.IsBusy(word))
            {
                item.Seen = record;
                item.SeenWord = word;
                if (TRead.IsUse) session.Uses.Count(record, word);
                item.IsMissed = Record.IsExpired(record, word, session.NowMs);
                read.Read(index, item.IsMissed ? default : new ValueView(record, word));
                return;
            }

            store.SteppedHolds.Wait(ref wait, record, session);
        }
    }

    private bool StillHold(KeyList keys)
    {
        Debug.Assert(store.Epochs.IsOnline(session.Slot), "what was seen stays for the turn");
        if (store.Table != session.SelectedTable) return false;
        foreach (ref KeyList.Entry item in keys.Items)
        {
            if (item.Seen == null) continue;
            ulong now = item.SeenRecord ? Record.ReadWord(item.Seen) : HashBucket.ReadControl((ulong*)item.Seen);
            if (item.SeenRecord ? !RecordWord.Same(now, item.SeenWord) : now != item.SeenWord) return false;
        }

        return true;
    }
}
