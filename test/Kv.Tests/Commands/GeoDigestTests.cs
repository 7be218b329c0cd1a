using System.Globalization;
using System.Security.Cryptography;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Ten thousand points, and what redis-server 7.0.15 answers about them, kept as a hash of its
/// replies.</summary>
/// <remarks>With KV_TEST_SERVER they are asked again, of that server.</remarks>
public sealed class GeoDigestTests
{
    private const int Points = 10_000;

    /// <summary>192 bits of SHA-256 of all replies, recorded from redis-server 7.0.15.</summary>
    private const string Recorded = "1A605783D3FAB82A254DF6A2ADEBDF549CE81CDB8231733C";

    private ulong _state = 20_260_101;

    [Fact]
    public void Ten_thousand_points_have_the_hashes_places_distances_and_neighbours_of_the_reference()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        using var digest = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        for (int i = 0; i < Points; i += 100)
        {
            var some = Enumerable.Range(i, 100).ToArray();
            string names = string.Join(' ', some.Select(n => $"p{n}"));
            Add($"GEOADD g {string.Join(' ', some.Select(n => $"{Longitude()} {Latitude()} p{n}"))}");
            Add($"GEOHASH g {names}");
            Add($"GEOPOS g {names}");
            Add($"ZMSCORE g {names}");
        }

        for (int i = 0; i < 2000; i++) Add($"GEODIST g p{Next(Points)} p{Next(Points)} {Unit()}");
        for (int i = 0; i < 300; i++)
        {
            string from = Next(2) == 0 ? $"FROMMEMBER p{Next(Points)}" : $"FROMLONLAT {Longitude()} {Latitude()}";
            string area = Next(2) == 0 ? $"BYRADIUS {1 + Next(3000)} km"
                : $"BYBOX {1 + Next(5000)} {1 + Next(5000)} mi";
            Add($"GEOSEARCH g {from} {area} {(Next(2) == 0 ? "ASC" : "DESC")} WITHDIST WITHHASH WITHCOORD");
        }

        Assert.Equal(Recorded, Convert.ToHexString(digest.GetHashAndReset())[..48]);

        void Add(string line) => digest.AppendData(RespText.Bytes(client.Ok(line).ToString()));
    }

    // A generator of our own: .NET's may be another one some day.
    private long Next(long below)
    {
        _state = unchecked((_state * 6364136223846793005) + 1442695040888963407);
        return (long)((_state >> 33) % (ulong)below);
    }

    private string Longitude() => Text(Next(360_000_001) - 180_000_000);

    private string Latitude() => Text(Next(170_000_001) - 85_000_000);

    private string Unit() => Next(4) switch { 0 => "m", 1 => "km", 2 => "mi", _ => "ft" };

    private static string Text(long millionths) => (millionths / 1_000_000m).ToString(CultureInfo.InvariantCulture);
}
