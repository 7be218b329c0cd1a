using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Draws arguments: few keys, so that commands meet, and the values that servers have been wrong
/// about.</summary>
internal sealed class Gen(Random random)
{
    private static readonly string[] Integers =
    [
        "0", "1", "-1", "2", "7", "10", "100", "-100", "2147483647", "2147483648", "-2147483648", "-2147483649",
        "4294967296", "9007199254740992", "4611686018427387904", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "-9223372036854775809", "", "+1", " 1", "1 ", "007", "-0", "0x10", "1e3", "1.5", "abc",
    ];

    private static readonly string[] Floats =
    [
        "0", "1", "-1", "0.1", "0.2", "1.5", "-2.25", "3.0e3", "1e17", "1e-5", "10.5", "1e308", "1e400", "1e-320", "-0",
        "inf", "-inf", "nan", "(1", "", " 1", "1 ", "0x10", "abc", "123456789.123456789", "99999999999999999999",
    ];

    private static readonly byte[][] Values =
    [
        [], [0], [13, 10], [255], "v"u8.ToArray(), "hello"u8.ToArray(), "Hello World"u8.ToArray(),
        "ohmytext"u8.ToArray(),
        "mynewtext"u8.ToArray(), Filled(44), Filled(45), Filled(64), Filled(100), Filled(1100),
    ];

    private readonly List<byte[][]> _ahead = [];

    internal Random Random => random;

    /// <summary>Where the ids of streams are.</summary>
    internal int Clock { get; set; } = 1;

    internal bool Chance(double probability) => random.NextDouble() < probability;

    internal T Pick<T>(params T[] choices) => choices[random.Next(choices.Length)];

    internal byte[] Key() => RespText.Bytes(Chance(0.97)
        ? (Chance(0.9) ? "k" : Pick("h", "s", "l", "z", "g", "x")) + (char)('0' + random.Next(8))
        : Pick("", "\0", "\r\n", "k0\0", new string('k', 300)));

    /// <summary>Has a call sent ahead of the one that is being drawn.</summary>
    internal void Ahead(params object[] words) => _ahead.Add(Words(words));

    /// <summary>The calls that are to be sent ahead; forgets them.</summary>
    internal byte[][][] TakeAhead()
    {
        byte[][][] calls = [.. _ahead];
        _ahead.Clear();
        return calls;
    }

    /// <summary>What a draw gave, as bytes.</summary>
    internal static byte[][] Words(object[] words) =>
        [.. words.Select(word => word as byte[] ?? RespText.Bytes((string)word))];

    /// <summary>Mostly a key of a few that hold a type, so that its commands meet it.</summary>
    internal byte[] Key(string type) => Chance(0.93) ? RespText.Bytes(type + (char)('0' + random.Next(4))) : Key();

    /// <summary>A member or field: mostly one of a few dozen, integers of all widths among them.</summary>
    internal byte[] Member() => random.Next(10) switch
    {
        < 4 => RespText.Bytes(random.Next(-20, 20).ToString(CultureInfo.InvariantCulture)),
        < 7 => RespText.Bytes("m" + random.Next(30)),
        7 => RespText.Bytes(random.Next(3) == 0
            ? "00" : (random.Next(40) * 1_000_003L * random.Next(1, 4000)).ToString(CultureInfo.InvariantCulture)),
        _ => Value(),
    };

    internal byte[] Value()
    {
        double which = random.NextDouble();
        if (which < 0.55) return Pick(Values);
        if (which < 0.8) return RespText.Bytes(random.Next(-50, 50).ToString(CultureInfo.InvariantCulture));
        if (which < 0.9) return RespText.Bytes(Pick(Integers));
        if (which < 0.97) return RespText.Bytes(Pick(Floats));
        return Filled(random.Next(10) == 0 ? 65536 : random.Next(1, 5000));
    }

    internal string Integer() => Chance(0.5)
        ? random.Next(-20, 20).ToString(CultureInfo.InvariantCulture)
        : Pick(Integers);

    internal string Float() => Chance(0.3)
        ? (random.Next(-1000, 1000) / 8.0).ToString(CultureInfo.InvariantCulture)
        : Pick(Floats);

    internal string Database() =>
        Chance(0.9) ? Pick("0", "0", "1", "2") : Pick("15", "16", "-1", "x", "", "99999999999");

    /// <summary>Seconds from now: hours away, or wrong; never about to pass while the test runs.</summary>
    internal string Seconds() => Chance(0.8)
        ? Far(7200, 10) : Pick("0", "-1", "-100", "", "x", "1.5", "9223372036854775807",
        "9223372036854775", "9223372036854776", "-9223372036854775808", "4294967296");

    internal string Milliseconds() => Chance(0.8) ? Far(7_200_000, 10_000) : Pick("0", "-1", "-5000", "", "x",
        "9223372036854775807", Far(9_223_370_000_000_000_000, 10_000), "-9223372036854775808", "9223372036854775808");

    /// <summary>A unix time long past or far ahead.</summary>
    internal string UnixSeconds() => Chance(0.85)
        ? Pick("1", "1000000000", "33177117420", "33177117421", "33177117430", "40000000000")
        : Pick("0", "-1", "", "x", "9223372036854775807", "9223372036854775", "-9223372036854775808");

    internal string UnixMilliseconds() => Chance(0.85)
        ? Pick("1", "1000000000000", "33177117420000", "33177117420001", "33177117420500", "40000000000000")
        : Pick("0", "-1", "", "x", "9223372036854775807", "-9223372036854775808", "9223372036854775808");

    internal string Pattern() =>
        Pick("*", "k*", "k?", "k[0-3]", "k[^0-3]", "k[", "k\\0", "", "nothing", "[k]1", "*1*", "k[3-0]");

    /// <summary>The word as it is, now and then in another case.</summary>
    internal string Word(string word) => Chance(0.9) ? word : Chance(0.5) ? word.ToLowerInvariant()
        : string.Concat(word.Select((c, i) => i % 2 == 0 ? char.ToLowerInvariant(c) : c));

    // Spaced so that two draws are almost never equal: what GT and LT say then does not hang on milliseconds.
    private string Far(long least, long step) =>
        (least + step * random.Next(100_000)).ToString(CultureInfo.InvariantCulture);

    private static byte[] Filled(int count)
    {
        var bytes = new byte[count];
        for (int i = 0; i < count; i++) bytes[i] = (byte)('a' + i % 26);
        return bytes;
    }
}
