using System.Buffers.Binary;
using System.Net;

namespace Kv.Server.Network;

//  struct sockaddr of Linux:
//   family 2 | port 2, big endian | IPv4 address 4                                  family 2
//   family 2 | port 2, big endian | flow 4 | IPv6 address 16 | scope 4              family 10
//   family 2 | path                                                                 family 1

/// <summary>An address of a socket, as the kernel returns it.</summary>
internal readonly struct SocketAddress
{
    public const int BytesMax = 128;
    private const int Inet = 2, Inet6 = 10;

    private readonly IPEndPoint? _endpoint;

    public SocketAddress(ReadOnlySpan<byte> bytes)
    {
        int family = bytes.Length >= 2 ? BitConverter.ToUInt16(bytes) : 0;
        if (family == Inet && bytes.Length >= 8)
            _endpoint = new IPEndPoint(new IPAddress(bytes.Slice(4, 4)),
                BinaryPrimitives.ReadUInt16BigEndian(bytes[2..]));
        else if (family == Inet6 && bytes.Length >= 28)
            _endpoint = new IPEndPoint(new IPAddress(bytes.Slice(8, 16)),
                BinaryPrimitives.ReadUInt16BigEndian(bytes[2..]));
    }

    public bool IsTcp => _endpoint != null;

    /// <summary>Whether it is on this machine: loopback, or not TCP at all.</summary>
    public bool IsLocal => _endpoint == null || IPAddress.IsLoopback(_endpoint.Address)
        || (_endpoint.Address.IsIPv4MappedToIPv6 && IPAddress.IsLoopback(_endpoint.Address.MapToIPv4()));

    public override string ToString() => _endpoint?.ToString() ?? "";
}
