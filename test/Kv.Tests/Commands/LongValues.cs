using System.Security.Cryptography;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Values of all kinds that are long enough for commands to work in steps.</summary>
internal static class LongValues
{
    /// <summary>Elements of a value.</summary>
    public const int Many = 30_000;

    /// <summary>A digest of a value: equal values have equal ones.</summary>
    // Nothing else is known of a list or stream than what DUMP shows.
    public static string Left(WindowClient client, string key)
    {
        var reply = client.Run(RespText.Encode($"DUMP {key}"));
        return $"{reply.Length} {Convert.ToHexString(SHA256.HashData(reply))}";
    }

    /// <summary>Makes k, beside which there is nothing but what it is copied from: making one takes far longer. One of
    /// another kind goes: each check of integrity would walk it, too.</summary>
    public static void Fill(WindowClient client, string kind)
    {
        foreach (int used in (int[])[1, 5, 0])
        {
            client.Run($"SELECT {used}");
            client.Run("FLUSHDB");
        }

        if (kind == "none") return;
        client.Run("SELECT 15");
        if (client.Run($"EXISTS {kind}") == ":0\r\n")
        {
            client.Run("FLUSHDB");
            Make(client, kind);
            client.Run($"RENAME k {kind}");
        }

        client.Run($"COPY {kind} k DB 0");
        client.Run("SELECT 0");
    }

    private static void Make(WindowClient client, string kind)
    {
        string filler = new('x', 1500);
        if (kind == "text") client.Run("SET k " + string.Join(',', Enumerable.Range(0, 300_000)));
        else if (kind == "random") client.Run($"SETRANGE k 5000000 {new string('r', 500_000)}");
        else if (kind == "alone")
        {
            for (int i = 0; i < 6000; i += 100)
                client.Run("RPUSH k " + string.Join(
                    ' ', Enumerable.Range(i, 100).Select(n => n % 3 == 0 ? "same" : filler + n)));
        }
        else if (kind is "stream" or "pending")
        {
            for (int i = 1; i <= Many; i++) client.Run($"XADD k {i} field value:{i}");
            client.Run("XDEL k 5 100 101 102 7000 29999");
            client.Run("XGROUP CREATE k group 0");
            client.Run("XGROUP CREATE k another 0");
            client.Run("XREADGROUP GROUP group one COUNT 9000 STREAMS k >");
            client.Run($"XREADGROUP GROUP group two {(kind == "pending" ? "" : "COUNT 9000")} STREAMS k >");
            client.Run("XREADGROUP GROUP another three COUNT 100 STREAMS k >");
            if (kind == "stream") return;
            for (int i = 0; i < 4; i++) client.Run($"XAUTOCLAIM k group four 0 {i * 3000} COUNT 1000 JUSTID");
            // By a clock that stands still, nothing else is old.
            for (int i = 1; i < Many; i += 3000)
                client.Run($"XCLAIM k group two 0 {string.Join(' ', Enumerable.Range(i, 1500))} TIME {i} JUSTID");
            for (int i = 7; i < Many; i += 70) client.Run($"XDEL k {i}");
        }
        else
        {
            for (int i = 0; i < Many; i += 1000)
            {
                int[] range = [.. Enumerable.Range(i, 1000)];
                if (kind == "list")
                    client.Run("RPUSH k " + string.Join(' ', range.Select(n => n % 3 == 0 ? "same" : $"element:{n}")));
                else if (kind == "set") client.Run("SADD k " + string.Join(' ', range.Select(n => $"member:{n}")));
                else if (kind == "hash") client.Run("HSET k " + string.Join(' ', range.Select(n => $"f{n} value:{n}")));
                else if (kind == "places")
                    client.Run("GEOADD k " + string.Join(
                        ' ', range.Select(n => $"{(n * 37 % 3600 / 10.0) - 180} {(n * 11 % 1600 / 10.0) - 80} m{n}")));
                else client.Run("ZADD k " + string.Join(' ', range.Select(n => $"{n % 777} m{n}")));
            }

            if (kind == "list") client.Run("RPUSH k last");
        }
    }
}
