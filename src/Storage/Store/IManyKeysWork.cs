namespace Kv.Storage;

/// <summary>What is done to each of very many keys.</summary>
internal enum ManyKeysAction : byte
{
    Read,
    Set,
    Delete,
}

/// <summary>A command over very many keys: its keys, its values, and what takes its result.</summary>
/// <remarks>Threads: any, one at a time. Keys and values stay where they are until the command has ended.</remarks>
internal unsafe interface IManyKeysWork : ISessionUser
{
    ManyKeysAction Action { get; }

    /// <summary>Set: nothing, if one of the keys is there.</summary>
    bool OnlyIfNoneExists { get; }

    /// <summary>A key's first byte.</summary>
    byte* Key(int index, out int length);

    /// <summary>Bytes of the value that a key is to get.</summary>
    int ValueBytes(int index);

    /// <summary>The value that a key is to get, and its block if it has one.</summary>
    ReadOnlySpan<byte> Value(int index, out Block block);

    /// <summary>Brings the values that some keys are to get into the cache.</summary>
    void PrefetchValues(ReadOnlySpan<int> indexes);

    /// <summary>Begins a step of reading.</summary>
    void BeginReading();

    /// <summary>Whether one more value may be read in this step; the first one always may.</summary>
    bool MayReadMore { get; }

    /// <summary>Everything read so far is void.</summary>
    void Restart();

    /// <summary>Takes a value, in the order of the keys; as in <see cref="IManyRead.Read"/>.</summary>
    void Read(int index, in ValueView value);

    /// <summary>One more key was there, and is no more.</summary>
    void CountDeleted();
}
