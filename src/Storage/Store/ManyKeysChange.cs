using System.Diagnostics;

namespace Kv.Storage;

/// <summary>What a command over very many keys does to one of them that is held, whoever holds it: the command itself
/// (<see cref="KeysHold"/>) or its transaction (<see cref="BorrowedKeys"/>).</summary>
internal static unsafe class ManyKeysChange
{
    /// <summary>Gets all that the change of a key needs; nothing changes yet.</summary>
    /// <param name="index">Which of the command's keys it is.</param>
    /// <returns>Ok; NotFound: the command is to change nothing, since the key is there; or why it cannot.</returns>
    public static StoreStatus Prepare(IManyKeysWork work, RecordChanges changes, ref HeldRecord held, int index)
    {
        Debug.Assert(Record.IsLocked(held.Record), "the key is held");
        if (work.OnlyIfNoneExists && held.Exists) return StoreStatus.NotFound;
        if (work.Action != ManyKeysAction.Set) return StoreStatus.Ok;
        var value = work.Value(index, out Block block);
        return changes.PrepareString(ref held, value, block);
    }

    /// <summary>Makes the change, which cannot fail. The key stays held.</summary>
    public static void Finish(IManyKeysWork work, RecordChanges changes, ref HeldRecord held, int index)
    {
        Debug.Assert(Record.IsLocked(held.Record) && work.Action != ManyKeysAction.Read, "a held key is changed");
        if (work.Action == ManyKeysAction.Set)
        {
            changes.FinishString(ref held, work.Value(index, out _));
        }
        else if (held.Exists)
        {
            changes.MakeAbsent(ref held);
            work.CountDeleted();
        }

        Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
    }
}
