using System.Globalization;

namespace Kv.Tests.Differential;

/// <summary>How random calls of the commands of streams are drawn.</summary>
/// <remarks>
/// Ids are given, and grow through a round, so that both servers have the same. Idle times are 0 or days, never about
/// to pass. XSETID only goes ahead: 7.0 lets it fall behind what was deleted; hence no ids far ahead, which the
/// catalogue's tests have.
/// </remarks>
internal static class StreamGenerators
{
    internal static object[] XAdd(Gen g) =>
        [Key(g), .. If(g.Chance(0.1), g.Word("NOMKSTREAM")), .. If(g.Chance(0.25), Trim(g)), NewId(g), .. Pairs(g)];

    internal static object[] XTrim(Gen g) => [Key(g), .. Trim(g)];

    internal static object[] XLen(Gen g) => [Key(g)];

    internal static object[] XRange(Gen g) => [Key(g), End(g, "-"), End(g, "+"), .. Count(g)];

    internal static object[] XRevRange(Gen g) => [Key(g), End(g, "+"), End(g, "-"), .. Count(g)];

    internal static object[] XDel(Gen g) => [Key(g), .. Ids(g, 4)];

    internal static object[] XSetId(Gen g) => [Key(g),
        g.Chance(0.95) ? $"{++g.Clock}-{g.Random.Next(3)}" : g.Pick("x", "-", "+", "1-*", ""),
        .. If(g.Chance(0.2), g.Word("ENTRIESADDED"),
            g.Chance(0.8) ? g.Random.Next(1000).ToString(CultureInfo.InvariantCulture) : g.Integer()),
        .. If(g.Chance(0.2), g.Word("MAXDELETEDID"), Id(g))];

    internal static object[] XRead(Gen g)
    {
        int streams = g.Random.Next(1, 4);
        return [.. Count(g), .. BlockingGenerators.Block(g), g.Word("STREAMS"), .. Times(streams, () => Key(g)),
            .. Times(streams, () => ReadFrom(g))];
    }

    // From "+" 7.4 reads the last entry; a reference of 7.0 refuses it.
    private static string ReadFrom(Gen g)
    {
        string id = g.Chance(0.1) ? g.Pick("$", ">", "$") : Id(g);
        return id == "+" ? "$" : id;
    }

    internal static object[] XReadGroup(Gen g)
    {
        int streams = g.Chance(0.7) ? 1 : 2;
        return [g.Word("GROUP"), Group(g), Consumer(g), .. Count(g), .. BlockingGenerators.Block(g),
            .. If(g.Chance(0.15), g.Word("NOACK")), g.Word("STREAMS"), .. Times(streams, () => Key(g)),
            .. Times(streams, () => g.Chance(0.7) ? ">" : g.Chance(0.05) ? "$" : Id(g))];
    }

    internal static object[] XGroup(Gen g) => g.Random.Next(10) switch
    {
        < 4 => [g.Word("CREATE"), Key(g), Group(g), g.Chance(0.2) ? "$" : g.Chance(0.5) ? "0" : Id(g),
            .. If(g.Chance(0.4), g.Word("MKSTREAM")), .. EntriesRead(g)],
        4 => [g.Word("SETID"), Key(g), Group(g), g.Chance(0.2) ? g.Pick("$", "-", "+") : Id(g), .. EntriesRead(g)],
        5 => [g.Word("DESTROY"), Key(g), Group(g)],
        6 or 7 => [g.Word("CREATECONSUMER"), Key(g), Group(g), Consumer(g)],
        8 => [g.Word("DELCONSUMER"), Key(g), Group(g), Consumer(g)],
        _ => [g.Word(g.Pick("CREATE", "SETID", "DESTROY", "FOO")), Key(g), Group(g),
            .. If(g.Chance(0.5), Id(g), g.Pick("x", "MKSTREAM"))],
    };

    internal static object[] XAck(Gen g) => [Key(g), Group(g), .. Ids(g, 4)];

    internal static object[] XPending(Gen g) => [Key(g), Group(g), .. g.Chance(0.4) ? [] : (object[])
        [.. If(g.Chance(0.3), g.Word("IDLE"), Idle(g)), End(g, "-"), End(g, "+"), g.Chance(0.8) ? "10" : g.Integer(),
            .. If(g.Chance(0.4), Consumer(g))]];

    internal static object[] XClaim(Gen g) => [Key(g), Group(g), Consumer(g), Idle(g), .. Ids(g, 4),
        .. If(g.Chance(0.2), g.Word("IDLE"), g.Pick("0", "1000000000", "-1", "x")),
        .. If(g.Chance(0.1), g.Word("TIME"), g.Pick("1", "0", "-1", "99999999999999999")),
        .. If(g.Chance(0.2), g.Word("RETRYCOUNT"), g.Chance(0.8) ? "3" : g.Integer()),
        .. If(g.Chance(0.3), g.Word("FORCE")), .. If(g.Chance(0.3), g.Word("JUSTID")),
        .. If(g.Chance(0.1), g.Word("LASTID"), Id(g)), .. If(g.Chance(0.03), "FOO")];

    internal static object[] XAutoClaim(Gen g) => [Key(g), Group(g), Consumer(g), Idle(g), End(g, "-"),
        .. If(g.Chance(0.5), g.Word("COUNT"), g.Chance(0.8) ? g.Random.Next(1, 5)
            .ToString(CultureInfo.InvariantCulture) : g.Pick("0", "-1", "x", "1000", "9223372036854775807")),
        .. If(g.Chance(0.3), g.Word("JUSTID"))];

    internal static object[] XInfo(Gen g) => g.Random.Next(4) switch
    {
        0 => [g.Word("STREAM"), Key(g)],
        1 => [g.Word("STREAM"), Key(g), g.Word("FULL"), .. If(g.Chance(0.5), g.Word("COUNT"), g.Integer())],
        2 => [g.Word("GROUPS"), Key(g)],
        _ => [g.Word("CONSUMERS"), Key(g), Group(g)],
    };

    private static byte[] Key(Gen g) => g.Key("x");

    private static string Group(Gen g) => g.Chance(0.97) ? "g" + g.Random.Next(2) : g.Pick("", "nosuch", "\0");

    private static string Consumer(Gen g) => g.Chance(0.97) ? "c" + g.Random.Next(4) : g.Pick("", "\r\n");

    private static string NewId(Gen g) => g.Random.Next(100) switch
    {
        < 40 => $"{++g.Clock}-*",
        < 60 => $"{g.Clock}-*",
        < 80 => $"{++g.Clock}-{g.Random.Next(3)}",
        < 90 => (++g.Clock).ToString(CultureInfo.InvariantCulture),
        < 99 => $"{g.Random.Next(g.Clock + 1)}-{g.Random.Next(3)}",
        _ => Bad(g),
    };

    private static string Id(Gen g) => g.Random.Next(50) switch
    {
        0 => Bad(g),
        < 5 => g.Pick("0", "0-0", "1", "18446744073709551615-18446744073709551615", "18446744073709551615-0",
            "9223372036854775808-1", "0-1"),
        < 10 => g.Random.Next(g.Clock + 1).ToString(CultureInfo.InvariantCulture),
        < 25 => $"{Math.Max(0, g.Clock - g.Random.Next(20))}-{g.Random.Next(3)}",
        _ => $"{g.Random.Next(g.Clock + 2)}-{g.Random.Next(3)}",
    };

    private static string Bad(Gen g) => g.Pick("x", "-", "+", "1-*", "", "1-", "-1", "1--1", "1- 5", " 1-1", "+1-1",
        "007-01", "18446744073709551616-0", "1-18446744073709551616",
        "1-1\0x", "1-1-1", "(1-1", "*-1", "1.5-1", "0x10-1");

    private static string End(Gen g, string most) =>
        g.Chance(0.4) ? most : (g.Chance(0.2) ? "(" : "") + (g.Chance(0.1) ? g.Pick("-", "+") : Id(g));

    private static object[] Count(Gen g) =>
        If(g.Chance(0.4), g.Word("COUNT"), g.Chance(0.8) ? g.Random.Next(1, 8)
            .ToString(CultureInfo.InvariantCulture) : g.Integer());

    private static string Idle(Gen g) => g.Chance(0.8) ? "0" : g.Pick("500000000", "-5", "x", "");

    private static object[] EntriesRead(Gen g) =>
        If(g.Chance(0.2), g.Word("ENTRIESREAD"),
            g.Chance(0.8) ? g.Random.Next(-1, 50).ToString(CultureInfo.InvariantCulture) : g.Integer());

    private static object[] Trim(Gen g) =>
        [.. g.Chance(0.6) ? [g.Word("MAXLEN"), .. If(g.Chance(0.6), g.Pick("~", "~", "=")),
            g.Chance(0.9) ? g.Random.Next(30).ToString(CultureInfo.InvariantCulture) : g.Integer()]
        : (object[])[g.Word("MINID"), .. If(g.Chance(0.6), g.Pick("~", "~", "=")), Id(g)],
        .. If(g.Chance(0.2), g.Word("LIMIT"),
            g.Chance(0.8) ? g.Random.Next(12).ToString(CultureInfo.InvariantCulture) : g.Integer())];

    private static object[] Pairs(Gen g)
    {
        // Mostly the same fields, so that entries share them.
        if (g.Chance(0.5)) return ["field", g.Value(), "other", g.Value()];
        int pairs = g.Chance(0.05) ? 70 : g.Random.Next(1, 4);
        return [.. Enumerable.Range(0, pairs).SelectMany(_ => (object[])[g.Member(), g.Value()])];
    }

    private static object[] Ids(Gen g, int most) => Times(g.Random.Next(1, most), () => Id(g));

    private static object[] Times(int count, Func<object> draw) => [.. Enumerable.Range(0, count).Select(_ => draw())];

    private static object[] If(bool yes, params object[] words) => yes ? words : [];
}
