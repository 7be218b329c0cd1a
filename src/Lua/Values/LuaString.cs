using System.Text;

namespace Kv.Lua;

/// <summary>A string of Lua: any bytes, never changed.</summary>
/// <remarks>Threads: any number of machines may share one. The hash is computed when it is first asked for: two threads
/// that do it at once store the same number.</remarks>
public sealed class LuaString : IEquatable<LuaString>
{
    /// <summary>What a string costs beside its bytes: two objects, their headers, a length and the hash.</summary>
    internal const int OverheadBytes = 56;

    public static readonly LuaString Empty = new([]);

    private readonly byte[] _bytes;
    private int _hash;

    /// <summary>Takes the array over: the caller does not change it any more.</summary>
    internal LuaString(byte[] bytes) => _bytes = bytes;

    /// <summary>A string with a copy of the bytes.</summary>
    public LuaString(ReadOnlySpan<byte> bytes) => _bytes = bytes.ToArray();

    /// <summary>A string with the text's UTF-8 bytes.</summary>
    public LuaString(string text) => _bytes = Encoding.UTF8.GetBytes(text);

    /// <summary>A string of a text that has a character for each byte.</summary>
    internal static LuaString OfBytes(string text) => new(Encoding.Latin1.GetBytes(text));

    public int Length => _bytes.Length;

    public ReadOnlySpan<byte> Span => _bytes;

    /// <summary>The hash of a string whose hash has been asked for before: a constant's.</summary>
    internal int KnownHash => _hash;

    internal int Hash
    {
        get
        {
            if (_hash == 0) _hash = HashOf(_bytes);
            return _hash;
        }
    }

    public bool Equals(LuaString? other) =>
        ReferenceEquals(this, other)
        || (other is not null && _bytes.Length == other._bytes.Length && Hash == other.Hash
            && _bytes.AsSpan().SequenceEqual(other._bytes));

    public override bool Equals(object? other) => Equals(other as LuaString);

    public override int GetHashCode() => Hash;

    /// <summary>A character for each byte.</summary>
    public override string ToString() => Encoding.Latin1.GetString(_bytes);

    // Keyed with a secret of the process, so that nobody can send strings that collide. Never 0, which means "not
    // computed".
    private static int HashOf(ReadOnlySpan<byte> bytes)
    {
        var hash = new HashCode();
        hash.AddBytes(bytes);
        int found = hash.ToHashCode();
        return found == 0 ? 1 : found;
    }
}
