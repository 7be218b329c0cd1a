namespace Kv.Server.Users;

/// <summary>Many patterns of keys, of which few are compared with a key. Immutable.</summary>
/// <remarks>
/// Names and prefixes are looked up; of other patterns those are compared whose bytes before the first special one
/// begin the key, or, if there are none, whose bytes after the last special one end it, or, if there are none either,
/// whose longest stretch of bytes is in the key.
/// Cost: log n for each, of the other patterns for each different length of these bytes, and of stretches for each
/// place in the key. Only patterns that begin and end with a special byte and have none of these, or a class or an
/// escape anywhere, are compared one by one.
/// </remarks>
internal sealed class KeyPatternIndex
{
    private readonly PatternsByPart _names, _byHead, _byTail, _byInner;
    private readonly KeyPattern[] _others;

    // For each of the rights that a call may need, of None too.
    private readonly KeyPrefixes[] _prefixes = new KeyPrefixes[(int)KeyRights.All + 1];

    public KeyPatternIndex(KeyPattern[] patterns)
    {
        for (int needed = 0; needed < _prefixes.Length; needed++)
        {
            _prefixes[needed] = new KeyPrefixes(patterns.Where(pattern => pattern.IsPrefix
                && ((int)pattern.Rights & needed) == needed).Select(pattern => pattern.Head.ToArray()));
        }

        var rest = patterns.Where(pattern => !pattern.IsPlain && !pattern.IsPrefix).ToLookup(PartOf);
        _names = new PatternsByPart(patterns.Where(pattern => pattern.IsPlain), pattern => pattern.Head.ToArray());
        _byHead = new PatternsByPart(rest[Part.Head], pattern => pattern.Head.ToArray());
        _byTail = new PatternsByPart(rest[Part.Tail], pattern => pattern.Tail.ToArray());
        _byInner = new PatternsByPart(rest[Part.Inner], pattern => pattern.Inner.ToArray());
        _others = [.. rest[Part.None]];
    }

    private enum Part
    {
        None,
        Head,
        Tail,
        Inner,
    }

    /// <summary>Whether a key fits one of the patterns that allow it to be used with some rights.</summary>
    public bool Allows(ReadOnlySpan<byte> key, KeyRights needed)
    {
        if (_prefixes[(int)needed].HasOneOf(key) || _names.Allows(key, key, needed)) return true;
        foreach (int bytes in _byHead.PartBytes)
        {
            if (bytes > key.Length) break;
            if (_byHead.Allows(key[..bytes], key, needed)) return true;
        }

        foreach (int bytes in _byTail.PartBytes)
        {
            if (bytes > key.Length) break;
            if (_byTail.Allows(key[^bytes..], key, needed)) return true;
        }

        foreach (int bytes in _byInner.PartBytes)
        {
            for (int at = 0; at + bytes <= key.Length; at++)
                if (_byInner.Allows(key.Slice(at, bytes), key, needed)) return true;
        }

        foreach (var pattern in _others)
            if (pattern.Allows(key, needed)) return true;
        return false;
    }

    private static Part PartOf(KeyPattern pattern) =>
        pattern.Head.Length > 0 ? Part.Head : pattern.Tail.Length > 0 ? Part.Tail
            : pattern.Inner.Length > 0 ? Part.Inner : Part.None;
}
