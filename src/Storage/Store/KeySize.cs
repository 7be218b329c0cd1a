namespace Kv.Storage;

/// <summary>What a look at the size of a key has found.</summary>
internal enum KeyLook
{
    /// <summary>The key is there, and this is its size.</summary>
    Measured,

    /// <summary>There is no such key.</summary>
    Gone,

    /// <summary>Somebody else works with it at this moment.</summary>
    InUse,
}

/// <summary>How large a key is.</summary>
/// <param name="Type">Of its value.</param>
/// <param name="Bytes">Of key and value, with header, block or region, and the entry in the index.</param>
/// <param name="Elements">Of a collection; of a string its bytes.</param>
internal readonly record struct KeySize(DataType Type, long Bytes, long Elements)
{
    /// <summary>What a key takes in the index.</summary>
    public const int IndexEntryBytes = 8;

    /// <summary>Measures a key without waiting for anybody: not even for a transaction of the caller's own that holds
    /// it.</summary>
    /// <remarks>Threads: any, in a turn of a session. The record is locked for some 100 ns.</remarks>
    public static unsafe KeyLook Look(Store store, Database database, in Key key, long nowMs, out KeySize size)
    {
        size = default;
        byte* record = database.Index.Find(key.Bytes, key.Hash);
        return record == null ? KeyLook.Gone : Look(store, record, nowMs, out size);
    }

    /// <summary>Measures the key of a record, likewise.</summary>
    public static unsafe KeyLook Look(Store store, byte* record, long nowMs, out KeySize size)
    {
        size = default;
        ulong word = Record.ReadWord(record);
        // A dead one may have been replaced in this very moment.
        if (RecordWord.IsBusy(word)) return KeyLook.InUse;
        if (Record.IsExpired(record, word, nowMs)) return KeyLook.Gone;
        if (!Record.TryLockFrom(record, word)) return KeyLook.InUse;
        try
        {
            var value = new ValueView(record, word | RecordWord.Lock);
            size = new KeySize(value.Type, value.FootprintBytes + IndexEntryBytes, ElementsOf(store, value));
            return KeyLook.Measured;
        }
        finally
        {
            Record.Unlock(record, word);
        }
    }

    /// <summary>Elements of a collection that is locked; bytes of a string.</summary>
    private static unsafe long ElementsOf(Store store, in ValueView value) => value.Kind switch
    {
        ValueKind.PackedList => ListLeaf.CountIn(value.Content, value.ContentBytes),
        ValueKind.PackedHash => value.Run.Count / 2,
        ValueKind.PackedSet or ValueKind.PackedSortedSet => value.Run.Count,
        ValueKind.IntegerSet => value.IntegerSet.Count,
        ValueKind.List => new LargeList(value.Region).Count,
        ValueKind.Hash or ValueKind.Set or ValueKind.SortedSet =>
            new MemberTable(value.Region, in store.Hash).Count,
        ValueKind.Stream => new LargeStream(value.Region).Length,
        _ => value.StringLength,
    };
}
