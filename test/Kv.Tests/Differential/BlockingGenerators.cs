using System.Globalization;

namespace Kv.Tests.Differential;

/// <summary>How random calls of the commands that wait are drawn.</summary>
/// <remarks>
/// Mostly a key is given an element just ahead of the call (or is of another type, which is answered at once, too).
/// Where none has, and in no transaction, the call waits for a moment and gives up: never for ever, since a difference
/// is shrunk by leaving commands out.
/// </remarks>
internal static class BlockingGenerators
{
    internal static object[] ListPop(Gen g) => [.. Keys(g, "l", g.Random.Next(1, 4)), Seconds(g)];

    internal static object[] SortedSetPop(Gen g) => [.. Keys(g, "z", g.Random.Next(1, 4)), Seconds(g)];

    internal static object[] BLMove(Gen g) => [.. Keys(g, "l", 1), g.Key("l"), Side(g), Side(g), Seconds(g)];

    internal static object[] BRPopLPush(Gen g) => [.. Keys(g, "l", 1), g.Key("l"), Seconds(g)];

    internal static object[] BLMPop(Gen g) => PopSeveral(g, "l", Side(g));

    internal static object[] BZMPop(Gen g) => PopSeveral(g, "z", g.Word(g.Chance(0.97) ? g.Pick("MIN", "MAX") : "MID"));

    /// <summary>What XREAD and XREADGROUP are told of waiting, if anything.</summary>
    internal static object[] Block(Gen g) => !g.Chance(0.25) ? []
        : [g.Word("BLOCK"), g.Chance(0.95) ? g.Pick("1", "2") : g.Pick("-1", "x", "", "1.5", "9223372036854775808")];

    private static object[] PopSeveral(Gen g, string type, string end)
    {
        int count = g.Random.Next(1, 4);
        object[] keys = Keys(g, type, count);
        string told = g.Chance(0.95) ? count.ToString(CultureInfo.InvariantCulture) : g.Integer();
        return [Seconds(g), told, .. keys, end, .. g.Chance(0.4) ? (object[])[g.Word("COUNT"), g.Integer()] : []];
    }

    // One of the keys has an element then, wherever it comes among them.
    private static object[] Keys(Gen g, string type, int count)
    {
        byte[][] keys = [.. Enumerable.Range(0, count).Select(_ => g.Key(type))];
        if (g.Chance(0.95))
        {
            byte[] key = g.Pick(keys);
            if (type == "l") g.Ahead(g.Pick("RPUSH", "LPUSH"), key, g.Value());
            else g.Ahead("ZADD", key, g.Random.Next(-10, 10).ToString(CultureInfo.InvariantCulture), g.Member());
        }

        return keys;
    }

    private static string Side(Gen g) => g.Word(g.Chance(0.97) ? g.Pick("LEFT", "RIGHT") : "UP");

    private static string Seconds(Gen g) =>
        g.Chance(0.95) ? g.Pick("0.001", "0.001", "0.002", "1e-3", ".0001", "0x0.01p0")
        : g.Pick("-1", "-0.5", "x", "", "nan", "inf", "-inf", "1e400", " 1", "1 ");
}
