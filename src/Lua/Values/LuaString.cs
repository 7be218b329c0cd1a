using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Kv.Lua;

/// <summary>A string of Lua: any bytes, never changed while anybody can have it.</summary>
/// <remarks>Threads: any number of machines may share one. The hash is computed when it is first asked for: two threads
/// that do it at once store the same number.</remarks>
public sealed class LuaString : IEquatable<LuaString>
{
    /// <summary>What a string costs beside its bytes: two objects, their headers, two lengths, hash and mark.</summary>
    internal const int OverheadBytes = 64;

    // Of those that belong to no script, and so are no script's memory.
    private const int SharedWalk = -1;

    public static readonly LuaString Empty = new([]);

    private readonly byte[] _bytes;
    private int _length, _hash, _walk;

    /// <summary>Takes the array over: the caller does not change it any more.</summary>
    internal LuaString(byte[] bytes) => (_bytes, _length) = (bytes, bytes.Length);

    /// <summary>A string with a copy of the bytes.</summary>
    public LuaString(ReadOnlySpan<byte> bytes)
        : this(bytes.ToArray())
    {
    }

    /// <summary>A string with the text's UTF-8 bytes.</summary>
    public LuaString(string text)
        : this(Encoding.UTF8.GetBytes(text))
    {
    }

    /// <summary>The one object for a name of the host's that scripts write, too: comparing it with theirs is comparing
    /// references.</summary>
    public static LuaString Name(string name) => CommonStrings.Add(name);

    /// <summary>A string of a text that has a character for each byte.</summary>
    internal static LuaString OfBytes(string text) => new(Encoding.Latin1.GetBytes(text));

    public int Length => _length;

    // Without a check, which every look at a string would pay for: the length is never more than there is room for.
    public ReadOnlySpan<byte> Span =>
        MemoryMarshal.CreateReadOnlySpan(ref MemoryMarshal.GetArrayDataReference(_bytes), _length);

    /// <summary>The bytes, to be copied later.</summary>
    internal ReadOnlyMemory<byte> Memory => _bytes.AsMemory(0, _length);

    /// <summary>A string for <see cref="Change"/>, with room for <paramref name="bytes"/> bytes.</summary>
    internal static LuaString WithRoom(int bytes) => new(new byte[bytes]);

    /// <summary>Gives it other bytes, for which it has room. Only where nobody has it any more.</summary>
    internal void Change(ReadOnlySpan<byte> bytes)
    {
        Debug.Assert(_walk != SharedWalk, "what is shared never changes");
        bytes.CopyTo(_bytes);
        (_length, _hash) = (bytes.Length, 0);
    }

    /// <summary>Marks it as a constant of a chunk, or a name of the host's: no walk counts it.</summary>
    internal LuaString Share()
    {
        _walk = SharedWalk;
        return this;
    }

    /// <summary>Whether a walk over a machine's memory meets it for the first time.</summary>
    /// <remarks>What the host shares among machines without saying so may be counted by one more than once: no two
    /// walks of the process have one number.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryMark(int walk)
    {
        if (_walk == walk || _walk == SharedWalk) return false;
        _walk = walk;
        return true;
    }

    /// <summary>The hash of a string whose hash has been asked for before: a constant's.</summary>
    internal int KnownHash => _hash;

    internal int Hash
    {
        get
        {
            if (_hash == 0) _hash = HashOf(Span);
            return _hash;
        }
    }

    public bool Equals(LuaString? other) =>
        ReferenceEquals(this, other)
        || (other is not null && _length == other._length && Hash == other.Hash && Span.SequenceEqual(other.Span));

    public override bool Equals(object? other) => Equals(other as LuaString);

    public override int GetHashCode() => Hash;

    /// <summary>A character for each byte.</summary>
    public override string ToString() => Encoding.Latin1.GetString(Span);

    // Keyed with a secret of the process, so that nobody can send strings that collide. Never 0, which means "not
    // computed".
    internal static int HashOf(ReadOnlySpan<byte> bytes)
    {
        var hash = new HashCode();
        hash.AddBytes(bytes);
        int found = hash.ToHashCode();
        return found == 0 ? 1 : found;
    }
}
