namespace Kv.Storage;

/// <summary>A key as an operation needs it: its bytes, their hash, and what a look-ahead found.</summary>
/// <remarks>
/// Make one with <see cref="StoreSession.Key(ReadOnlySpan{byte})"/>. The hint is the record's address in the log that a
/// probe of this turn found, or 0. It is only ever a hint: an operation checks that the record is alive, unlocked and
/// has this key before it uses it, else it probes again.
/// </remarks>
public readonly ref struct Key
{
    internal Key(ReadOnlySpan<byte> bytes, ulong hash, ulong hint = 0)
    {
        Bytes = bytes;
        Hash = hash;
        Hint = hint;
    }

    /// <summary>The key itself, 0 to 512 MB of any bytes.</summary>
    public ReadOnlySpan<byte> Bytes { get; }

    internal ulong Hash { get; }

    internal ulong Hint { get; }
}
