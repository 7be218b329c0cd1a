using System.Globalization;
using System.Text;

namespace Kv.Tests.Lua.Fuzz;

/// <summary>Random calls of cjson, cmsgpack, struct and bit, as programs whose result is a text: what each returned, or
/// its error.</summary>
internal sealed class LibraryCases(Random random)
{
    /// <summary>What every program begins with: <c>try</c> writes down what a function returns.</summary>
    public const string Prelude = """
        local out, concat, sort, format, select, type, pairs, pcall = {}, table.concat, table.sort, string.format, select, type, pairs, pcall
        local function show(v)
            local t = type(v)
            if t == 'number' then return format('%.17g', v) end
            if t == 'string' then return '"' .. v:gsub('[^%w%p ]', function(c) return format('\\%d.', c:byte()) end) .. '"' end
            if t ~= 'table' then return t == 'function' and t or tostring(v) end
            local parts = {}
            for k, x in pairs(v) do parts[#parts + 1] = show(k) .. '=' .. show(x) end
            sort(parts)
            return '{' .. concat(parts, ',') .. '}'
        end
        local function took(ok, ...)
            local parts = {tostring(ok)}
            for i = 1, select('#', ...) do parts[i + 1] = show((select(i, ...))) end
            out[#out + 1] = concat(parts, ' ')
        end
        local function try(f) took(pcall(f)) end

        """;

    public const string End = "return concat(out, '\\n')\n";

    private static readonly string[] Numbers =
    [
        "0", "-0", "1", "-1", "0.5", "-0.1", "127", "128", "255", "256", "-32", "-33", "-128", "-129", "32767", "32768",
        "65535", "65536", "-32769", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295",
        "4294967296",
        "2^53", "2^53+1", "2^62", "2^63", "-2^63", "2^64", "1e15", "1e14", "123456789012345", "1e100", "1e-7", "1e300",
        "1e-320", "1/0", "-1/0", "0/0", "3.14159265358979", "0.1", "1e20", "16777217", "1.5",
    ];

    private static readonly string[] Others =
        ["nil", "true", "false", "cjson.null", "{}", "''", "'a'", "'12'", "'0x10'", "function() end"];

    private static readonly string[] JsonPieces =
    [
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\\n\"", "\\u0041", "\\ud83d\\ude00", "\\ud800",
        "\\x", "1", "-1",
        "0.5", "1e5", "1E-2", "01", "0x1F", "-0x1p4", "+1", "inf", "-Infinity", "NaN", "nan(1)", "true",
        "false", "null",
        "tru", "nul", " ", "\n", "\t", "\r", "\0", "-", ".", "1.", ".5", "e", "1e", "1e+", "0", "{}", "[]", "{\"a\":1}",
        "12345678901234567890", "1e999", "\x7f", "\xff",
    ];

    private static readonly string[] StructLetters =
    [
        "b", "B", "h", "H", "l", "L", "T", "i", "I", "i1", "I3", "i5", "I8", "i9", "I16", "i32", "i33", "I0",
        "x", "f", "d",
        "s", "c0", "c1", "c3", "c", ">", "<", "!", "!1", "!2", "!4", "!8", "!16", "!3", "!0", " ", "z", "=", "n", "Bc0",
        "i99999999999", "c2147483647",
    ];

    /// <summary>A statement.</summary>
    public string Next() => random.Next(8) switch
    {
        0 => Try($"cjson.encode({Value(4)})"),
        1 => Try($"cjson.decode({Text(Json(4))})"),
        2 => Try($"cjson.decode({Text(BrokenJson())})"),
        3 => Try($"{Configured()}"),
        4 => Try($"cmsgpack.pack({Values(3)})"),
        5 => Try(Unpack()),
        6 => Try(Struct()),
        _ => Try(Bits()),
    };

    private static string Try(string expression) => $"try(function() return {expression} end)\n";

    private string Pick(string[] pool) => pool[random.Next(pool.Length)];

    private string Number() => random.Next(4) switch
    {
        0 => random.Next(-300, 300).ToString(CultureInfo.InvariantCulture),
        1 => (random.NextInt64() >> random.Next(64)).ToString(CultureInfo.InvariantCulture),
        2 => (random.NextDouble() * Math.Pow(10, random.Next(-20, 20))).ToString("R", CultureInfo.InvariantCulture),
        _ => Pick(Numbers),
    };

    // A value whose text has one form only: tables with at most one key beside a list, since orders differ.
    private string Value(int depth) => random.Next(depth > 0 ? 9 : 5) switch
    {
        0 or 1 => Number(),
        2 or 3 => Text(Bytes(random.Next(3) == 0 ? 300 : 12)),
        4 => Pick(Others),
        5 or 6 => "{" + Values(6, depth - 1) + "}",
        7 => $"{{[{Key()}]={Value(depth - 1)}}}",
        _ => $"{{{Number()},{Number()},[{random.Next(3, 30)}]={Number()}}}",
    };

    private string Key() => random.Next(3) switch
    {
        0 => random.Next(-1, 40).ToString(CultureInfo.InvariantCulture),
        1 => Text(Bytes(8)),
        _ => random.Next(6) == 0 ? "true" : Number().Replace("0/0", "7", StringComparison.Ordinal),
    };

    private string Values(int most, int depth = 3) =>
        string.Join(",", Enumerable.Range(0, random.Next(most + 1)).Select(_ => Value(depth)));

    private byte[] Bytes(int most)
    {
        byte[] bytes = new byte[random.Next(most + 1)];
        random.NextBytes(bytes);
        if (random.Next(2) == 0)
            for (int i = 0; i < bytes.Length; i++) bytes[i] = (byte)(32 + (bytes[i] % 95));
        return bytes;
    }

    private static string Text(string text) => Text(Encoding.Latin1.GetBytes(text));

    private static string Text(byte[] bytes)
    {
        var text = new StringBuilder("'");
        foreach (byte b in bytes)
        {
            if (b is >= 32 and < 127 and not (byte)'\'' and not (byte)'\\') text.Append((char)b);
            else text.Append('\\').Append(b.ToString("000", CultureInfo.InvariantCulture));
        }

        return text.Append('\'').ToString();
    }

    private string Json(int depth) => random.Next(depth > 0 ? 8 : 4) switch
    {
        0 => random.Next(-1000, 1000).ToString(CultureInfo.InvariantCulture),
        1 => (random.NextDouble() * Math.Pow(10, random.Next(-20, 20))).ToString("R", CultureInfo.InvariantCulture),
        2 => "\"" + Encoding.Latin1.GetString(Bytes(10)).Replace("\\", "\\\\", StringComparison.Ordinal)
            .Replace("\"", "\\\"", StringComparison.Ordinal).Replace('\0', ' ') + "\"",
        3 => Pick(["true", "false", "null", "\"\\u20ac\\n\"", "{}", "[]"]),
        4 or 5 => "[" + string.Join(random.Next(2) == 0 ? "," : " , ",
            Enumerable.Range(0, random.Next(6)).Select(_ => Json(depth - 1))) + "]",
        _ => "{" + string.Join(",", Enumerable.Range(0, random.Next(5)).Select(_ =>
            $"\"k{random.Next(6)}\":{Json(depth - 1)}")) + "}",
    };

    private string BrokenJson()
    {
        if (random.Next(2) == 0)
            return string.Concat(Enumerable.Range(0, random.Next(1, 9)).Select(_ => Pick(JsonPieces)));
        var text = new StringBuilder(Json(4));
        for (int damage = random.Next(1, 3); damage > 0 && text.Length > 0; damage--)
        {
            int at = random.Next(text.Length);
            if (random.Next(2) == 0) text.Remove(at, 1);
            else text.Insert(at, Pick(JsonPieces));
        }

        return text.ToString();
    }

    private string Configured()
    {
        string settings = random.Next(7) switch
        {
            // Not 0 as the second, any length: 2^24 times "null," are more than a script's memory.
            0 => $"m.encode_sparse_array({Pick(["true", "false", "'on'", "'off'", "nil", "1"])}, "
                + $"{Pick(["-1", "1", "2", "3"])}, {random.Next(-1, 20)})",
            1 => $"m.encode_max_depth({random.Next(-1, 6)})",
            2 => $"m.decode_max_depth({random.Next(-1, 6)})",
            3 => $"m.encode_number_precision({random.Next(-1, 17)})",
            4 => $"m.encode_keep_buffer({Pick(["true", "false", "'on'", "nil", "'x'"])})",
            5 => $"m.encode_invalid_numbers({Pick(["true", "false", "'on'", "'off'", "'null'", "nil", "'x'", "2"])})",
            _ => $"m.decode_invalid_numbers({Pick(["true", "false", "'on'", "'off'", "'null'", "nil", "true,false"])})",
        };
        string use = random.Next(2) == 0 ? $"m.encode({Value(5)})" : $"m.decode({Text(Json(5))})";
        return $"(function() local m = cjson.new() local a, b, c = {settings} return a, b, c, {use} end)()";
    }

    private string Unpack()
    {
        string data = random.Next(3) switch
        {
            0 => Text(Bytes(20)),
            1 => $"cmsgpack.pack({Value(3)}, {Value(2)})",
            _ => $"cmsgpack.pack({Value(3)}, {Value(2)}):sub({random.Next(1, 4)}, {random.Next(-3, 0)})",
        };
        return random.Next(3) switch
        {
            0 => $"cmsgpack.unpack({data})",
            1 => $"cmsgpack.unpack_one({data}, {random.Next(-1, 6)})",
            _ => $"cmsgpack.unpack_limit({data}, {random.Next(-1, 4)}, {random.Next(-1, 4)})",
        };
    }

    private string Struct()
    {
        string format = "'" + string.Concat(
            Enumerable.Range(0, random.Next(1, 6)).Select(_ => Pick(StructLetters))) + "'";
        return random.Next(4) switch
        {
            0 => $"struct.size({format})",
            1 => $"struct.unpack({format}, {Text(Bytes(60))}{(random.Next(3) == 0 ? ", " + random.Next(-1, 12) : "")})",
            2 => $"struct.pack({format}, {string.Join(",", Enumerable.Range(0, 5).Select(_ => StructValue()))})",
            _ => $"struct.unpack({format}, struct.pack({format}, "
                + $"{string.Join(",", Enumerable.Range(0, 5).Select(_ => StructValue()))}))",
        };
    }

    private string StructValue() => random.Next(4) switch
    {
        0 => Text(Bytes(6)),
        1 => "'12345'",
        2 => random.Next(20) == 0 ? Pick(Others) : random.Next(256).ToString(CultureInfo.InvariantCulture),
        _ => Number(),
    };

    private string Bits()
    {
        string one = Pick(["tobit", "bnot", "bswap"]),
            two = Pick(["band", "bor", "bxor", "lshift", "rshift", "arshift", "rol",
            "ror", "tohex"]);
        return random.Next(3) switch
        {
            0 => $"bit.{one}({BitNumber()})",
            1 => $"bit.{two}({BitNumber()}, {BitNumber()})",
            _ => $"bit.{Pick(["band", "bor", "bxor"])}({BitNumber()}, {BitNumber()}, {BitNumber()})",
        };
    }

    private string BitNumber() => random.Next(12) == 0 ? Pick(["'7'", "'x'", "nil", "{}", "true"])
        : random.Next(3) == 0 ? random.Next(-40, 40).ToString(CultureInfo.InvariantCulture) : Number();
}
