using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

// GET and SET of strings that are held as bytes, without a lock or with one for no longer than it takes to copy them.
public sealed unsafe partial class StoreSession
{
    /// <summary>The value that the look-ahead found, if nothing about it is unusual: a string that is held as
    /// bytes.</summary>
    /// <param name="hint">The record that the look-ahead found for the key.</param>
    /// <returns>What it finds is valid when <see cref="FoundString.IsUnchanged"/> after its use. Not found proves
    /// nothing.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal FoundString FindString(ulong hint, byte* key, int length)
    {
        return hint == 0 | !_selected.HintsHold ? default : FoundString.In(_log.Pointer(hint), key, length, NowMs);
    }

    /// <summary>Overwrites a string that was found, and its expiry, if it is still as it was and the new one takes the
    /// same space.</summary>
    /// <param name="hash">The key's.</param>
    /// <param name="expiryMs">Unix ms or -1. A string that has no expiry gets its first one elsewhere: there is no room
    /// for it.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryOverwrite(in FoundString found, byte* value, int length, ulong hash,
        long expiryMs = NewValue.NoExpiry)
    {
        byte* record = found.Record;
        ulong word = found.Word;
        bool hasSlot = (word & RecordWord.HasExpiry) != 0;
        if (((found.Offset + length + 7) & ~7) != ((found.Offset + found.Length + 7) & ~7)
            || (expiryMs != NewValue.NoExpiry & !hasSlot)) return false;
        if (!Record.TryLockFrom(record, word)) return false;
        if (_watches.IsAny && (_watches.Concerns(hash) || _watches.Tells(Record.KeyOf(record, word)))
            && !TryNoteChange(record, word, hash))
        {
            Record.Unlock(record, word);
            return false;
        }

        Record.CopyBytes(record + found.Offset, value, length);
        if (hasSlot) _changes.Counts.MoveExpiry(_selected.Database!, record, expiryMs);
        Record.WriteWord(record, RecordWord.WithValue(_uses.Counted(word), ValueKind.String, length));     // unlocks
        _changes.Touch(record);
        return true;
    }

    /// <summary>Plain SET: the value as a string, without expiry, whatever was there.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public StoreStatus Set(in Key key, ReadOnlySpan<byte> value)
    {
        byte* record = Locate(key);
        return TryOverwrite(record, key, value, NewValue.NoExpiry)
            ? StoreStatus.Ok : SetSlow(record, key, value, NewValue.NoExpiry);
    }

    /// <summary>The common case of a SET: over a string of the same padded size, with room for the expiry.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool TryOverwrite(byte* record, in Key key, ReadOnlySpan<byte> value, long expiryMs)
    {
        if (record == null) return false;
        fixed (byte* name = key.Bytes, bytes = value)
        {
            FoundString found = FoundString.In(record, name, key.Bytes.Length, NowMs);
            return found.Exists && TryOverwrite(found, bytes, value.Length, key.Hash, expiryMs);
        }
    }

    /// <summary>Tells those who watch the key of a record that is locked.</summary>
    /// <returns>False: what it becomes has to be told when it is done, which is elsewhere.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryNoteChange(byte* record, ulong word, ulong hash)
    {
        if (_changes.Notices.IsMute) return false;
        var key = new Key(Record.KeyOf(record, word), hash);
        Debug.Assert(hash == _hash.Of(key.Bytes), "the hash is the key's: who is told goes by it");
        _changes.Notices.NoteOverwrite(_selected.Database!, _selected.Number, key, record, word);
        return true;
    }

    /// <summary>Sets a string with an expiry (unix ms or -1), from bytes or, if not none, a block that the store shares
    /// from now on.</summary>
    public StoreStatus Set(in Key key, ReadOnlySpan<byte> value, Block block, long expiryMs)
    {
        byte* record = Locate(key);
        return block.IsNone && TryOverwrite(record, key, value, expiryMs)
            ? StoreStatus.Ok : SetSlow(record, key, value, expiryMs, block);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private StoreStatus SetSlow(byte* record, in Key key, ReadOnlySpan<byte> value, long expiryMs,
        Block block = default)
    {
        var update = new SetString(value, block, expiryMs);
        return Update(record, key, DataType.Any, ref update);
    }
}
