using System.Buffers;

namespace Kv.Server.Network;

/// <summary>Native memory for a call that takes a <see cref="Memory{T}"/>; for as long as that call lasts.</summary>
/// <remarks>Threads: the caller's.</remarks>
internal sealed unsafe class NativeRoom : MemoryManager<byte>
{
    private byte* _start;
    private int _length;

    public Memory<byte> Of(byte* start, int length)
    {
        _start = start;
        _length = length;
        return CreateMemory(length);
    }

    /// <summary>The memory is no longer to be used: who does all the same gets an exception.</summary>
    public void End() => _start = null;

    public override Span<byte> GetSpan() =>
        _start != null ? new(_start, _length) : throw new ObjectDisposedException(nameof(NativeRoom));

    public override MemoryHandle Pin(int elementIndex = 0) => new(_start + elementIndex);

    public override void Unpin()
    {
        // It never moves.
    }

    protected override void Dispose(bool disposing)
    {
        // The memory is somebody else's.
    }
}
