namespace Kv.Storage;

/// <summary>The keys that a session's transaction holds. While it does, the session's operations are done here, on what
/// is held.</summary>
/// <remarks>Threads: one session's. The word in memory keeps the lock bit throughout, so that everybody else
/// waits.</remarks>
internal sealed unsafe class TransactionKeys(StoreSession session, RecordChanges changes, SteppedHolds longHolds)
{
    /// <summary>The keys themselves.</summary>
    public KeyLocks Locks { get; } = new(session, changes, longHolds);

    /// <summary>What those wait for whose keys it has changed.</summary>
    public KeyArrivals Arrivals => changes.Notices.Arrivals;

    /// <summary>Unix milliseconds of the transaction.</summary>
    public long NowMs => changes.NowMs;

    /// <summary>The databases that they were locked in.</summary>
    public Database?[] Table => Locks.Table;

    /// <summary>A mistake in a command's row, which costs that command only.</summary>
    public static InvalidOperationException NotHeld() =>
        new("A command of a transaction uses a key that its row does not name.");

    /// <inheritdoc cref="StoreSession.Read"/>
    public StoreStatus Read<TRead>(Database? database, in Key key, DataType type, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        ref HeldRecord held = ref Find(database, key);
        if (!held.Exists) return StoreStatus.NotFound;
        if (type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(held.Word)) != type) return StoreStatus.WrongType;
        read.Read(held.View);
        return StoreStatus.Ok;
    }

    /// <inheritdoc cref="StoreSession.Update"/>
    public StoreStatus Update<TUpdate>(Database? database, in Key key, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        ref HeldRecord held = ref Find(database, key);
        try
        {
            return changes.Apply(ref held, type, ref update);
        }
        finally
        {
            Record.WriteWord(held.Record, held.Word | RecordWord.Lock);     // views go by the word in memory
        }
    }

    /// <inheritdoc cref="StoreSession.Hold(in Key, DataType, int)"/>
    public HeldKey Hold(Database? database, scoped in Key key, DataType type, int expectedBytes)
    {
        ref HeldRecord held = ref Find(database, key);
        var status = StoreStatus.Ok;
        if (!held.Exists)
            status = expectedBytes == HeldKey.OnlyIfThere ? StoreStatus.NotFound : StoreStatus.Ok;
        else if (type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(held.Word)) != type)
            status = StoreStatus.WrongType;
        return new HeldKey(session, status, ref held);
    }

    /// <inheritdoc cref="StoreSession.Delete"/>
    public bool Delete(Database? database, in Key key)
    {
        ref HeldRecord held = ref Find(database, key);
        if (!held.Exists) return false;
        changes.MakeAbsent(ref held);
        Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
        return true;
    }

    /// <summary>What is held of a key; one whose time has passed is absent from here on.</summary>
    /// <exception cref="InvalidOperationException">It is not held.</exception>
    public ref HeldRecord Find(Database? database, scoped in Key key) => ref Locks[PlaceOf(database, key)];

    /// <summary>Which of the <see cref="Locks"/> that is.</summary>
    /// <inheritdoc cref="Find"/>
    public int PlaceOf(Database? database, scoped in Key key)
    {
        int index = database == null ? -1 : Locks.IndexOf(database, key);
        if (index < 0) throw NotHeld();
        ref HeldRecord held = ref Locks[index];
        if (held.Exists && Record.IsExpired(held.Record, held.Word, changes.NowMs)) changes.Expire(ref held);
        return index;
    }
}
