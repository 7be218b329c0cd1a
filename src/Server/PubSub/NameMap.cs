using System.Diagnostics.CodeAnalysis;

namespace Kv.Server.PubSub;

/// <summary>A hash map by name that never grows all at once: with many names it is many small ones.</summary>
/// <remarks>
/// A dictionary that doubles is copied whole: with a million names that stops a worker for half a second. Here at most
/// <see cref="PlainMax"/> are moved at a time. Threads: those of its owner.
/// </remarks>
internal sealed class NameMap<TValue> where TValue : class
{
    /// <summary>So many names are in one dictionary; with more there are <see cref="Parts"/>, until all are
    /// gone.</summary>
    public const int PlainMax = 4096, Parts = 256;

    private const int KeptPlaces = 64;

    private Dictionary<byte[], TValue>[] _parts = [New()];

    public int Count { get; private set; }

    /// <summary>The values, and their names; the current one may be removed meanwhile.</summary>
    public IEnumerable<KeyValuePair<byte[], TValue>> All => _parts.SelectMany(static part => part);

    /// <summary>Every name.</summary>
    public byte[][] Names => [.. All.Select(static pair => pair.Key)];

    public bool TryGet(ReadOnlySpan<byte> name, [MaybeNullWhen(false)] out TValue value) =>
        PartOf(name).GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(name, out value);

    public bool Contains(ReadOnlySpan<byte> name) => TryGet(name, out _);

    /// <summary>Adds a name that is not there.</summary>
    public void Add(byte[] name, TValue value)
    {
        if (Count == PlainMax && _parts.Length == 1) Split();
        PartOf(name).Add(name, value);
        Count++;
    }

    public bool Remove(ReadOnlySpan<byte> name, [MaybeNullWhen(false)] out TValue value)
    {
        ref var part = ref PartOf(name);
        if (!part.GetAlternateLookup<ReadOnlySpan<byte>>().Remove(name, out _, out value)) return false;
        Count--;
        // Nothing large is kept of names that have gone; whoever walks over the old one may go on.
        if (part.Count == 0 && part.Capacity > KeptPlaces) part = New();
        if (Count == 0 && _parts.Length > 1) _parts = [New()];
        return true;
    }

    private static Dictionary<byte[], TValue> New() => new(ChannelNames.Comparer);

    private ref Dictionary<byte[], TValue> PartOf(ReadOnlySpan<byte> name)
    {
        if (_parts.Length == 1) return ref _parts[0];
        // The high bits: a dictionary of its own has used others.
        return ref _parts[(uint)ChannelNames.Hash(name) >> 24];
    }

    private void Split()
    {
        var parts = new Dictionary<byte[], TValue>[Parts];
        for (int i = 0; i < parts.Length; i++) parts[i] = New();
        foreach (var (name, value) in _parts[0]) parts[(uint)ChannelNames.Hash(name) >> 24].Add(name, value);
        _parts = parts;
    }
}
