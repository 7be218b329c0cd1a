using System.Net.Security;

namespace Kv.Server.Network;

/// <summary>Gives a TLS stream replies straight from where they were written, without a copy.</summary>
/// <remarks>
/// Of a write of at most <see cref="BytesMax"/> the stream encrypts all before it sends anything: it needs the bytes no
/// longer when the call returns, even if what was encrypted waits for the socket. Nothing makes it put the encryption
/// off, as renegotiation is refused. Should it look at the bytes later all the same, it finds them gone, and the
/// connection breaks.
/// Threads: one writer at a time, as the stream's.
/// </remarks>
internal sealed unsafe class TlsOutput(SslStream stream)
{
    /// <summary>Two full records: as many as the stream gives the socket at once.</summary>
    public const int BytesMax = 32 * 1024;

    private readonly NativeRoom _room = new();

    /// <returns>Completed when the socket has taken all.</returns>
    public ValueTask WriteAsync(byte* start, int length)
    {
        try
        {
            return stream.WriteAsync(_room.Of(start, length));
        }
        catch (Exception exception)
        {
            return ValueTask.FromException(exception);      // closed meanwhile
        }
        finally
        {
            _room.End();
        }
    }
}
