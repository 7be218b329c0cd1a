using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Kv.Server.PubSub;

/// <summary>A hash map by name that never grows all at once: with many names it is many small ones.</summary>
/// <remarks>
/// A dictionary that doubles is copied whole: with a million names that stops a worker for half a second. Here at most
/// <see cref="PlainMax"/> are moved at a time. Threads: those of its owner.
/// </remarks>
internal sealed class NameMap<TValue> where TValue : class
{
    /// <summary>Up to <see cref="PlainMax"/> names are in one dictionary. More are in <see cref="Parts"/> dictionaries,
    /// until the last name is gone.</summary>
    public const int PlainMax = 4096, Parts = 256;

    private NamePart<TValue>[] _parts = [new()];

    public int Count { get; private set; }

    /// <summary>Names and values. The loop's body may remove the name it is at.</summary>
    public IEnumerable<KeyValuePair<byte[], TValue>> All => _parts.SelectMany(static part => part.Names);

    /// <summary>The parts now. A map that is split or becomes empty gets new parts; the old ones then no longer
    /// change.</summary>
    public NamePart<TValue>[] InParts => _parts;

    /// <summary>Every name.</summary>
    public byte[][] Names => [.. All.Select(static pair => pair.Key)];

    public bool TryGet(ReadOnlySpan<byte> name, [MaybeNullWhen(false)] out TValue value) =>
        PartOf(name).Names.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(name, out value);

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
        if (!PartOf(name).Remove(name, out value)) return false;
        Count--;
        Debug.Assert(Count >= 0, "the count is that of the parts");
        if (Count == 0 && _parts.Length > 1) _parts = [new()];
        return true;
    }

    private NamePart<TValue> PartOf(ReadOnlySpan<byte> name) =>
        // The high bits: a part's dictionary uses the low ones.
        _parts.Length == 1 ? _parts[0] : _parts[(uint)ChannelNames.Hash(name) >> 24];

    private void Split()
    {
        Debug.Assert(_parts.Length == 1, "a map is split once");
        var parts = new NamePart<TValue>[Parts];
        for (int i = 0; i < parts.Length; i++) parts[i] = new();
        foreach (var (name, value) in _parts[0].Names) parts[(uint)ChannelNames.Hash(name) >> 24].Add(name, value);
        _parts = parts;
    }
}
