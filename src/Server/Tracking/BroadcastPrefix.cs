namespace Kv.Server.Tracking;

/// <summary>How some keys begin, and who is told of all of them.</summary>
/// <remarks>Threads: <see cref="Clients"/> under the lock on themselves. 10,000 clients of one prefix join and leave in
/// the time of one.</remarks>
internal sealed class BroadcastPrefix(byte[] name)
{
    /// <summary>Bytes of the managed heap for this object, its name and its places in maps.</summary>
    public int Bytes => 256 + Name.Length;

    public byte[] Name { get; } = name;

    public HashSet<ITrackingClient> Clients { get; } = [];
}
