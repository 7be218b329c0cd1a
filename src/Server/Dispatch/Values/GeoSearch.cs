using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Finds the members of a held geo set that are in an area, and answers or stores them.</summary>
/// <remarks>Members are where the set has them: it must not change meanwhile.</remarks>
internal sealed unsafe class GeoSearch
{
    private readonly GeoMatches _found = new();

    /// <summary>Collects what the query asks for.</summary>
    public void Run(in SortedSetView set, scoped in GeoQuery query)
    {
        _found.Collect(set, query.Area, query.IsAny ? query.Count : long.MaxValue);
        if (query.IsAscending || (query.Count > 0 && !query.IsAny && !query.IsDescending)) _found.Sort(1);
        else if (query.IsDescending) _found.Sort(-1);
        if (query.Count > 0) _found.Cut(query.Count);
    }

    /// <summary>Answers it.</summary>
    public void Write(ReplyWriter reply, scoped in GeoQuery query)
    {
        int parts = 1 + (query.WithDistance ? 1 : 0) + (query.WithHash ? 1 : 0) + (query.WithPlace ? 1 : 0);
        reply.WriteArray(_found.All.Count);
        foreach (GeoMatch found in _found.All)
        {
            if (parts > 1) reply.WriteArray(parts);
            reply.WriteBulk(found.Member, found.Length);
            if (query.WithDistance) WriteDistance(reply, found.Meters / query.Area.UnitMeters);
            if (query.WithHash) reply.WriteInteger((long)found.Score);
            if (query.WithPlace) WritePlace(reply, found.Score);
        }
    }

    /// <summary>Puts it into what becomes another set.</summary>
    /// <param name="unitMeters">Of the distances, which are the scores then; 0: the scores are what they were.</param>
    /// <returns>False when there is no memory.</returns>
    public bool TryAddTo(scoped ref SortedSetBuilder result, double unitMeters)
    {
        foreach (GeoMatch found in _found.All)
        {
            double score = unitMeters != 0 ? found.Meters / unitMeters : found.Score;
            if (!result.TryAdd(new ReadOnlySpan<byte>(found.Member, found.Length), score, ScoreAggregate.Sum)) return false;
        }

        return result.TryFinish();
    }

    /// <summary>A distance, as its text with four decimals.</summary>
    public static void WriteDistance(ReplyWriter reply, double distance)
    {
        const long scale = 10_000;
        long scaled = (long)Math.Round(distance * scale, MidpointRounding.ToEven);
        Span<byte> text = stackalloc byte[NumberText.MaxInt64Bytes + 6];
        int length = NumberText.FormatInt64(scaled / scale, text);
        text[length++] = (byte)'.';
        for (long unit = scale / 10, rest = scaled % scale; unit > 0; unit /= 10) text[length++] = (byte)('0' + (rest / unit % 10));
        reply.WriteBulk(text[..length]);
    }

    /// <summary>Longitude and latitude of a score.</summary>
    public static void WritePlace(ReplyWriter reply, double score)
    {
        GeoHash.Decode(score, out double longitude, out double latitude);
        reply.WriteArray(2);
        WriteDegrees(reply, longitude);
        WriteDegrees(reply, latitude);
    }

    // All 17 decimals, as Redis: in RESP3 a double, though its text is not that of other doubles.
    private static void WriteDegrees(ReplyWriter reply, double degrees)
    {
        Span<byte> frame = stackalloc byte[NumberText.MaxHumanBytes + 3];
        int length = NumberText.FormatHumanDouble(degrees, frame[1..]);
        if (reply.Version == RespVersion.Resp2)
        {
            reply.WriteBulk(frame.Slice(1, length));
            return;
        }

        frame[0] = RespType.Double;
        frame[length + 1] = (byte)'\r';
        frame[length + 2] = (byte)'\n';
        reply.WriteRaw(frame[..(length + 3)]);
    }
}
