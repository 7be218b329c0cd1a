using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>What the placeholders and foreign tokens of one template mean.</summary>
internal sealed partial class Placeholders(string template, TemplateSettings settings, List<string> scripts)
{
    private const string Known =
        "{key} {key DIST N fmt=F prefix=P name=X} {same X} {seq N} {rand N} {rand A B} {range N W} "
        + "{float A B} {value} {value LENGTH} {text N} {bytes N} {pick a|b|c} {bit} {bit N} {geo} {now s|ms|us} "
            + "{client} "
        + "{tag SLOT} {sha \"SCRIPT\"} {repeat N: …}; a brace is {{";

    private readonly Dictionary<string, IReadOnlyList<Part>> _named = [];
    private Field? _key;                    // the command's first key: a verifiable value carries it

    public void BeginCommand() => _key = null;

    /// <summary>Text with the tokens of redis-benchmark and memtier.</summary>
    public IEnumerable<Part> ReadText(string text)
    {
        int at = 0;
        foreach (Match match in Token().Matches(text))
        {
            if (match.Index > at) yield return text[at..match.Index];
            foreach (Part part in ReadToken(match.Value)) yield return part;
            at = match.Index + match.Length;
        }

        if (at < text.Length) yield return text[at..];
    }

    /// <summary>The arguments' parts that a placeholder yields: of one argument, or of two.</summary>
    /// <exception cref="UsageException">There is none of that name, or its words are wrong.</exception>
    public IReadOnlyList<IReadOnlyList<Part>> Read(string text)
    {
        if (text == "tag") return [["{tag}"]];
        if (text.StartsWith("pick ", StringComparison.Ordinal))
            return [[new PickField([.. text[5..].Split('|').Select(choice => Encoding.UTF8.GetBytes(choice.Trim()))])]];
        if (text.StartsWith("sha ", StringComparison.Ordinal)) return [[Sha(text[4..].Trim().Trim('"'))]];

        List<string> words = [.. text.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries)];
        string? name = Take(words, "name="), format = Take(words, "fmt="), prefix = Take(words, "prefix=");
        if ((format ?? prefix) is not null && words is not ["key", ..])
            throw Wrong(text, "fmt= and prefix= are for keys");
        IReadOnlyList<IReadOnlyList<Part>> yields = words switch
        {
            ["key"] => [Key(settings.Keys, format, prefix)],
            ["key", var distribution, var n] => [
                Key(new KeySpace(Count(n, text), KeyFormat.Tair, DistributionOf(distribution)), format, prefix)],
            ["same", var other] => [Same(other, text)],
            ["seq", var n] => [[new NumberField(Distribution.SessionSequence, Count(n, text))]],
            ["rand", var n] => [[new NumberField(Distribution.Uniform, Count(n, text))]],
            ["rand", var low, var high] => [[Between(low, high, text)]],
            ["range", var n, var width] => Range(Count(n, text), Count(width, text, least: 0)),
            ["float", var low, var high] => [[Float(low, high, text)]],
            ["value"] => [[settings.Value.Value(_key)]],
            ["value", var length] => [[ValueSpec.Parse(length).Value(null)]],
            ["text", var length] => [[new SliceField(TextPool.Words(), Sizes.Parse(length))]],
            ["bytes", var length] => [[ValueSpec.AnyBytes(Sizes.Parse(length)).Value(null)]],
            ["bit"] => [[new NumberField(Distribution.Uniform, 2)]],
            ["bit", var n] => [[new NumberField(Distribution.Uniform, Count(n, text))]],
            ["geo"] => [[new DecimalField(-180, 180)], [new DecimalField(-85, 85)]],
            ["now", var unit] => [[new ClockField(TicksOf(unit, text))]],
            ["client"] => [[new SessionField()]],
            ["tag", var slot] => [[HashTag.For((int)Count(slot, text, least: 0, most: HashTag.Slots - 1))]],
            _ => throw Wrong(text, $"there is no such placeholder; there are {Known}"),
        };
        if (name is not null) _named[name] = yields[0];
        return yields;
    }

    private IReadOnlyList<Part> ReadToken(string token)
    {
        if (token == RedisTests.DataToken) return [settings.Value.Value(_key)];
        if (token == "__key__") return Key(settings.Keys, null, null);
        if (token == RedisTests.RandomToken) return Number();
        // __rand_1st__ … __rand_9th__: one number each for all of the template.
        if (_named.TryGetValue(token, out IReadOnlyList<Part>? parts)) return new Argument(parts).Again().Parts;
        return _named[token] = Number();

        IReadOnlyList<Part> Number() =>
            new KeyFormat("", 12).Argument(settings.Keys.Distribution, settings.Keys.Count, _key is null).Parts;
    }

    private IReadOnlyList<Part> Key(KeySpace keys, string? format, string? prefix)
    {
        KeyFormat named = format is null ? keys.Format : KeyFormat.Parse(format);
        if (prefix is not null) named = named with { Prefix = prefix };
        Argument key = named.Argument(keys.Distribution, keys.Count, isKey: _key is null);
        _key ??= key.Field;
        return key.Parts;
    }

    private IReadOnlyList<Part> Same(string name, string text)
    {
        if (!_named.TryGetValue(name, out IReadOnlyList<Part>? parts))
            throw Wrong(text, $"nothing before it has name={name}");
        Argument again = new Argument(parts).Again();
        return again.Parts;
    }

    private Part Sha(string script)
    {
        scripts.Add(script);
        return GarnetOps.ShaOf(script);
    }

    private static Distribution DistributionOf(string text) => text switch
    {
        "zipfian" => Distribution.Zipf(1.03),
        _ => Distribution.Parse(text),
    };

    private static IReadOnlyList<IReadOnlyList<Part>> Range(long n, long width)
    {
        var low = new NumberField(Distribution.Uniform, n);
        return [[low], [new RangeEndField(low, n, width)]];
    }

    /// <summary>Both ends can come.</summary>
    private NumberField Between(string low, string high, string text)
    {
        (long from, long to) = (Count(low, text, long.MinValue / 4), Count(high, text, long.MinValue / 4));
        return from <= to ? new NumberField(Distribution.Uniform, to - from + 1, from: from)
            : throw Wrong(text, "its first number is the larger");
    }

    private DecimalField Float(string low, string high, string text) =>
        double.TryParse(low, CultureInfo.InvariantCulture, out double from)
        && double.TryParse(high, CultureInfo.InvariantCulture, out double to)
        && from <= to && Math.Abs(from) <= DecimalField.Limit && Math.Abs(to) <= DecimalField.Limit
            ? new DecimalField(from, to)
            : throw Wrong(text, "it takes two numbers up to a billion, the smaller first");

    private long TicksOf(string unit, string text) => unit switch
    {
        "s" => TimeSpan.TicksPerSecond,
        "ms" => TimeSpan.TicksPerMillisecond,
        "us" => TimeSpan.TicksPerMicrosecond,
        _ => throw Wrong(text, "the unit is s, ms or us"),
    };

    private long Count(string word, string text, long least = 1, long most = 1L << 62) =>
        long.TryParse(word, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long n) && n >= least
        && n <= most
            ? n
            : throw Wrong(text, $"'{word}' is no whole number from {least} to {most}");

    private static string? Take(List<string> words, string option)
    {
        string? found = words.Find(word => word.StartsWith(option, StringComparison.Ordinal));
        words.RemoveAll(word => word.StartsWith(option, StringComparison.Ordinal));
        return found?[option.Length..];
    }

    private UsageException Wrong(string text, string why) => new($"the template '{template}': '{{{text}}}': {why}");

    [GeneratedRegex("__(rand_int|rand_(1st|2nd|3rd|[4-9]th)|data|key)__")]
    private static partial Regex Token();
}
