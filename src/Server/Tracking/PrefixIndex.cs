using Kv.Server.PubSub;

namespace Kv.Server.Tracking;

/// <summary>Finds the prefixes of a key: by length, so that it is about as quick with ten thousand prefixes as with a
/// few, which are compared one by one.</summary>
/// <remarks>Threads: any; it never changes.</remarks>
internal sealed class PrefixIndex
{
    private const int FewMax = 8;

    private readonly List<(int Length, NameMap<Ranked> Prefixes)> _byLength = [];
    private readonly byte[][]? _few;

    public PrefixIndex(IReadOnlyCollection<BroadcastPrefix> prefixes)
    {
        if (prefixes.Count <= FewMax) _few = [.. prefixes.Select(prefix => prefix.Name)];
        var ranked = prefixes.OrderBy(prefix => prefix.Name, ByBytes)
            .Select((prefix, rank) => new Ranked(prefix, rank));
        foreach (var group in ranked.GroupBy(one => one.Prefix.Name.Length).OrderBy(group => group.Key))
        {
            var map = new NameMap<Ranked>();
            foreach (var one in group) map.Add(one.Prefix.Name, one);
            _byLength.Add((group.Key, map));
        }
    }

    public static IComparer<byte[]> ByBytes { get; } =
        Comparer<byte[]>.Create((a, b) => a.AsSpan().SequenceCompareTo(b));

    /// <summary>Whether a key begins with any of them.</summary>
    public bool HasAny(ReadOnlySpan<byte> key)
    {
        if (_few != null)
        {
            foreach (byte[] prefix in _few)
                if (key.StartsWith(prefix)) return true;
            return false;
        }

        foreach (var (length, prefixes) in _byLength)
        {
            if (length > key.Length) return false;
            if (length == 0 || prefixes.Contains(key[..length])) return true;
        }

        return false;
    }

    /// <summary>Adds all prefixes of a key, each with a number for the key.</summary>
    public void AddAll(ReadOnlySpan<byte> key, int number, List<(Ranked Of, int Key)> found)
    {
        foreach (var (length, prefixes) in _byLength)
        {
            if (length > key.Length) return;
            if (prefixes.TryGet(key[..length], out var one)) found.Add((one, number));
        }
    }

    /// <summary>A prefix and its place in the order of all.</summary>
    public sealed record Ranked(BroadcastPrefix Prefix, int Rank);
}
