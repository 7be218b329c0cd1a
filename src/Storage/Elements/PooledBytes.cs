using System.Buffers;

namespace Kv.Storage;

/// <summary>A copy of bytes of the store, in an array of the shared pool. Whoever gets one disposes it, once.</summary>
/// <remarks>A struct, so that nothing is allocated: do not dispose two copies of it. The default one is empty and may
/// be disposed.</remarks>
public struct PooledBytes : IElementRead, IDisposable
{
    private byte[]? _array;

    /// <summary>How many there are.</summary>
    public int Length { get; private set; }

    /// <summary>The bytes, until this is disposed.</summary>
    public readonly ReadOnlySpan<byte> Span => _array.AsSpan(0, Length);

    /// <summary>The bytes, to be kept across an await, until this is disposed.</summary>
    public readonly ReadOnlyMemory<byte> Memory => _array.AsMemory(0, Length);

    /// <summary>Copies bytes in, in the place of what was there.</summary>
    public void Read(ReadOnlySpan<byte> element)
    {
        if (_array == null || _array.Length < element.Length)
        {
            Dispose();
            _array = ArrayPool<byte>.Shared.Rent(element.Length);
        }

        element.CopyTo(_array);
        Length = element.Length;
    }

    /// <summary>Gives the array back; what <see cref="Span"/> and <see cref="Memory"/> gave is void.</summary>
    public void Dispose()
    {
        if (_array != null) ArrayPool<byte>.Shared.Return(_array);
        _array = null;
        Length = 0;
    }
}
