namespace Kv.Storage;

/// <summary>The members of a held geo set that are in an area.</summary>
/// <remarks>They are where the set has them: it must not change meanwhile.</remarks>
internal sealed unsafe class GeoMatches
{
    /// <summary>Those found.</summary>
    public List<GeoMatch> All { get; } = [];

    /// <summary>Finds them.</summary>
    /// <param name="limit">Any so many, and no more.</param>
    public void Collect(in SortedSetView set, in GeoArea area, long limit)
    {
        Span<GeoCell> cells = stackalloc GeoCell[9];
        foreach (GeoCell cell in cells[..area.Cover(cells)])
        {
            if (All.Count >= limit) break;
            Collect(set, cell, area, limit);
        }
    }

    /// <summary>Brings them in the order of their distance: 1 the nearest first, -1 the farthest.</summary>
    public void Sort(int direction) => All.Sort((left, right) =>
        left.Meters != right.Meters ? direction * left.Meters.CompareTo(right.Meters) : left.Order.CompareTo(right.Order));

    /// <summary>Keeps the first ones.</summary>
    public void Cut(long count)
    {
        if (All.Count > count) All.RemoveRange((int)count, All.Count - (int)count);
    }

    private void Collect(in SortedSetView set, GeoCell cell, in GeoArea area, long limit)
    {
        long first = set.CountBefore(ScoreBound.BeforeScore(cell.FirstScore)), left = set.CountBefore(ScoreBound.BeforeScore(cell.EndScore)) - first;
        if (left <= 0) return;
        var walk = set.From(first);
        for (; left > 0 && All.Count < limit && walk.Next(out var member, out double score); left--)
        {
            GeoHash.Decode(score, out double longitude, out double latitude);
            if (!area.Contains(longitude, latitude, out double meters)) continue;
            fixed (byte* start = member) All.Add(new GeoMatch(start, member.Length, score, meters, All.Count));
        }
    }
}

/// <summary>A member that was found, where the set has it.</summary>
internal readonly unsafe struct GeoMatch(byte* member, int length, double score, double meters, int order)
{
    public readonly byte* Member = member;
    public readonly int Length = length, Order = order;
    public readonly double Score = score, Meters = meters;
}
