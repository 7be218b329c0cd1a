using System.Runtime.CompilerServices;
using Kv.Server.Patterns;

namespace Kv.Server.Users;

/// <summary>A pattern of keys, and what it lets a user do with them. Immutable.</summary>
/// <remarks>Nearly all patterns are a prefix with a star, or a name: these are compared as bytes.</remarks>
internal sealed class KeyPattern
{
    private static ReadOnlySpan<byte> Special => "*?[\\"u8;

    private readonly byte[] _text;

    // Bytes before the star of a pattern whose only special byte is a star at its end; -1 for others.
    private readonly int _prefixBytes;

    public KeyPattern(byte[] text, KeyRights rights)
    {
        _text = text;
        Rights = rights;
        int special = text.AsSpan().IndexOfAny(Special);
        IsPlain = special < 0;
        _prefixBytes = special >= 0 && special == text.Length - 1 && text[special] == '*' ? special : -1;
        if (IsShortPrefix) Prefix = new KeyPrefix(text.AsSpan(0, _prefixBytes));
    }

    public KeyRights Rights { get; }

    /// <summary>Whether one key fits, that of the pattern's text.</summary>
    public bool IsPlain { get; }

    /// <summary>Whether all keys fit that begin with <see cref="Head"/>, and no others.</summary>
    public bool IsPrefix => _prefixBytes >= 0;

    /// <summary>How all keys begin that fit.</summary>
    public ReadOnlySpan<byte> Head => IsPlain ? _text : _text.AsSpan(0, _text.AsSpan().IndexOfAny(Special));

    /// <summary>How all keys end that fit; empty also where that would take a closer look.</summary>
    public ReadOnlySpan<byte> Tail =>
        _text.AsSpan().IndexOfAny("[\\"u8) >= 0 ? [] : _text.AsSpan(_text.AsSpan().LastIndexOfAny("*?"u8) + 1);

    /// <summary>Whether <see cref="Prefix"/> says all that the pattern says.</summary>
    public bool IsShortPrefix => _prefixBytes is >= 0 and <= KeyPrefix.BytesMax;

    /// <summary>What stands before the star of a pattern that <see cref="IsShortPrefix"/>.</summary>
    public KeyPrefix Prefix { get; }

    /// <summary>The longest stretch of bytes that all keys have which fit; empty also where that would take a closer
    /// look.</summary>
    public ReadOnlySpan<byte> Inner
    {
        get
        {
            ReadOnlySpan<byte> text = _text, longest = [];
            if (text.IndexOfAny("[\\"u8) >= 0) return [];
            foreach (var range in text.SplitAny("*?"u8))
                if (text[range].Length > longest.Length) longest = text[range];
            return longest;
        }
    }

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
        IsPlain ? key.SequenceEqual(_text) : GlobPattern.IsMatch(_text, key);
}
