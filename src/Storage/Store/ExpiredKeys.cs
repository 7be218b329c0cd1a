using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Removes keys whose time has passed, where somebody has come across them.</summary>
/// <remarks>Threads: that of the session.</remarks>
internal static unsafe class ExpiredKeys
{
    /// <summary>Removes a key of the selected database whose time has passed, if that is still so and nothing holds it
    /// up (CLIENT PAUSE).</summary>
    /// <returns>Whether it was removed.</returns>
    public static bool Delete(StoreSession session, in Key key)
    {
        if (session.Changes.Store.IsExpiryHeld) return false;
        byte* record = session.Find(key);
        if (record == null || !session.TryLock(record, out ulong word)) return false;
        if (session.SnapshotWait.TryAwait(session.SelectedDatabase!, record, word, key.Hash))
        {
            Record.WriteWord(record, word);     // as it was; whoever comes later removes it
            return false;
        }

        return End(session, session.HeldOf(record, word, key));
    }

    /// <summary>Removes a key of any database if its time has passed and nobody has it locked: never waits.</summary>
    public static void TryDelete(StoreSession session, Database database, in Key key)
    {
        byte* record = database.Index.Find(key.Bytes, key.Hash);
        if (record == null) return;
        ulong word = Record.ReadWord(record);
        if (RecordWord.IsBusy(word) || !Record.TryLockFrom(record, word)) return;
        End(session, new HeldRecord { Database = database, Record = record, Word = word, Hash = key.Hash });
    }

    private static bool End(StoreSession session, HeldRecord held)
    {
        Debug.Assert(Record.IsLocked(held.Record), "the caller has locked the record");
        bool isExpired = Record.IsExpired(held.Record, held.Word, session.NowMs);
        if (isExpired) session.Changes.Expire(ref held);
        session.Changes.LetGo(ref held);
        return isExpired;
    }
}
