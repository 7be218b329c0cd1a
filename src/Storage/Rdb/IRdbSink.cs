namespace Kv.Storage;

/// <summary>Gets what an RDB file has, in its order.</summary>
internal interface IRdbSink
{
    /// <summary>Something about the file.</summary>
    void Note(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value);

    /// <summary>A library of functions.</summary>
    void AddLibrary(ReadOnlySpan<byte> text);

    /// <summary>The keys from here on are of this database, which there is.</summary>
    void BeginDatabase(int number);

    /// <summary>About as many keys come in it.</summary>
    void Expect(long keys);

    /// <summary>A key that comes soon: what it needs may be fetched. It may not come after all.</summary>
    void Foresee(ReadOnlySpan<byte> key)
    {
    }

    /// <summary>A key; what is not taken of its value is freed after the call.</summary>
    /// <param name="expiryMs">Unix milliseconds, perhaps over, or -1.</param>
    /// <param name="use">How much it was used.</param>
    /// <returns>False: there is such a key already.</returns>
    bool TryAdd(ReadOnlySpan<byte> key, ref RdbValue value, long expiryMs, RdbUse use);
}
