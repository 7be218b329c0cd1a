using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Server.Users;

/// <summary>How the keys of a pattern begin, in two words that are compared at once. Immutable.</summary>
/// <remarks>The words are the first and the last eight bytes of the prefix, which overlap unless it has 16. It says yes
/// or "look closer", never no: keys of less than a word are for whoever asks.</remarks>
internal readonly struct KeyPrefix
{
    /// <summary>A longer prefix does not fit into two words.</summary>
    public const int BytesMax = 2 * sizeof(ulong);

    private readonly ulong _head, _tail, _mask;
    private readonly int _tailAt, _least;

    public KeyPrefix(ReadOnlySpan<byte> text)
    {
        Debug.Assert(text.Length <= BytesMax, "two words have all of it");
        Span<byte> padded = stackalloc byte[BytesMax];
        padded.Clear();
        text.CopyTo(padded);
        _tailAt = Math.Max(text.Length - sizeof(ulong), 0);
        _mask = text.Length >= sizeof(ulong) ? ulong.MaxValue : (1UL << (8 * text.Length)) - 1;
        _head = Word(padded);
        _tail = Word(padded[_tailAt..]) & _mask;
        _least = Math.Max(text.Length, sizeof(ulong));
    }

    /// <summary>Whether a key begins like this for sure.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Begins(ReadOnlySpan<byte> key) =>
        key.Length >= _least
        && (((Word(key) & _mask) ^ _head) | ((Word(key[_tailAt..]) & _mask) ^ _tail)) == 0;

    private static ulong Word(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadUInt64LittleEndian(bytes);
}
