using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The members of a held geo set that are in an area, in an order. Found a piece at a time.</summary>
/// <remarks>They are where the set has them: it must not change meanwhile. Whoever makes one disposes it.</remarks>
internal sealed unsafe class GeoMatches(Store store) : IDisposable
{
    /// <summary>More are brought in order in steps.</summary>
    private const int SortedAtOnceMax = 2048;

    private readonly List<GeoMatch> _all = [];
    private readonly GeoCell[] _cells = new GeoCell[9];
    private ElementOrder<NoTexts>? _order;
    private long _first, _left, _charged;
    private int _cellCount, _cell, _ordered;
    private bool _isFound;

    /// <summary>The direction in which they come: 1 the nearest first, -1 the farthest; 0 as they were found.</summary>
    public int Direction { get; init; }

    /// <summary>How many are wanted, from the first in order on; the others are left out.</summary>
    public long Wanted { get; init; } = long.MaxValue;

    /// <summary>How many will do, whichever they are: no more are looked for.</summary>
    public long Limit { get; init; } = long.MaxValue;

    /// <summary>How many there are, when all is done.</summary>
    public int Count => (int)Math.Min(_all.Count, Wanted);

    /// <summary>The one at a place, when all is done.</summary>
    public GeoMatch this[int place] => _all[_order == null ? place : (int)_order[place]];

    /// <summary>Finds some of them, or brings some in order.</summary>
    /// <param name="elements">About how many elements to look at.</param>
    /// <returns>True when all is done.</returns>
    public bool Step(in SortedSetView set, in GeoArea area, int elements)
    {
        Debug.Assert(elements > 0, "each call looks at an element");
        if (!_isFound)
        {
            _isFound = Find(set, area, elements);
            return _isFound && !BeginsOrder();
        }

        if (_ordered == _all.Count) return _order!.Step();
        int end = (int)Math.Min(_all.Count, (long)_ordered + elements);
        for (; _ordered < end; _ordered++) _order!.SetScore(_ordered, _all[_ordered].Meters);
        if (_ordered == _all.Count) _order!.Start(0, _ordered, byScore: true);
        return false;
    }

    public void Dispose()
    {
        _order?.Dispose();
        _order = null;
        store.Charge(-_charged);
        _charged = 0;
    }

    private bool Find(in SortedSetView set, in GeoArea area, int elements)
    {
        if (_cellCount == 0)        // the middle's is always one
        {
            _cellCount = area.Cover(_cells);
            BeginCell(set);
        }

        // Ends: each round looks at an element, or at a cell.
        for (; elements > 0 && _cell < _cellCount && _all.Count < Limit; elements--)
        {
            if (_left == 0)
            {
                _cell++;
                BeginCell(set);
                continue;
            }

            var walk = set.From(_first);
            for (; _left > 0 && elements > 0 && _all.Count < Limit && walk.Next(out var member, out double score);
                _left--, _first++, elements--)
            {
                GeoHash.Decode(score, out double longitude, out double latitude);
                if (!area.Contains(longitude, latitude, out double meters)) continue;
                fixed (byte* start = member) _all.Add(new GeoMatch(start, member.Length, score, meters, _all.Count));
            }
        }

        Charge();
        return _cell == _cellCount || _all.Count >= Limit;
    }

    private void BeginCell(in SortedSetView set)
    {
        _first = _left = 0;
        if (_cell == _cellCount) return;
        GeoCell cell = _cells[_cell];
        _first = set.CountBefore(ScoreBound.BeforeScore(cell.FirstScore));
        _left = Math.Max(0, set.CountBefore(ScoreBound.BeforeScore(cell.EndScore)) - _first);
    }

    /// <summary>Sorts a few at once; of many, the order is left to later steps.</summary>
    private bool BeginsOrder()
    {
        if (Direction == 0) return false;
        if (_all.Count <= SortedAtOnceMax)
        {
            _all.Sort((left, right) => left.Meters != right.Meters
                ? Direction * left.Meters.CompareTo(right.Meters) : left.Order.CompareTo(right.Order));
            return false;
        }

        _order = new ElementOrder<NoTexts>(store);
        _order.Begin(default, _all.Count, isDescending: Direction < 0, 0, Count);
        for (int i = 0; i < _all.Count; i++) _order.SetItem(i, (uint)i);
        return true;
    }

    private void Charge()
    {
        long bytes = _all.Capacity * (long)sizeof(GeoMatch);
        if (bytes < 1 << 16 || bytes == _charged) return;       // little: not worth the account
        store.Charge(bytes - _charged);
        _charged = bytes;
    }

    /// <summary>Those that are equally far stand in the order in which they were found.</summary>
    private readonly struct NoTexts : IOrderedTexts
    {
        public ReadOnlySpan<byte> this[uint item] => default;

        public void Prefetch(uint item)
        {
            // Nothing is read.
        }
    }
}

/// <summary>A member that was found, where the set has it.</summary>
internal readonly unsafe struct GeoMatch(byte* member, int length, double score, double meters, int order)
{
    public readonly byte* Member = member;
    public readonly int Length = length, Order = order;
    public readonly double Score = score, Meters = meters;

    /// <summary>Its bytes, for as long as the set does not change.</summary>
    public ReadOnlySpan<byte> Bytes => new(Member, Length);
}
