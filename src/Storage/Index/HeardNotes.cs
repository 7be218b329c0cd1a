namespace Kv.Storage;

/// <summary>Which notes of all keys somebody listens to (<see cref="IKeyListener"/>).</summary>
[Flags]
internal enum HeardNotes
{
    None = 0,

    /// <summary>All that commands do: each write has to say what it changes.</summary>
    Changes = 1 << 0,

    /// <summary>Keys that are gone without a command: expired or evicted.</summary>
    Ends = 1 << 1,

    /// <summary>Reads that find no key.</summary>
    Misses = 1 << 2,
}
