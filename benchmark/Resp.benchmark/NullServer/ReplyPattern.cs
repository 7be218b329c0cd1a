using System.Runtime.InteropServices;

namespace RespBenchmark.NullServer;

/// <summary>One reply, many times over in native memory: a run of equal replies is sent from it without being
/// built.</summary>
internal sealed unsafe class ReplyPattern : IDisposable
{
    private const int PatternBytes = 256 * 1024;

    private readonly byte* _bytes;

    public ReplyPattern(ReadOnlySpan<byte> reply)
    {
        ReplyBytes = reply.Length;
        Length = Math.Max(1, PatternBytes / reply.Length) * reply.Length;
        _bytes = (byte*)NativeMemory.Alloc((nuint)Length);
        for (int at = 0; at < Length; at += reply.Length) reply.CopyTo(new Span<byte>(_bytes + at, reply.Length));
    }

    /// <summary>Bytes of one reply.</summary>
    public int ReplyBytes { get; }

    /// <summary>Bytes of all copies.</summary>
    public int Length { get; }

    public ReadOnlySpan<byte> Reply => new(_bytes, ReplyBytes);

    /// <summary>What to send next of a run of which <paramref name="bytesLeft"/> are to be sent.</summary>
    public ReadOnlySpan<byte> Next(long bytesLeft)
    {
        // A run ends with a whole reply, so the bytes left say how far into a reply it is.
        int into = (int)((ReplyBytes - (bytesLeft % ReplyBytes)) % ReplyBytes);
        return new ReadOnlySpan<byte>(_bytes + into, (int)Math.Min(bytesLeft, Length - into));
    }

    public void Dispose() => NativeMemory.Free(_bytes);
}
