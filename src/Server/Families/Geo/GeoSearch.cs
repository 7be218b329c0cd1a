using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Finds the members of a held geo set that are in an area, and answers or stores them: whole, or a piece at a
/// time.</summary>
/// <remarks>Members are where the set has them: it must not change meanwhile. Whoever makes one disposes it.</remarks>
internal sealed class GeoSearch : IDisposable
{
    private readonly GeoMatches _found;
    private readonly GeoArea _area;
    private readonly bool _withDistance, _withHash, _withPlace, _storesDistance;
    private SortedSetBuilder _result;
    private int _at;
    private bool _isCollected;

    /// <param name="query">With the middle of its area.</param>
    public GeoSearch(Store store, scoped in GeoQuery query)
    {
        _area = query.Area;
        (_withDistance, _withHash, _withPlace, _storesDistance) =
            (query.WithDistance, query.WithHash, query.WithPlace, query.StoresDistance);
        _found = new GeoMatches(store)
        {
            Direction = query.IsAscending || (query.Count > 0 && !query.IsAny && !query.IsDescending)
                ? 1 : query.IsDescending ? -1 : 0,
            Wanted = query.Count > 0 ? query.Count : long.MaxValue,
            Limit = query.IsAny ? query.Count : long.MaxValue,
        };
        _result = new SortedSetBuilder(store);
    }

    /// <summary>How many are answered or stored, when they have been found.</summary>
    public int Count => _found.Count;

    /// <summary>Collects what the query asks for.</summary>
    /// <param name="elements">About how many elements to look at.</param>
    /// <returns>True when all is found.</returns>
    public bool Find(in SortedSetView set, int elements) => _found.Step(set, _area, elements);

    /// <summary>Writes the next one that was found.</summary>
    /// <returns>False when there was none left.</returns>
    public bool TryWrite(ReplyWriter reply)
    {
        if (_at == Count) return false;
        Debug.Assert((uint)_at < (uint)Count && _area.UnitMeters > 0, "a match has a distance in a unit");
        GeoMatch found = _found[_at++];
        int parts = 1 + (_withDistance ? 1 : 0) + (_withHash ? 1 : 0) + (_withPlace ? 1 : 0);
        if (parts > 1) reply.WriteArray(parts);
        reply.WriteBulk(found.Bytes);
        if (_withDistance) WriteDistance(reply, found.Meters / _area.UnitMeters);
        if (_withHash) reply.WriteInteger((long)found.Score);
        if (_withPlace) WritePlace(reply, found.Score);
        return true;
    }

    /// <summary>Whether another one is to be written.</summary>
    public bool IsWritten => _at == Count;

    /// <summary>Stores what was found, a piece at a time: the last one makes it the key's value.</summary>
    /// <param name="elements">About how many elements to write.</param>
    /// <param name="status">Ok; OutOfMemory: nothing was changed, and all is over.</param>
    /// <returns>True when all is done.</returns>
    public bool Store(HeldValue target, int elements, out StoreStatus status)
    {
        Debug.Assert(elements > 0 && _at <= Count, "each call gets on");
        status = StoreStatus.OutOfMemory;
        for (int end = (int)Math.Min(Count, (long)_at + elements); _at < end; _at++)
        {
            GeoMatch found = _found[_at];
            double score = _storesDistance ? found.Meters / _area.UnitMeters : found.Score;
            if (!_result.TryAdd(found.Bytes, score, ScoreAggregate.Sum)) return true;
        }

        if (!_isCollected)
        {
            _isCollected = _at == Count;
            return false;
        }

        if (!_result.TryFinish(elements, out bool isDone)) return true;
        if (isDone) status = _result.Store(target);
        return isDone;
    }

    public void Dispose()
    {
        _found.Dispose();
        _result.Dispose();
    }

    /// <summary>A distance, as its text with four decimals.</summary>
    public static void WriteDistance(ReplyWriter reply, double distance)
    {
        Debug.Assert(distance >= 0, "a distance is not negative");
        const long scale = 10_000;
        long scaled = (long)Math.Round(distance * scale, MidpointRounding.ToEven);
        Span<byte> text = stackalloc byte[NumberText.MaxInt64Bytes + 6];
        int length = NumberText.FormatInt64(scaled / scale, text);
        text[length++] = (byte)'.';
        for (long unit = scale / 10, rest = scaled % scale; unit > 0; unit /= 10)
            text[length++] = (byte)('0' + (rest / unit % 10));
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
