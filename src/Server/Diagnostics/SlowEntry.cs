namespace Kv.Server.Diagnostics;

/// <summary>One command that was slow. Immutable.</summary>
/// <param name="Id">Grows by one with each entry, and is never used again.</param>
/// <param name="UnixSeconds">When the command ended.</param>
/// <param name="Microseconds">How long it ran, without waiting.</param>
/// <param name="Arguments">The name and the arguments, from <see cref="SlowLog.Record"/>.</param>
/// <param name="Address">The client's.</param>
/// <param name="Name">The client's; empty for none.</param>
internal sealed record SlowEntry(long Id, long UnixSeconds, long Microseconds, byte[] Arguments, string Address,
    byte[] Name)
{
    /// <summary>The entry, the head of its arguments' array and its place in the queue. Address and name are the
    /// session's own, which may be gone by then: their heads and bytes are counted, too.</summary>
    private const int FixedBytes = 72 + 24 + 8 + 24 + 24;

    /// <summary>Bytes of the managed heap.</summary>
    public long Bytes => FixedBytes + Arguments.Length + (2 * Address.Length) + Name.Length;
}
