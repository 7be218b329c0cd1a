namespace Kv.Server.Users;

/// <summary>Prefixes of keys, sorted. Immutable.</summary>
internal sealed class KeyPrefixes
{
    // None begins with another one. So only the last one that is not above a key may begin it: what stands between a
    // key and a prefix of it begins with that prefix.
    private readonly byte[][] _sorted;

    public KeyPrefixes(IEnumerable<byte[]> prefixes)
    {
        var kept = new List<byte[]>();
        foreach (byte[] prefix in prefixes.Order(Comparer<byte[]>.Create(static (a, b) =>
                     a.AsSpan().SequenceCompareTo(b))))
        {
            if (kept.Count == 0 || !prefix.AsSpan().StartsWith(kept[^1])) kept.Add(prefix);
        }

        _sorted = [.. kept];
    }

    /// <summary>Whether one of them begins a key.</summary>
    public bool HasOneOf(ReadOnlySpan<byte> key)
    {
        int low = 0, high = _sorted.Length;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (key.SequenceCompareTo(_sorted[middle]) < 0) high = middle;
            else low = middle + 1;
        }

        return low > 0 && key.StartsWith(_sorted[low - 1]);
    }
}
