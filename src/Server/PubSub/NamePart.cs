using System.Diagnostics.CodeAnalysis;

namespace Kv.Server.PubSub;

/// <summary>Some of the names of a <see cref="NameMap{TValue}"/>.</summary>
/// <remarks>Threads: those of the map's owner, but for <see cref="LastList"/>, which any may read.</remarks>
internal sealed class NamePart<TValue> where TValue : class
{
    private const int KeptPlaces = 64;

    private TValue[]? _list;

    public Dictionary<byte[], TValue> Names { get; private set; } = New();

    /// <summary>The values, if none was added or removed since <see cref="List"/> was last called; else null.</summary>
    // Volatile: whoever knows of a change finds no older list; what is in a list was written before others can see it.
    public TValue[]? LastList => Volatile.Read(ref _list);

    /// <summary>Adds a name that is not there.</summary>
    public void Add(byte[] name, TValue value)
    {
        Names.Add(name, value);
        Volatile.Write(ref _list, null);
    }

    public bool Remove(ReadOnlySpan<byte> name, [MaybeNullWhen(false)] out TValue value)
    {
        if (!Names.GetAlternateLookup<ReadOnlySpan<byte>>().Remove(name, out _, out value)) return false;
        // No large dictionary is kept for names that have gone; whoever walks over the old one may go on.
        if (Names.Count == 0 && Names.Capacity > KeptPlaces) Names = New();
        Volatile.Write(ref _list, null);
        return true;
    }

    /// <summary>The values, as an array that never changes.</summary>
    public TValue[] List()
    {
        if (_list is { } last) return last;
        var list = Names.Count == 0 ? [] : new TValue[Names.Count];
        Names.Values.CopyTo(list, 0);
        Volatile.Write(ref _list, list);
        return list;
    }

    private static Dictionary<byte[], TValue> New() => new(ChannelNames.Comparer);
}
