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

    // No more than four fields: a local copy of these is kept in registers.
    private readonly ulong _head, _tail, _mask;
    private readonly int _least;

    public KeyPrefix(ReadOnlySpan<byte> text)
    {
        Debug.Assert(text.Length <= BytesMax, "two words have all of it");
        Span<byte> padded = stackalloc byte[BytesMax];
        padded.Clear();
        text.CopyTo(padded);
        _mask = text.Length >= sizeof(ulong) ? ulong.MaxValue : (1UL << (8 * text.Length)) - 1;
        _head = Word(padded);
        _least = Math.Max(text.Length, sizeof(ulong));
        _tail = Word(padded[TailAt..]) & _mask;
    }

    /// <summary>Where the second word begins in a key.</summary>
    public int TailAt => _least - sizeof(ulong);

    /// <summary>Whether a key begins like this for sure.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Begins(ReadOnlySpan<byte> key) =>
        IsLongEnough(key.Length) && Begins(Word(key), Word(key[TailAt..]));

    /// <summary>Whether a key has both words.</summary>
    public bool IsLongEnough(int bytes) => bytes >= _least;

    /// <summary>Whether a key begins like this, whose words, the first one and the one at <see cref="TailAt"/>, the
    /// caller has read.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Begins(ulong head, ulong tail) => (((head & _mask) ^ _head) | ((tail & _mask) ^ _tail)) == 0;

    private static ulong Word(ReadOnlySpan<byte> bytes) => BinaryPrimitives.ReadUInt64LittleEndian(bytes);
}
