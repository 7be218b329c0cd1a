using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

// The types of options whose text has a form of its own, one class each.

/// <summary>Permission bits, octal.</summary>
internal sealed class OctalType(int max) : OptionType<long>
{
    public override string Expects => "octal, 0..777";

    public override string Format(long value) => Convert.ToString(value, 8);

    public override bool TryParse(string text, long current, out long value, out string error)
    {
        value = 0;
        error = "argument couldn't be parsed as an octal number";
        if (text.Length is 0 or > 20 || text.Any(c => c is < '0' or > '7')) return false;
        error = $"argument must be between 0 and {Convert.ToString(max, 8)} inclusive";
        foreach (char digit in text)
        {
            value = value * 8 + (digit - '0');
            if (value > max) return false;
        }

        return true;
    }
}

/// <summary>Addresses to listen on; an empty text is none.</summary>
internal sealed class BindType : OptionType<IReadOnlyList<string>>
{
    /// <summary>As many as anyone has interfaces; each one is a socket.</summary>
    private const int AddressesMax = 16;

    public override string Expects => "addresses";

    public override bool ManyWords => true;

    public override string Format(IReadOnlyList<string> value) => string.Join(' ', value);

    public override bool TryParse(
        string text, IReadOnlyList<string> current, out IReadOnlyList<string> value, out string error)
    {
        string[] words = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        value = words;
        error = "Too many bind addresses specified.";
        if (words.Length > AddressesMax) return false;
        error = "argument must be a list of addresses";
        return words.All(word => BindAddress.TryParse(word, out _));
    }
}

/// <summary>Pairs of seconds and changes, <c>3600 1 300 100</c>; empty for none.</summary>
internal sealed class SaveType : OptionType<string>
{
    public override string Expects => "pairs of seconds and changes, or \"\"";

    public override bool ManyWords => true;

    public override bool AddsUp => true;

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) =>
        value.Length == 0 ? ["\"\""] : [.. value.Split(' ').Chunk(2).Select(pair => string.Join(' ', pair))];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text;
        error = "Invalid save parameters";
        if (text.Length == 0) return true;
        string[] words = text.Split(' ');
        if (words.Length % 2 != 0 || words.Length > 128) return false;
        for (int i = 0; i < words.Length; i++)
        {
            if (!long.TryParse(words[i], NumberStyles.None, CultureInfo.InvariantCulture, out long number))
                return false;
            if (number > int.MaxValue || (i % 2 == 0 && number == 0)) return false;
        }

        value = string.Join(' ', words.Select(w => long.Parse(w, CultureInfo.InvariantCulture)));
        return true;
    }
}

/// <summary>Groups of four words: class, hard bytes, soft bytes, soft seconds. Classes left out keep their
/// limits.</summary>
internal sealed class BufferLimitsType : OptionType<OutputBufferLimits>
{
    public override string Expects => "normal|replica|pubsub hard-bytes soft-bytes soft-seconds, repeated";

    public override bool ManyWords => true;

    // The reference still answers with the old name of replicas, and clients that parse it know that one.
    public override string Format(OutputBufferLimits value) =>
        $"normal {Words(value.Normal)} slave {Words(value.Replica)} pubsub {Words(value.PubSub)}";

    public override IReadOnlyList<string> FileTexts(OutputBufferLimits value) =>
        [$"normal {FileWords(value.Normal)}", $"replica {FileWords(value.Replica)}",
            $"pubsub {FileWords(value.PubSub)}"];

    public override bool TryParse(
        string text, OutputBufferLimits current, out OutputBufferLimits value, out string error)
    {
        value = current;
        error = "";
        if (text.Length == 0) return true;
        string[] words = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        error = "Wrong number of arguments in buffer limit configuration.";
        if (words.Length % 4 != 0) return false;
        for (int i = 0; i < words.Length; i += 4)
        {
            error = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            bool numbers = TryReadLimit(words.AsSpan(i + 1, 3), out var limit);
            switch (words[i].ToLowerInvariant())
            {
                case "normal": value = value with { Normal = limit }; break;
                case "slave" or "replica": value = value with { Replica = limit }; break;
                case "pubsub": value = value with { PubSub = limit }; break;
                default:
                    error = "Invalid client class specified in buffer limit configuration.";
                    return false;
            }

            if (!numbers) return false;
        }

        return true;
    }

    private static bool TryReadLimit(ReadOnlySpan<string> words, out OutputBufferLimit limit)
    {
        limit = default;
        if (!MemorySize.TryParse(words[0], out ulong hard) || hard > long.MaxValue) return false;
        if (!MemorySize.TryParse(words[1], out ulong soft) || soft > long.MaxValue) return false;
        if (!int.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out int seconds)) return false;
        limit = new OutputBufferLimit((long)hard, (long)soft, seconds);
        return true;
    }

    private static string Words(OutputBufferLimit limit) => string.Create(
        CultureInfo.InvariantCulture, $"{limit.HardBytes} {limit.SoftBytes} {limit.SoftSeconds}");

    private static string FileWords(OutputBufferLimit limit) => string.Create(
        CultureInfo.InvariantCulture,
        $"{MemorySize.Shorten(limit.HardBytes)} {MemorySize.Shorten(limit.SoftBytes)} {limit.SoftSeconds}");
}

/// <summary>Letters that choose keyspace events; A stands for the ten of <see cref="Classes"/>.</summary>
internal sealed class EventLettersType : OptionType<string>
{
    private const string Classes = "g$lshzxetd", Others = "nKEm", Accepted = "Ag$lshzxeKEtmdn";

    public override string Expects => "letters of " + Accepted;

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) => [ConfigLine.Quote(value)];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = "";
        error = $"Invalid event class character. Use '{Accepted}'.";
        if (text.Any(c => !Accepted.Contains(c, StringComparison.Ordinal))) return false;
        bool all = text.Contains('A', StringComparison.Ordinal)
            || Classes.All(c => text.Contains(c, StringComparison.Ordinal));
        var letters = new StringBuilder(all ? "A" : "");
        foreach (char letter in all ? Others : Classes + Others)
        {
            if (text.Contains(letter, StringComparison.Ordinal)) letters.Append(letter);
        }

        value = letters.ToString();
        return true;
    }
}

/// <summary>Percentiles between 0 and 100; empty for none.</summary>
internal sealed class PercentilesType : OptionType<string>
{
    private const int CountMax = 128;

    public override string Expects => "percentiles";

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text;
        error = "Invalid latency-tracking-info-percentiles parameters";
        if (text.Length == 0) return true;
        string[] words = text.Split(' ');
        if (words.Length > CountMax) return false;
        var percents = new double[words.Length];
        for (int i = 0; i < words.Length; i++)
        {
            if (!double.TryParse(words[i], NumberStyles.Float, CultureInfo.InvariantCulture, out percents[i]))
                return false;
        }

        error = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
        value = string.Join(' ', percents.Select(p => p.ToString("0.######", CultureInfo.InvariantCulture)));
        return percents.All(p => p is >= 0 and <= 100);
    }
}

/// <summary>Three adjustments of the kernel's out-of-memory score.</summary>
internal sealed class OomScoresType : OptionType<string>
{
    public override string Expects => "three numbers, -2000..2000";

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text;
        string[] words = text.Split(' ');
        error = "wrong number of arguments";
        if (words.Length != 3) return false;
        error = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        var number = new NumberType(-2000, 2000);
        return words.All(word => number.TryParse(word, 0, out _, out _));
    }
}

/// <summary>How a signal shuts down: a set of words, answered in the order of the list.</summary>
internal sealed class ShutdownWordsType : OptionType<string>
{
    private static readonly string[] Order = ["default", "save", "nosave", "now", "force"];

    public override string Expects => string.Join(", ", Order);

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        string[] words = text.ToLowerInvariant().Split(' ');
        var chosen = Order.Where(words.Contains).ToList();
        if (chosen.Count > 1) chosen.Remove("default");
        value = string.Join(' ', chosen);
        error = "argument(s) must be one of the following: " + Expects;
        if (!words.All(Order.Contains)) return false;
        error = "shutdown options SAVE and NOSAVE can't be used simultaneously";
        return !(chosen.Contains("save") && chosen.Contains("nosave"));
    }
}

/// <summary>The primary to follow: <c>no one</c> or an empty text for none.</summary>
internal sealed class PrimaryType : OptionType<string>
{
    public override string Expects => "host port";

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text.Equals("no one", StringComparison.OrdinalIgnoreCase) ? "" : text;
        error = "argument must be a host and a port";
        return value.Length == 0 || value.Split(' ').Length == 2;
    }
}
