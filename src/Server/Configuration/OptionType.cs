using System.Diagnostics;
using System.Globalization;

namespace Kv.Server.Configuration;

/// <summary>How the text of an option becomes a value, and back. Error texts are the ones clients match on.</summary>
internal abstract class OptionType<T>
{
    /// <summary>Reads the text of an option.</summary>
    /// <param name="text">What the user wrote; several words are joined by spaces.</param>
    /// <param name="current">The present value, for types of which a text may set a part.</param>
    /// <param name="error">What is wrong, when false is returned.</param>
    public abstract bool TryParse(string text, T current, out T value, out string error);

    /// <summary>The text that CONFIG GET answers; <see cref="TryParse"/> reads it back.</summary>
    public abstract string Format(T value);

    /// <summary>What stands behind the name in a configuration file, a text for each line.</summary>
    public virtual IReadOnlyList<string> FileTexts(T value) => [Format(value) is { Length: > 0 } text ? text : "\"\""];

    /// <summary>What may be written, in a few words, for help and documents.</summary>
    public abstract string Expects { get; }

    /// <summary>Whether a file may write the value as several words.</summary>
    public virtual bool ManyWords => false;

    /// <summary>Whether a later line adds to an earlier one.</summary>
    public virtual bool AddsUp => false;

    /// <summary>Whether any text at all is a value, so that one that looks like an option is taken as it is.</summary>
    public virtual bool TakesAnyText => false;
}

/// <summary>A whole number in a range, in its shortest form: no sign but minus, no leading zeros or spaces.</summary>
internal sealed class NumberType(long min, long max) : OptionType<long>
{
    public override string Expects => $"{min}..{max}";

    public override string Format(long value) => value.ToString(CultureInfo.InvariantCulture);

    public override bool TryParse(string text, long current, out long value, out string error)
    {
        if (!long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value)
            || Format(value) != text)
        {
            error = "argument couldn't be parsed into an integer";
            return false;
        }

        error = $"argument must be between {min} and {max} inclusive";
        return value >= min && value <= max;
    }
}

/// <summary>A number of bytes, see <see cref="MemorySize"/>; optionally a share of maxmemory, kept as its
/// negative.</summary>
internal sealed class BytesType(long min, long max, bool orPercent = false) : OptionType<long>
{
    public override string Expects => $"bytes, {min}..{max}{(orPercent ? ", or 1%..100%" : "")}";

    public override string Format(long value) => value < 0
        ? string.Create(CultureInfo.InvariantCulture, $"{-value}%")
        : value.ToString(CultureInfo.InvariantCulture);

    public override bool TryParse(string text, long current, out long value, out string error)
    {
        if (orPercent && text.EndsWith('%')) return TryParsePercent(text[..^1], out value, out error);
        error = "argument must be a memory value";
        value = 0;
        if (!MemorySize.TryParse(text, out ulong bytes)) return false;
        error = $"argument must be between {min} and {max} inclusive";
        if (bytes > (ulong)max || (long)bytes < min) return false;
        value = (long)bytes;
        return true;
    }

    public override IReadOnlyList<string> FileTexts(long value) =>
        [value < 0 ? Format(value) : MemorySize.Shorten(value)];

    private static bool TryParsePercent(string digits, out long value, out string error)
    {
        error = "argument must be a memory or percent value";
        value = 0;
        if (!int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out int percent)) return false;
        error = "percentage argument must be less or equal to 100";
        value = -percent;
        return percent <= 100;
    }
}

/// <summary>yes or no.</summary>
internal sealed class YesNoType : OptionType<bool>
{
    public static readonly YesNoType Instance = new();

    public override string Expects => "yes or no";

    public override string Format(bool value) => value ? "yes" : "no";

    public override bool TryParse(string text, bool current, out bool value, out string error)
    {
        error = "argument must be 'yes' or 'no'";
        value = text.Equals("yes", StringComparison.OrdinalIgnoreCase);
        return value || text.Equals("no", StringComparison.OrdinalIgnoreCase);
    }
}

/// <summary>One word of a list.</summary>
// Plain loops: generic methods of the framework over a tuple with an enumeration are in no precompiled image, and a
// dozen of them for each of ten enumerations are a tenth of the start.
internal sealed class WordType<T> : OptionType<T>
    where T : notnull
{
    private readonly string[] _words;
    private readonly T[] _values;

    public WordType(params (string Word, T Value)[] words)
    {
        _words = new string[words.Length];
        _values = new T[words.Length];
        for (int i = 0; i < words.Length; i++)
        {
            Debug.Assert(Array.IndexOf(_words, words[i].Word) < 0, "a word has one meaning");
            (_words[i], _values[i]) = words[i];
        }
    }

    public override string Expects => string.Join(", ", _words);

    public override string Format(T value)
    {
        int index = 0;
        while (!_values[index].Equals(value)) index++;      // a value without a word is a mistake in the table
        return _words[index];
    }

    public override bool TryParse(string text, T current, out T value, out string error)
    {
        int index = 0;
        while (index < _words.Length && !_words[index].Equals(text, StringComparison.OrdinalIgnoreCase)) index++;
        bool isWord = index < _words.Length;
        value = isWord ? _values[index] : current;
        error = "argument(s) must be one of the following: " + Expects;
        return isWord;
    }
}

/// <summary>Any text, or what a check lets pass.</summary>
/// <param name="what">A few words for help.</param>
/// <param name="check">Returns what is wrong, or null.</param>
internal sealed class TextType(string what = "text", Func<string, string?>? check = null) : OptionType<string>
{
    /// <summary>Longer than any path or password; a limit so that a client cannot park megabytes in an
    /// option.</summary>
    public const int CharsMax = 64 << 10;

    public static readonly TextType Any = new();

    public override string Expects => what;

    public override bool TakesAnyText => true;

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) => [ConfigLine.Quote(value)];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text;
        error = text.Length > CharsMax ? $"argument is longer than {CharsMax} characters"
            : text.Contains('\0', StringComparison.Ordinal) ? "argument contains a zero byte"
            : check?.Invoke(text) ?? "";
        return error.Length == 0;
    }
}
