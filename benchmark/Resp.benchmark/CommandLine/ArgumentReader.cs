using System.Globalization;

namespace RespBenchmark.CommandLine;

/// <summary>Walks over the words of a command line, option by option. Values are the next word, or what follows
/// <c>=</c> in a long option.</summary>
/// <remarks>A missing or unusable value is a <see cref="UsageException"/> that names the option.</remarks>
internal sealed class ArgumentReader(IReadOnlyList<string> arguments)
{
    private int _next;
    private string? _attached;

    /// <summary>The word read last, without an attached value.</summary>
    public string Word { get; private set; } = "";

    /// <summary>Whether the word begins with a dash and is more than one.</summary>
    public bool IsOption => Word.Length > 1 && Word[0] == '-';

    public bool HasAttached => _attached is not null;

    /// <summary>Goes to the next word. False: there is none.</summary>
    public bool Next()
    {
        if (_attached is not null) throw new UsageException($"{Word} takes no value, got '{_attached}'");
        if (_next >= arguments.Count) return false;
        Word = arguments[_next++];
        int equals = Word.StartsWith("--", StringComparison.Ordinal) ? Word.IndexOf('=', StringComparison.Ordinal) : -1;
        if (equals > 2) (Word, _attached) = (Word[..equals], Word[(equals + 1)..]);
        return true;
    }

    /// <summary>Reads a short option with its value in the same word (-p6379) as an option of two characters.</summary>
    public void SplitShort()
    {
        if (Word.Length <= 2 || Word[0] != '-' || Word[1] == '-') return;
        (Word, _attached) = (Word[..2], Word[2..].TrimStart('='));
    }

    /// <summary>The word read last as it was written, an equals sign and all.</summary>
    public string TakeWhole()
    {
        _attached = null;
        return arguments[_next - 1];
    }

    /// <summary>All words from the one read last on; nothing is left to read.</summary>
    public string[] TakeRest()
    {
        string[] rest = [.. arguments.Skip(_next - 1)];
        (_next, _attached) = (arguments.Count, null);
        return rest;
    }

    /// <summary>The value of the option read last.</summary>
    public string Value()
    {
        if (_attached is { } attached)
        {
            _attached = null;
            return attached;
        }

        if (_next >= arguments.Count) throw new UsageException($"{Word} needs a value");
        return arguments[_next++];
    }

    public int Int32(int min = int.MinValue, int max = int.MaxValue) => (int)Int64(min, max);

    public long Int64(long min = long.MinValue, long max = long.MaxValue) => Number(Value(), min, max);

    /// <summary>A time: seconds, or with a unit (<see cref="DurationText"/>).</summary>
    public TimeSpan Duration() => DurationText.Parse(Word, Value());

    /// <summary>Words between commas, at least one, none empty.</summary>
    public string[] Words()
    {
        string text = Value();
        string[] words = text.Split(',');
        if (words.Any(string.IsNullOrWhiteSpace))
            throw new UsageException($"{Word} takes words between commas, got '{text}'");
        return words;
    }

    /// <summary>Numbers between commas, at least one.</summary>
    public int[] Int32s(int min, int max) => [.. Words().Select(word => (int)Number(word, min, max))];

    /// <summary>The place of the value among <paramref name="choices"/>, without regard to case.</summary>
    public int Choice(params ReadOnlySpan<string> choices)
    {
        string text = Value();
        for (int index = 0; index < choices.Length; index++)
            if (choices[index].Equals(text, StringComparison.OrdinalIgnoreCase)) return index;
        throw new UsageException($"{Word} takes one of {string.Join(", ", choices!)}, got '{text}'");
    }

    private long Number(string text, long min, long max) =>
        long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number)
        && number >= min && number <= max
            ? number
            : throw new UsageException(min == long.MinValue || max == long.MaxValue
                || (min == int.MinValue && max == int.MaxValue)
                ? $"{Word} takes a number, got '{text}'"
                : $"{Word} takes a number from {min} to {max}, got '{text}'");
}
