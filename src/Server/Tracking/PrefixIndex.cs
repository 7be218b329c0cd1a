using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Kv.Server.PubSub;
using Kv.Storage;

namespace Kv.Server.Tracking;

/// <summary>Finds the prefixes of a key: by length, so that it is about as quick with ten thousand prefixes as with a
/// few, which are compared one by one.</summary>
/// <remarks>
/// Threads: one at a time adds and removes; any look up meanwhile, without a lock. Whoever adds makes a full fence
/// afterwards: a look-up that does not find the prefix was before that.
/// Cost of a change: that of one prefix, whatever their number, so that clients who come and go hold no writer up.
/// </remarks>
internal sealed class PrefixIndex
{
    private const int FewMax = 8;

    private PrefixesOfLength[] _byLength = [];
    private byte[][]? _few = [];
    private KeyBeginnings? _beginnings;
    private int _count;

    public static IComparer<byte[]> ByBytes { get; } =
        Comparer<byte[]>.Create((a, b) => a.AsSpan().SequenceCompareTo(b));

    // Volatile: 0 until somebody adds a prefix; a writer that owns a key later sees what was there before.
    public int Count => Volatile.Read(ref _count);

    /// <summary>How keys begin that have a prefix; null: none has. Of many prefixes it is any key.</summary>
    public KeyBeginnings? Beginnings => _beginnings;

    public bool TryGet(ReadOnlySpan<byte> name, [MaybeNullWhen(false)] out BroadcastPrefix prefix)
    {
        int place = PlaceOf(name.Length);
        prefix = null;
        return place >= 0 && _byLength[place].Prefixes.TryGetValue(name, out prefix);
    }

    /// <summary>Adds a prefix that is not there.</summary>
    public void Add(BroadcastPrefix prefix)
    {
        int place = PlaceOf(prefix.Name.Length);
        if (place < 0)
        {
            place = ~place;
            PrefixesOfLength[] before = _byLength;
            // Release: with its places in order.
            Volatile.Write(ref _byLength,
                [.. before[..place], new PrefixesOfLength(prefix.Name.Length), .. before[place..]]);
        }

        bool isNew = _byLength[place].Map.TryAdd(prefix.Name, prefix);
        Debug.Assert(isNew, "a prefix is added once");
        NoteCount(_count + 1);
    }

    /// <summary>Removes a prefix that is there.</summary>
    public void Remove(BroadcastPrefix prefix)
    {
        int place = PlaceOf(prefix.Name.Length);
        bool wasThere = _byLength[place].Map.TryRemove(prefix.Name, out _);
        Debug.Assert(wasThere, "a prefix is removed once");
        if (_byLength[place].Map.IsEmpty)
            Volatile.Write(ref _byLength, [.. _byLength[..place], .. _byLength[(place + 1)..]]);
        NoteCount(_count - 1);
    }

    /// <summary>Whether a key begins with any of them.</summary>
    public bool HasAny(ReadOnlySpan<byte> key)
    {
        if (Volatile.Read(ref _few) is { } few)
        {
            foreach (byte[] prefix in few)
                if (key.StartsWith(prefix)) return true;
            return false;
        }

        foreach (var ofLength in Volatile.Read(ref _byLength))
        {
            if (ofLength.Length > key.Length) return false;
            if (ofLength.Prefixes.ContainsKey(key[..ofLength.Length])) return true;
        }

        return false;
    }

    /// <summary>Adds all prefixes of a key, each with a number for the key.</summary>
    public void AddAll(ReadOnlySpan<byte> key, int number, List<(BroadcastPrefix Of, int Key)> found)
    {
        foreach (var ofLength in Volatile.Read(ref _byLength))
        {
            if (ofLength.Length > key.Length) return;
            if (ofLength.Prefixes.TryGetValue(key[..ofLength.Length], out var one)) found.Add((one, number));
        }
    }

    private void NoteCount(int count)
    {
        // The few before the count: a writer asks for the count first.
        bool areFew = count <= FewMax;
        Volatile.Write(ref _few, areFew ? [.. _byLength.SelectMany(static one => one.Map.Keys)] : null);
        Volatile.Write(ref _count, count);
        // Of many it stays the same.
        if (areFew || _count == FewMax + 1) _beginnings = count == 0 ? null : new KeyBeginnings(_few ?? [[]]);
    }

    /// <returns>Where the prefixes of a length are; the complement of where they would be.</returns>
    private int PlaceOf(int length)
    {
        int low = 0, high = _byLength.Length;
        // Ends: the range is halved.
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_byLength[middle].Length == length) return middle;
            if (_byLength[middle].Length < length) low = middle + 1;
            else high = middle;
        }

        return ~low;
    }

    private sealed class PrefixesOfLength
    {
        public PrefixesOfLength(int length)
        {
            Length = length;
            Prefixes = Map.GetAlternateLookup<ReadOnlySpan<byte>>();
        }

        public int Length { get; }

        public ConcurrentDictionary<byte[], BroadcastPrefix> Map { get; } =
            new(concurrencyLevel: 1, capacity: 4, ChannelNames.Comparer);

        public ConcurrentDictionary<byte[], BroadcastPrefix>.AlternateLookup<ReadOnlySpan<byte>> Prefixes { get; }
    }
}
