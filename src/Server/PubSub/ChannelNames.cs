using System.Runtime.InteropServices;

namespace Kv.Server.PubSub;

/// <summary>Compares names of channels as bytes, so that a name still in the receive buffer finds its channel without a copy.</summary>
internal sealed class ChannelNames : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly ChannelNames Comparer = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);
    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);
    public int GetHashCode(byte[] name) => Hash(name);
    public int GetHashCode(ReadOnlySpan<byte> alternate) => Hash(alternate);
    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    /// <summary>Keyed: names come from clients, and must not be chosen to collide.</summary>
    /// <remarks>The runtime's hash of text is the one it offers with a secret of the process and a design against chosen
    /// collisions. It takes 16-bit units: the odd last byte is added to the length, which keeps names of all lengths apart.</remarks>
    public static int Hash(ReadOnlySpan<byte> name)
    {
        int even = string.GetHashCode(MemoryMarshal.Cast<byte, char>(name));
        return (name.Length & 1) == 0 ? even : HashCode.Combine(even, name[^1]);
    }
}
