namespace Kv.Storage;

/// <summary>Sorted sets of a session's database whose scores are places on the earth. <see cref="StoreTypes"/> says
/// what holds for all operations.</summary>
/// <remarks>
/// A place is kept in 52 bits, to within 0.6 m, and comes out as the middle of its cell. Distances are those of great
/// circles on a sphere, as in Redis. Members are counted, removed and enumerated as those of any sorted set:
/// <see cref="StoreSortedSets"/>.
/// </remarks>
public readonly struct StoreGeoSets
{
    private readonly StoreSession _session;

    internal StoreGeoSets(StoreSession session) => _session = session;

    /// <summary>Adds a member, or moves it to another place, as the rule says.</summary>
    /// <param name="key">The key.</param>
    /// <param name="member">Any bytes.</param>
    /// <param name="place">Where it is.</param>
    /// <param name="rule">When it may be added or moved: <see cref="ScoreRule.OnlyNew"/>,
    /// <see cref="ScoreRule.OnlyExisting"/>, or neither.</param>
    /// <param name="outcome">What has become of it.</param>
    /// <returns>Ok (look at the outcome), NotFound (no such key, and the rule adds none), WrongType, OutOfMemory or
    /// TooLarge.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The place is not on the map.</exception>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, GeoPlace place, ScoreRule rule,
        out ScoreOutcome outcome)
    {
        Check(place);
        return _session.SortedSets.Set(key, member, GeoHash.Encode(place.Longitude, place.Latitude),
            rule & (ScoreRule.OnlyNew | ScoreRule.OnlyExisting), out outcome);
    }

    /// <summary>Adds a member, or moves it to another place.</summary>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The place is not on the map.</exception>
    public StoreStatus Set(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, GeoPlace place) =>
        Set(key, member, place, ScoreRule.None, out _);

    /// <summary>Tells where a member is.</summary>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus GetPlace(ReadOnlySpan<byte> key, ReadOnlySpan<byte> member, out GeoPlace place)
    {
        place = default;
        var status = _session.SortedSets.GetScore(key, member, out double score);
        if (status == StoreStatus.Ok) place = PlaceOf(score);
        return status;
    }

    /// <summary>Tells how far two members are from each other, as of one instant.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">One member.</param>
    /// <param name="second">Another.</param>
    /// <param name="meters">0 unless the status is Ok.</param>
    /// <returns>Ok, NotFound (no such key or member) or WrongType.</returns>
    public StoreStatus GetDistance(ReadOnlySpan<byte> key, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second,
        out double meters)
    {
        meters = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var set = new SortedSetValue(held.Value).View;
        if (!set.TryGetScore(first, out double one) || !set.TryGetScore(second, out double other))
            return StoreStatus.NotFound;
        GeoPlace from = PlaceOf(one), to = PlaceOf(other);
        meters = GeoHash.Distance(from.Longitude, from.Latitude, to.Longitude, to.Latitude);
        return StoreStatus.Ok;
    }

    /// <summary>Finds the members in a circle, the nearest first.</summary>
    /// <param name="key">The key.</param>
    /// <param name="middle">Of the circle.</param>
    /// <param name="radiusMeters">Not negative.</param>
    /// <param name="members">Emptied first; the scores are the distances from the middle, in meters.</param>
    /// <param name="most">How many at most: the nearest.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The place is not on the map, or the radius no length.</exception>
    /// <remarks>Cost: O(members in nine cells around the circle), and sorting what is found. Allocates 40 bytes for
    /// each that is.</remarks>
    public StoreStatus Search(ReadOnlySpan<byte> key, GeoPlace middle, double radiusMeters, ScoreBuffer members,
        int most = int.MaxValue)
    {
        if (!(radiusMeters >= 0))
            throw new ArgumentOutOfRangeException(nameof(radiusMeters), radiusMeters, "A radius is not negative.");
        return Search(key, middle, new GeoArea { UnitMeters = 1, Radius = radiusMeters }, members, most);
    }

    /// <summary>Finds the members in a box whose sides are parallel to the equator and to the meridian of its middle,
    /// the nearest first.</summary>
    /// <param name="key">The key.</param>
    /// <param name="middle">Of the box.</param>
    /// <param name="widthMeters">From west to east; not negative.</param>
    /// <param name="heightMeters">From south to north; not negative.</param>
    /// <param name="members">Emptied first; the scores are the distances from the middle, in meters.</param>
    /// <param name="most">How many at most: the nearest.</param>
    /// <inheritdoc cref="Search(ReadOnlySpan{byte}, GeoPlace, double, ScoreBuffer, int)"/>
    public StoreStatus Search(ReadOnlySpan<byte> key, GeoPlace middle, double widthMeters, double heightMeters,
        ScoreBuffer members, int most = int.MaxValue)
    {
        if (!(widthMeters >= 0))
            throw new ArgumentOutOfRangeException(nameof(widthMeters), widthMeters, "A width is not negative.");
        if (!(heightMeters >= 0))
            throw new ArgumentOutOfRangeException(nameof(heightMeters), heightMeters, "A height is not negative.");
        return Search(key, middle,
            new GeoArea { UnitMeters = 1, IsBox = true, Width = widthMeters, Height = heightMeters }, members, most);
    }

    private unsafe StoreStatus Search(ReadOnlySpan<byte> key, GeoPlace middle, GeoArea area,
        ScoreBuffer members, int most)
    {
        Check(middle);
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        members.Clear();
        (area.Longitude, area.Latitude) = (middle.Longitude, middle.Latitude);
        using HeldKey held = _session.Hold(_session.Key(key), DataType.SortedSet);
        if (held.Status != StoreStatus.Ok) return held.Status;
        using var matches = new GeoMatches(_session.Changes.Store) { Direction = 1, Wanted = most };
        SortedSetView set = new SortedSetValue(held.Value).View;
        // Ends: each step gets on.
        while (!matches.Step(set, area, int.MaxValue))
        {
        }

        for (int i = 0; i < matches.Count; i++) members.Add(matches[i].Bytes, matches[i].Meters);
        return StoreStatus.Ok;
    }

    private static GeoPlace PlaceOf(double score)
    {
        GeoHash.Decode(score, out double longitude, out double latitude);
        return new GeoPlace(longitude, latitude);
    }

    private static void Check(GeoPlace place)
    {
        if (!GeoHash.IsOnMap(place.Longitude, place.Latitude))
            throw new ArgumentOutOfRangeException(nameof(place), place, "The place is not on the map.");
    }
}
