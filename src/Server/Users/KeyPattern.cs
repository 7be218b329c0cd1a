using System.Runtime.CompilerServices;
using Kv.Server.Patterns;

namespace Kv.Server.Users;

/// <summary>A pattern of keys, and what it lets a user do with them. Immutable.</summary>
/// <remarks>Nearly all patterns are a prefix with a star, or a name: these are compared as bytes.</remarks>
internal sealed class KeyPattern
{
    private readonly byte[] _text;
    private readonly bool _isPlain;

    // Bytes before the star of a pattern whose only special byte is a star at its end; -1 for others.
    private readonly int _prefixBytes;

    public KeyPattern(byte[] text, KeyRights rights)
    {
        _text = text;
        Rights = rights;
        int special = text.AsSpan().IndexOfAny("*?[\\"u8);
        _isPlain = special < 0;
        _prefixBytes = special >= 0 && special == text.Length - 1 && text[special] == '*' ? special : -1;
        if (IsShortPrefix) Prefix = new KeyPrefix(text.AsSpan(0, _prefixBytes));
    }

    public KeyRights Rights { get; }

    /// <summary>Whether <see cref="Prefix"/> says all that the pattern says.</summary>
    public bool IsShortPrefix => _prefixBytes is >= 0 and <= KeyPrefix.BytesMax;

    /// <summary>What stands before the star of a pattern that <see cref="IsShortPrefix"/>.</summary>
    public KeyPrefix Prefix { get; }

    public ReadOnlySpan<byte> Text => _text;

    /// <summary>Whether a key fits, and may be used with some rights.</summary>
    /// <remarks>Asked for each key of a client whose user is restricted: a prefix is compared in place.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Allows(ReadOnlySpan<byte> key, KeyRights needed)
    {
        if ((Rights & needed) != needed) return false;
        return _prefixBytes >= 0 ? key.StartsWith(_text.AsSpan(0, _prefixBytes)) : Fits(key);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool Fits(ReadOnlySpan<byte> key) =>
        _isPlain ? key.SequenceEqual(_text) : GlobPattern.IsMatch(_text, key);
}
