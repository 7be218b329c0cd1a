namespace Kv.Server.Users;

/// <summary>Patterns of keys, found by some bytes that are in all keys which fit. Immutable.</summary>
internal sealed class PatternsByPart
{
    // In step, sorted by the bytes.
    private readonly byte[][] _parts;
    private readonly KeyPattern[] _patterns;
    private readonly int[] _partBytes;

    public PatternsByPart(IEnumerable<KeyPattern> patterns, Func<KeyPattern, byte[]> partOf)
    {
        _patterns = [.. patterns];
        _parts = Array.ConvertAll(_patterns, pattern => partOf(pattern));
        _partBytes = [.. _parts.Select(part => part.Length).Distinct().Order()];
        Array.Sort(_parts, _patterns, Comparer<byte[]>.Create(static (a, b) => a.AsSpan().SequenceCompareTo(b)));
    }

    /// <summary>How long the patterns' bytes are: each length once, the shortest first.</summary>
    public ReadOnlySpan<int> PartBytes => _partBytes;

    /// <summary>Whether a pattern that is found by some bytes of a key allows the key to be used with some
    /// rights.</summary>
    public bool Allows(ReadOnlySpan<byte> part, ReadOnlySpan<byte> key, KeyRights needed)
    {
        int low = 0, high = _parts.Length;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (part.SequenceCompareTo(_parts[middle]) > 0) low = middle + 1;
            else high = middle;
        }

        for (; low < _parts.Length && part.SequenceEqual(_parts[low]); low++)
            if (_patterns[low].Allows(key, needed)) return true;
        return false;
    }
}
