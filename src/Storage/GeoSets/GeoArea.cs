using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A circle or a box on the earth, around a place.</summary>
internal struct GeoArea
{
    private const double MercatorMaxMeters = 20037726.37;

    public double Longitude, Latitude;

    /// <summary>Meters that the unit of the sizes is.</summary>
    public double UnitMeters;

    public bool IsBox;

    /// <summary>In the unit.</summary>
    public double Radius, Width, Height;

    /// <summary>Whether a place is inside.</summary>
    /// <param name="meters">How far it is from the middle, when it is.</param>
    public readonly bool Contains(double longitude, double latitude, out double meters)
    {
        meters = 0;
        if (!IsBox)
        {
            meters = GeoHash.Distance(Longitude, Latitude, longitude, latitude);
            return meters <= Radius * UnitMeters;
        }

        if (GeoHash.LatitudeDistance(latitude, Latitude) > Height * UnitMeters / 2) return false;
        if (GeoHash.Distance(longitude, latitude, Longitude, latitude) > Width * UnitMeters / 2) return false;
        meters = GeoHash.Distance(Longitude, Latitude, longitude, latitude);
        return true;
    }

    /// <summary>Cells that have every place of the area, each once: the middle's, then those beside it that are
    /// needed.</summary>
    /// <param name="cells">Room for nine.</param>
    /// <returns>How many.</returns>
    /// <remarks>Redis' cells in Redis' order, so that results that are not sorted have its order, too.</remarks>
    public readonly int Cover(Span<GeoCell> cells)
    {
        Debug.Assert(cells.Length >= 9 && UnitMeters > 0, "there is room for nine cells, and sizes have a unit");
        GetBounds(out double west, out double east, out double south, out double north);
        GeoCell middle = GeoHash.CellOf(Longitude, Latitude, EstimateSteps());
        if (middle.Steps > 1 && !IsEnough(middle, west, east, south, north))
            middle = GeoHash.CellOf(Longitude, Latitude, middle.Steps - 1);
        middle.GetBounds(out double cellWest, out double cellEast, out double cellSouth, out double cellNorth);
        bool exact = middle.Steps >= 2;
        bool noSouth = exact && cellSouth < south, noNorth = exact && cellNorth > north;
        bool noWest = exact && cellWest < west, noEast = exact && cellEast > east;

        int count = 0;
        cells[count++] = middle;
        ReadOnlySpan<(int East, int North)> sides =
            [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];
        foreach (var (toEast, toNorth) in sides)
        {
            if ((toNorth > 0 && noNorth) || (toNorth < 0 && noSouth) || (toEast > 0 && noEast)
                || (toEast < 0 && noWest)) continue;
            GeoCell cell = middle.Beside(toEast, toNorth);
            // the earth is round: of few cells some are the same
            if (!cells[..count].Contains(cell)) cells[count++] = cell;
        }

        return count;
    }

    private readonly void GetBounds(out double west, out double east, out double south, out double north)
    {
        double height = UnitMeters * (IsBox ? Height / 2 : Radius), width = UnitMeters * (IsBox ? Width / 2 : Radius);
        double up = GeoHash.LatitudeDegrees(height);
        // A degree of longitude is shortest on the side of the nearer pole.
        double across = GeoHash.LongitudeDegrees(width, Latitude < 0 ? Latitude - up : Latitude + up);
        west = Longitude - across;
        east = Longitude + across;
        south = Latitude - up;
        north = Latitude + up;
    }

    /// <summary>How often the earth is halved so that nine cells have the area.</summary>
    private readonly int EstimateSteps()
    {
        double meters = UnitMeters
            * (IsBox ? Math.Sqrt((Width / 2 * (Width / 2)) + (Height / 2 * (Height / 2))) : Radius);
        if (meters == 0) return GeoHash.StepsMax;
        int steps = 1;
        // Ends: doubles until half the earth.
        for (; meters < MercatorMaxMeters; meters *= 2) steps++;
        steps -= 2;
        if (Latitude is > 66 or < -66) steps--;       // cells are narrower towards the poles
        if (Latitude is > 80 or < -80) steps--;
        return Math.Clamp(steps, 1, GeoHash.StepsMax);
    }

    private static bool IsEnough(GeoCell middle, double west, double east, double south, double north)
    {
        middle.Beside(0, 1).GetBounds(out _, out _, out _, out double northEnd);
        middle.Beside(0, -1).GetBounds(out _, out _, out double southEnd, out _);
        middle.Beside(1, 0).GetBounds(out _, out double eastEnd, out _, out _);
        middle.Beside(-1, 0).GetBounds(out double westEnd, out _, out _, out _);
        return northEnd >= north && southEnd <= south && eastEnd >= east && westEnd <= west;
    }
}
