using System.Diagnostics;
using System.Net.Security;

namespace Kv.Server.Network;

/// <summary>Takes from a TLS stream what an empty read of it has waited for.</summary>
/// <remarks>
/// After an empty read the stream has decrypted bytes, or is at its end: the next read waits for nothing, and so does
/// not outlive the buffer that it is given. Neither a new key nor a ticket makes it wait, and renegotiation is refused.
/// Should it wait all the same, the stream is closed, which ends it.
/// Threads: those of the loop that receives.
/// </remarks>
internal sealed unsafe class TlsInput(SslStream stream)
{
    private const int None = -1;

    private readonly NativeRoom _room = new();
    private int _ahead = None;

    /// <summary>Whether the client will send no more, and nothing is left.</summary>
    // There is no peeking: a byte that is there is kept for the next read.
    public bool IsAtEnd()
    {
        if (_ahead != None) return false;
        byte one;
        if (Read(new Span<byte>(&one, 1)) == 0) return true;
        _ahead = one;
        return false;
    }

    /// <returns>How many bytes; 0 at the end of the stream.</returns>
    public int ReadNow(Span<byte> room)
    {
        Debug.Assert(room.Length > 0, "0 is the end of the stream");
        if (_ahead == None) return Read(room);
        room[0] = (byte)_ahead;
        _ahead = None;
        return 1;
    }

    private int Read(Span<byte> room)
    {
        fixed (byte* start = room)
        {
            var read = stream.ReadAsync(_room.Of(start, room.Length));
            if (read.IsCompleted) return read.GetAwaiter().GetResult();
            Debug.Fail("something has arrived");
            stream.Dispose();
            return read.AsTask().GetAwaiter().GetResult();
        }
    }
}
