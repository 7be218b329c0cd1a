using System.Globalization;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What a search is asked for, as the arguments of GEOSEARCH, GEORADIUS and their kin tell it.</summary>
internal ref struct GeoQuery
{
    public GeoArea Area;

    /// <summary>The member around which is searched; else the area has its middle.</summary>
    public ReadOnlySpan<byte> Member;
    public bool IsAroundMember;

    public bool WithDistance, WithHash, WithPlace;

    /// <summary>Most results; 0: all.</summary>
    public long Count;

    /// <summary>Any of those inside will do, not only the nearest.</summary>
    public bool IsAny;

    /// <summary>From the nearest on, or from the farthest.</summary>
    public bool IsAscending, IsDescending;

    /// <summary>Index of the argument that names the key which takes the results; 0: they are answered.</summary>
    public int StoreKey;

    /// <summary>The distances are the scores of what is stored.</summary>
    public bool StoresDistance;

    /// <summary>What is wrong with the radius around a member: an error once there is a set, which Redis looks for
    /// first. Else empty.</summary>
    public ReadOnlySpan<byte> RadiusError;

    private bool _hasMiddle, _hasSize;

    /// <summary>Reads what follows the key of GEORADIUS (a place) or GEORADIUSBYMEMBER; a bad argument is the first
    /// error.</summary>
    public static GeoQuery ReadRadius(ref CommandArguments arguments, bool byMember, bool mayStore)
    {
        var query = default(GeoQuery);
        if (byMember) query.ReadMember(ref arguments);
        else ReadPlace(ref arguments, out query.Area.Longitude, out query.Area.Latitude);
        query.ReadCircle(ref arguments);
        if (!byMember && !query.RadiusError.IsEmpty) arguments.Fail(query.RadiusError);
        query._hasMiddle = query._hasSize = true;
        while (arguments.Remaining > 0)
        {
            if (query.TryReadOption(ref arguments)) continue;
            bool isStore = mayStore && arguments.Remaining > 1 && arguments.TryKeyword("STORE"u8);
            bool isDistance = !isStore && mayStore && arguments.Remaining > 1 && arguments.TryKeyword("STOREDIST"u8);
            if (!isStore && !isDistance)
            {
                arguments.SyntaxError();
                continue;
            }

            query.StoreKey = arguments.Position;
            query.StoresDistance = isDistance;
            arguments.Skip(1);
        }

        query.Check(ref arguments, "STORE option in GEORADIUS", "");
        return query;
    }

    /// <summary>Reads what follows the keys of GEOSEARCH and GEOSEARCHSTORE.</summary>
    /// <param name="storeKey">Index of the destination; 0: none.</param>
    public static GeoQuery ReadSearch(ref CommandArguments arguments, int storeKey)
    {
        var query = new GeoQuery { StoreKey = storeKey };
        while (arguments.Remaining > 0)
        {
            if (query.TryReadOption(ref arguments) || query.TryReadArea(ref arguments)) continue;
            if (storeKey != 0 && arguments.TryKeyword("STOREDIST"u8)) query.StoresDistance = true;
            else arguments.SyntaxError();
        }

        query.Check(ref arguments, "GEOSEARCHSTORE", Encoding.Latin1.GetString(arguments[0].Span));
        return query;
    }

    /// <summary>Reads a longitude and a latitude.</summary>
    public static void ReadPlace(ref CommandArguments arguments, out double longitude, out double latitude)
    {
        longitude = arguments.NextDouble();
        latitude = arguments.NextDouble();
        if (arguments.Failed || GeoHash.IsOnMap(longitude, latitude)) return;
        arguments.Fail(Encoding.ASCII.GetBytes(
            $"ERR invalid longitude,latitude pair {Text(longitude)},{Text(latitude)}"));
    }

    // As C's %f.
    private static string Text(double value) =>
        double.IsFinite(value) ? value.ToString("F6", CultureInfo.InvariantCulture) : value > 0 ? "inf" : "-inf";

    /// <summary>Reads a unit.</summary>
    /// <returns>How many meters it is.</returns>
    public static double ReadUnit(ref CommandArguments arguments)
    {
        double meters = UnitOf(arguments.NextBytes());
        if (meters == 0) arguments.Fail(BadUnit);
        return meters;
    }

    private static ReadOnlySpan<byte> BadUnit => "ERR unsupported unit provided. please use M, KM, FT, MI"u8;

    private static double UnitOf(ReadOnlySpan<byte> unit) =>
        CommandName.Equal("M"u8, unit) ? 1 : CommandName.Equal("KM"u8, unit)
        ? 1000 : CommandName.Equal("FT"u8, unit) ? 0.3048
        : CommandName.Equal("MI"u8, unit) ? 1609.34 : 0;

    private bool TryReadOption(ref CommandArguments arguments)
    {
        if (arguments.TryKeyword("WITHDIST"u8)) WithDistance = true;
        else if (arguments.TryKeyword("WITHHASH"u8)) WithHash = true;
        else if (arguments.TryKeyword("WITHCOORD"u8)) WithPlace = true;
        else if (arguments.TryKeyword("ANY"u8)) IsAny = true;
        else if (arguments.TryKeyword("ASC"u8)) SetOrder(descending: false);
        else if (arguments.TryKeyword("DESC"u8)) SetOrder(descending: true);
        else if (arguments.Remaining > 1 && arguments.TryKeyword("COUNT"u8)) ReadCount(ref arguments);
        else return false;
        return true;
    }

    private bool TryReadArea(ref CommandArguments arguments)
    {
        if (arguments.Remaining > 1 && !(_hasMiddle && !IsAroundMember) && arguments.TryKeyword("FROMMEMBER"u8))
        {
            ReadMember(ref arguments);
        }
        else if (arguments.Remaining > 2 && !IsAroundMember && arguments.TryKeyword("FROMLONLAT"u8))
        {
            ReadPlace(ref arguments, out Area.Longitude, out Area.Latitude);
        }
        else if (arguments.Remaining > 2 && !Area.IsBox && arguments.TryKeyword("BYRADIUS"u8))
        {
            ReadCircle(ref arguments);
            if (!RadiusError.IsEmpty) arguments.Fail(RadiusError);
            _hasSize = true;
            return true;
        }
        else if (arguments.Remaining > 3 && !(_hasSize && !Area.IsBox) && arguments.TryKeyword("BYBOX"u8))
        {
            ReadBox(ref arguments);
            _hasSize = true;
            return true;
        }
        else
        {
            return false;
        }

        _hasMiddle = true;
        return true;
    }

    private void SetOrder(bool descending)
    {
        IsAscending = !descending;
        IsDescending = descending;
    }

    private void ReadCount(ref CommandArguments arguments)
    {
        Count = arguments.NextInt64();
        if (Count <= 0) arguments.Fail("ERR COUNT must be > 0"u8);
    }

    private void ReadMember(ref CommandArguments arguments)
    {
        Member = arguments.NextBytes();
        IsAroundMember = !arguments.Failed;
    }

    private void ReadCircle(ref CommandArguments arguments)
    {
        var radius = arguments.NextBytes();
        Area.UnitMeters = UnitOf(arguments.NextBytes());
        if (arguments.Failed) return;
        if (!NumberText.TryParseDouble(radius, out Area.Radius)) RadiusError = "ERR need numeric radius"u8;
        else if (Area.Radius < 0) RadiusError = "ERR radius cannot be negative"u8;
        else if (Area.UnitMeters == 0) RadiusError = BadUnit;
    }

    private void ReadBox(ref CommandArguments arguments)
    {
        Area.IsBox = true;
        Area.Width = NextSize(ref arguments, "ERR need numeric width"u8);
        Area.Height = NextSize(ref arguments, "ERR need numeric height"u8);
        if (Area.Width < 0 || Area.Height < 0) arguments.Fail("ERR height or width cannot be negative"u8);
        Area.UnitMeters = ReadUnit(ref arguments);
    }

    private static double NextSize(ref CommandArguments arguments, ReadOnlySpan<byte> error)
    {
        var text = arguments.NextBytes();
        if (!arguments.Failed && NumberText.TryParseDouble(text, out double size)) return size;
        arguments.Fail(error);
        return 0;
    }

    private readonly void Check(ref CommandArguments arguments, string storeOption, string command)
    {
        if (arguments.Failed) return;
        if (StoreKey != 0 && (WithDistance || WithHash || WithPlace))
            Fail(ref arguments, $"ERR {storeOption} is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
        if (!_hasMiddle)
            Fail(ref arguments, $"ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for {command}");
        if (!_hasSize) Fail(ref arguments, $"ERR exactly one of BYRADIUS and BYBOX can be specified for {command}");
        if (IsAny && Count == 0) arguments.Fail("ERR the ANY argument requires COUNT argument"u8);
    }

    private static void Fail(ref CommandArguments arguments, string text) =>
        arguments.Fail(Encoding.Latin1.GetBytes(text));
}
