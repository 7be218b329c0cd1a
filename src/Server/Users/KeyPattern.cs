using Kv.Server.Patterns;

namespace Kv.Server.Users;

/// <summary>A pattern of keys, and what it lets a user do with them. Immutable.</summary>
/// <remarks>Nearly all patterns are a prefix with a star, or a name: these are compared as bytes.</remarks>
internal sealed class KeyPattern
{
    private readonly byte[] _text;
    private readonly bool _isPlain, _isPrefix;

    public KeyPattern(byte[] text, KeyRights rights)
    {
        _text = text;
        Rights = rights;
        int special = text.AsSpan().IndexOfAny("*?[\\"u8);
        _isPlain = special < 0;
        _isPrefix = special == text.Length - 1 && special >= 0 && text[special] == '*';
    }

    public KeyRights Rights { get; }

    public ReadOnlySpan<byte> Text => _text;

    /// <summary>Whether a key fits, and may be used with some rights.</summary>
    public bool Allows(ReadOnlySpan<byte> key, KeyRights needed) => (Rights & needed) == needed && Fits(key);

    private bool Fits(ReadOnlySpan<byte> key)
    {
        if (_isPrefix) return key.StartsWith(_text.AsSpan(0, _text.Length - 1));
        return _isPlain ? key.SequenceEqual(_text) : GlobPattern.IsMatch(_text, key);
    }
}
