namespace Kv.Storage;

/// <summary>The largest keys of each type, by memory and by elements, as <see cref="BigKeyWalk"/> finds them.</summary>
/// <remarks>
/// A bounded list: <see cref="KeptMax"/> keys of each type and order, twice while a walk is under way, names of at most
/// <see cref="NameBytesMax"/> bytes. What is found in one walk may be gone or smaller a moment later: so whoever asks
/// has each key measured again. Threads: upkeep publishes, any may read.
/// </remarks>
internal sealed class BigKeys(Store store)
{
    /// <summary>Keys of each type and order that are remembered; twice as many as anybody is shown, so that the list
    /// stays full until the next walk when some of them go.</summary>
    public const int KeptMax = 32;

    /// <summary>Keys of each type that anybody is shown.</summary>
    public const int ShownMax = 16;

    /// <summary>A key with a longer name is not listed.</summary>
    public const int NameBytesMax = 1022;

    private BigKey[] _found = [];
    private ValueSizes? _sizes;
    private long _walks;

    /// <summary>The keys, none twice, in no order, each as large as when it was last measured.</summary>
    // Volatile, here and below: an array that is never changed is published whole; its keys before the reference.
    public BigKey[] Found
    {
        get => Volatile.Read(ref _found);
        set => Volatile.Write(ref _found, value);
    }

    /// <summary>How many values there are of each size, as of the last whole walk; null before the first has
    /// ended.</summary>
    public ValueSizes? Sizes
    {
        get => Volatile.Read(ref _sizes);
        set => Volatile.Write(ref _sizes, value);
    }

    /// <summary>Walks that have ended.</summary>
    public long Walks
    {
        get => Volatile.Read(ref _walks);
        set => Volatile.Write(ref _walks, value);
    }

    /// <summary>The keys that are still there, each as large as it is now; one that somebody works with at this moment
    /// as large as it was.</summary>
    /// <param name="session">In a turn.</param>
    /// <remarks>Waits for nobody. Cost: less than a microsecond a key, of at most 768.</remarks>
    public List<BigKey> Measure(StoreSession session)
    {
        var table = store.Table;
        var found = Found;
        var keys = new List<BigKey>(found.Length);
        foreach (var key in found)
        {
            if (table[key.Database] is not { } database) continue;
            var look = KeySize.Look(store, database, session.Key(key.Name), session.NowMs, out var size);
            if (look != KeyLook.Gone) keys.Add(look == KeyLook.Measured ? key with { Size = size } : key);
        }

        return keys;
    }
}
