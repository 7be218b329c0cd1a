using System.Diagnostics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

//   52 bits:   | lon 25 | lat 25 | lon 24 | lat 24 | ... | lon 0 | lat 0 |
//
//   Each half of 26 bits tells which of 2^26 equal parts of its range a place is in. A prefix of 2n bits is a cell: n
// times the
//   earth was halved both ways. The scores of all places of a cell are one range.

/// <summary>Places on the earth as whole numbers of 52 bits, which a double has exactly: the scores of geo sets, as
/// Redis has them.</summary>
internal static class GeoHash
{
    public const int StepsMax = 26;

    /// <summary>Where Web Mercator ends: the map is a square up to there.</summary>
    public const double LatitudeMax = 85.05112878, LongitudeMax = 180;

    private const double EarthRadiusMeters = 6372797.560856;
    private const int TextLength = 11;
    private const double PoleLatitude = 90;

    private static ReadOnlySpan<byte> Letters => "0123456789bcdefghjkmnpqrstuvwxyz"u8;

    /// <summary>Whether a place has a number.</summary>
    public static bool IsOnMap(double longitude, double latitude) =>
        longitude is >= -LongitudeMax and <= LongitudeMax && latitude is >= -LatitudeMax and <= LatitudeMax;

    /// <summary>The number of a place.</summary>
    public static ulong Encode(double longitude, double latitude) => CellOf(longitude, latitude, StepsMax).Bits;

    /// <summary>The cell of a place after <paramref name="steps"/> steps.</summary>
    public static GeoCell CellOf(double longitude, double latitude, int steps) =>
        new(PartOf(longitude, LongitudeMax, steps), PartOf(latitude, LatitudeMax, steps), steps);

    /// <summary>The middle of the smallest cell that a number names.</summary>
    public static void Decode(double score, out double longitude, out double latitude)
    {
        GeoCell.Of(ToBits(score)).GetBounds(out double west, out double east, out double south, out double north);
        longitude = Math.Clamp((west + east) / 2, -LongitudeMax, LongitudeMax);
        latitude = Math.Clamp((south + north) / 2, -LatitudeMax, LatitudeMax);
    }

    /// <summary>The number that a score is: any sorted set may be asked for places, also one whose scores are
    /// none.</summary>
    /// <remarks>
    /// What is no number of 64 bits becomes what C makes of it on x86-64, by an instruction for signed numbers which
    /// gives 2^63 for all that it cannot hold: Redis' places of such scores are those.
    /// </remarks>
    private static ulong ToBits(double score)
    {
        const double middle = 9223372036854775808.0;
        return score < middle ? ToSigned(score) : ToSigned(score - middle) ^ (1UL << 63);

        static ulong ToSigned(double value) => value is >= -middle and < middle ? (ulong)(long)value : 1UL << 63;
    }

    /// <summary>Writes a place as others write geohashes: 11 letters of 5 bits, of the whole range up to the
    /// poles.</summary>
    public static void WriteText(double longitude, double latitude, Span<byte> text)
    {
        Debug.Assert(text.Length >= TextLength, "there is room for the letters");
        ulong bits = new GeoCell(PartOf(longitude, LongitudeMax, StepsMax), PartOf(latitude, PoleLatitude, StepsMax),
            StepsMax).Bits;
        // 52 bits are ten letters and two bits: the last letter is always the first of the alphabet.
        for (int i = 0; i < TextLength - 1; i++)
            text[i] = Letters[(int)(bits >> ((2 * StepsMax) - (5 * (i + 1)))) & 31];
        text[TextLength - 1] = Letters[0];
    }

    /// <summary>Meters between two places, on a sphere.</summary>
    public static double Distance(double longitude, double latitude, double otherLongitude, double otherLatitude)
    {
        double sinLongitude = Math.Sin((Radians(otherLongitude) - Radians(longitude)) / 2);
        if (sinLongitude == 0) return LatitudeDistance(latitude, otherLatitude);
        double from = Radians(latitude), to = Radians(otherLatitude), sinLatitude = Math.Sin((to - from) / 2);
        double part = (sinLatitude * sinLatitude) + (Math.Cos(from) * Math.Cos(to) * sinLongitude * sinLongitude);
        return 2.0 * EarthRadiusMeters * Math.Asin(Math.Sqrt(part));
    }

    /// <summary>Meters between two latitudes, along a meridian.</summary>
    public static double LatitudeDistance(double latitude, double other) =>
        EarthRadiusMeters * Math.Abs(Radians(other) - Radians(latitude));

    /// <summary>Degrees of a length along a meridian.</summary>
    public static double LatitudeDegrees(double meters) => Degrees(meters / EarthRadiusMeters);

    /// <summary>Degrees of a length along a circle of latitude.</summary>
    public static double LongitudeDegrees(double meters, double latitude) =>
        Degrees(meters / EarthRadiusMeters / Math.Cos(Radians(latitude)));

    private static double Radians(double degrees) => degrees * (Math.PI / 180.0);

    private static double Degrees(double radians) => radians / (Math.PI / 180.0);

    private static uint PartOf(double value, double max, int steps)
    {
        Debug.Assert(value >= -max && value <= max && steps is > 0 and <= StepsMax, "the place is on the map");
        return (uint)(ulong)((value + max) / (max + max) * (1UL << steps));
    }
}

/// <summary>A cell of the earth: which part of the longitudes and of the latitudes, of 2^steps each.</summary>
internal readonly record struct GeoCell(uint Longitude, uint Latitude, int Steps)
{
    private const ulong EvenBits = 0x5555555555555555;

    /// <summary>The smallest cell of a number.</summary>
    public static GeoCell Of(ulong bits) => new(Gather(bits >> 1), Gather(bits), GeoHash.StepsMax);

    /// <summary>Its 2 * steps bits.</summary>
    public ulong Bits => (Spread(Longitude) << 1) | Spread(Latitude);

    /// <summary>The lowest score of its places.</summary>
    public ulong FirstScore => Bits << (2 * (GeoHash.StepsMax - Steps));

    /// <summary>The number after the highest score of its places.</summary>
    public ulong EndScore => (Bits + 1) << (2 * (GeoHash.StepsMax - Steps));

    /// <summary>The cell beside it; around the earth, also over the poles.</summary>
    public GeoCell Beside(int east, int north)
    {
        uint mask = (uint)((1UL << Steps) - 1);
        return this with { Longitude = (uint)(Longitude + east) & mask, Latitude = (uint)(Latitude + north) & mask };
    }

    /// <summary>Its sides in degrees.</summary>
    public void GetBounds(out double west, out double east, out double south, out double north)
    {
        west = Side(Longitude, GeoHash.LongitudeMax);
        east = Side(Longitude + 1, GeoHash.LongitudeMax);
        south = Side(Latitude, GeoHash.LatitudeMax);
        north = Side(Latitude + 1, GeoHash.LatitudeMax);
    }

    private double Side(uint part, double max) => -max + (part * 1.0 / (1UL << Steps) * (max + max));

    /// <summary>Puts each bit at twice its place.</summary>
    private static ulong Spread(uint value)
    {
        if (Bmi2.X64.IsSupported) return Bmi2.X64.ParallelBitDeposit(value, EvenBits);
        ulong bits = 0;
        for (int i = 0; i < 32; i++) bits |= (ulong)(value >> i & 1) << (2 * i);
        return bits;
    }

    private static uint Gather(ulong bits)
    {
        if (Bmi2.X64.IsSupported) return (uint)Bmi2.X64.ParallelBitExtract(bits, EvenBits);
        uint value = 0;
        for (int i = 0; i < 32; i++) value |= (uint)(bits >> (2 * i) & 1) << i;
        return value;
    }
}
