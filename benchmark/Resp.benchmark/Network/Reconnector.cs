using System.Net;
using System.Runtime.InteropServices;

namespace RespBenchmark.Network;

/// <summary>Makes connection after connection without waiting and without allocating: for a new connection a
/// request.</summary>
internal sealed unsafe class Reconnector
{
    private readonly byte[] _address;
    private readonly byte[]? _from;
    private readonly int _family;
    private readonly bool _tcp;
    private readonly byte[] _handshake;

    public Reconnector(Target target, Dialer dialer)
    {
        EndPoint point = dialer.EndPoints[0];
        SocketAddress address = point.Serialize();
        _address = address.Buffer.Span[..address.Size].ToArray();
        _family = _address[0] | (_address[1] << 8);
        _tcp = point is IPEndPoint;
        if (target.From is { } from && _tcp)
        {
            SocketAddress local = new IPEndPoint(from, 0).Serialize();
            _from = local.Buffer.Span[..local.Size].ToArray();
        }

        _handshake = dialer.Handshake.Bytes;
        HandshakeReplies = dialer.Handshake.Replies;
    }

    /// <summary>What is sent first on each, and how many replies that has.</summary>
    public ReadOnlySpan<byte> Handshake => _handshake;

    public int HandshakeReplies { get; }

    /// <summary>Begins a connection; it is made when its descriptor can be written to.</summary>
    /// <returns>0, or the error number, and no descriptor (-1).</returns>
    public int Open(out int descriptor)
    {
        descriptor = Libc.socket(_family, Libc.SockStream | Libc.SockNonBlock | Libc.SockCloseOnExec, 0);
        if (descriptor < 0) return Marshal.GetLastPInvokeError();
        if (_tcp) SocketOptions.SetNoDelay(descriptor);
        int result = 0;
        if (_from is not null)
        {
            fixed (byte* local = _from) result = Libc.bind(descriptor, local, (uint)_from.Length);
        }

        if (result == 0)
        {
            fixed (byte* address = _address) result = Libc.connect(descriptor, address, (uint)_address.Length);
        }

        int error = result == 0 ? 0 : Marshal.GetLastPInvokeError();
        if (error is 0 or Libc.EInProgress) return 0;
        Libc.close(descriptor);
        descriptor = -1;
        return error;
    }
}
