using System.Runtime.InteropServices;

namespace Kv.Server.PubSub;

/// <summary>Compares names of channels as bytes: a name still in the receive buffer finds its channel without a
/// copy.</summary>
internal sealed class ChannelNames : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly ChannelNames Comparer = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);
    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);
    public int GetHashCode(byte[] name) => Hash(name);
    public int GetHashCode(ReadOnlySpan<byte> alternate) => Hash(alternate);
    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    /// <summary>Keyed: names come from clients, and must not be chosen to collide.</summary>
    /// <remarks>The runtime's hash of text is the one it offers that has a secret of the process and withstands chosen
    /// collisions. It takes 16-bit units; an odd last byte is mixed in afterwards.</remarks>
    public static int Hash(ReadOnlySpan<byte> name)
    {
        int even = string.GetHashCode(MemoryMarshal.Cast<byte, char>(name));
        return (name.Length & 1) == 0 ? even : HashCode.Combine(even, name[^1]);
    }
}
