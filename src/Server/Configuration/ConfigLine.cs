using System.Diagnostics;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>One setting as somebody wrote it: where, and which words.</summary>
/// <param name="Origin">A file and line number, "command line", or "environment".</param>
/// <param name="Text">What was written, to quote in an error.</param>
/// <param name="Words">The name, then the words of the value, without quotes and escapes.</param>
internal sealed record ConfigLine(string Origin, string Text, IReadOnlyList<string> Words)
{
    public const string CommandLine = "command line", Environment = "environment";

    public string Name => Words[0];

    /// <summary>What is wrong with it, in one line. The value of a secret is left out.</summary>
    public string Error(string what, Option? option = null)
    {
        string shown = option is { IsSecret: true } ? $"{Name} ***" : Text;
        return $"{Origin}: '{Printable(shown)}': {what}";
    }

    /// <summary>What is wrong with it, and what to write instead.</summary>
    public OptionProblem Problem(string what, string remedy, Option? option = null) => new(Error(what, option), remedy);

    /// <summary>Where it stands, for those who ask who has set an option.</summary>
    public string Place => Origin == Environment ? $"environment variable {Text.Split('=')[0]}" : Origin;

    /// <summary>
    /// Takes a line apart: words between spaces; in double quotes \n \r \t \b \a \\ \" \xHH, in single quotes \'.
    /// </summary>
    /// <returns>Null when a quote is not closed, or is followed by something else than a space.</returns>
    public static List<string>? Split(string line)
    {
        ReadOnlySpan<byte> input = Encoding.UTF8.GetBytes(line);
        var words = new List<string>();
        var word = new List<byte>();
        int at = 0;
        while (true)
        {
            while (at < input.Length && IsSpace(input[at])) at++;
            if (at == input.Length) return words;
            word.Clear();
            if (!TryReadWord(input, ref at, word)) return null;
            if (!OptionTable.TryDecode(word.ToArray(), out string text)) return null;
            words.Add(text);
        }
    }

    /// <summary>A text as one word in double quotes, which <see cref="Split"/> takes apart again; printable
    /// ASCII.</summary>
    public static string Quote(string text)
    {
        var quoted = new StringBuilder("\"");
        foreach (byte value in Encoding.UTF8.GetBytes(text))
        {
            quoted.Append(value switch
            {
                (byte)'"' => "\\\"",
                (byte)'\\' => "\\\\",
                (byte)'\n' => "\\n",
                (byte)'\r' => "\\r",
                (byte)'\t' => "\\t",
                (byte)'\b' => "\\b",
                (byte)'\a' => "\\a",
                >= 0x20 and < 0x7F => ((char)value).ToString(),
                _ => $"\\x{value:x2}",
            });
        }

        return quoted.Append('"').ToString();
    }

    private static bool TryReadWord(ReadOnlySpan<byte> input, ref int at, List<byte> word)
    {
        while (at < input.Length && !IsSpace(input[at]))
        {
            byte next = input[at++];
            if (next is not ((byte)'"' or (byte)'\''))
            {
                word.Add(next);
                continue;
            }

            if (!TryReadQuoted(input, ref at, word, next)) return false;
            return at == input.Length || IsSpace(input[at]);
        }

        return true;
    }

    private static bool TryReadQuoted(ReadOnlySpan<byte> input, ref int at, List<byte> word, byte quote)
    {
        while (at < input.Length)
        {
            byte next = input[at++];
            if (next == quote) return true;
            if (next != '\\' || at == input.Length)
            {
                word.Add(next);
            }
            else if (quote == '\'')
            {
                bool isQuote = input[at] == '\'';
                word.Add(isQuote ? (byte)'\'' : next);
                if (isQuote) at++;
            }
            else
            {
                word.Add(Unescape(input, ref at));
            }
        }

        return false;
    }

    /// <summary>The byte that an escape in double quotes stands for; <paramref name="at"/> is behind the
    /// backslash.</summary>
    private static byte Unescape(ReadOnlySpan<byte> input, ref int at)
    {
        Debug.Assert(at < input.Length, "something follows the backslash");
        byte letter = input[at++];
        if (letter == 'x' && input.Length - at >= 2 && char.IsAsciiHexDigit((char)input[at])
            && char.IsAsciiHexDigit((char)input[at + 1]))
        {
            at += 2;
            return Convert.ToByte(Encoding.ASCII.GetString(input.Slice(at - 2, 2)), 16);
        }

        return letter switch
        {
            (byte)'n' => (byte)'\n',
            (byte)'r' => (byte)'\r',
            (byte)'t' => (byte)'\t',
            (byte)'b' => (byte)'\b',
            (byte)'a' => (byte)'\a',
            _ => letter,
        };
    }

    private static bool IsSpace(byte value) => value is (byte)' ' or >= 9 and <= 13;

    /// <summary>One line, and not a long one, whatever was in the file.</summary>
    public static string Printable(string text)
    {
        const int CharsMax = 128;
        string shown = text.Length > CharsMax ? text[..CharsMax] + "..." : text;
        return string.Concat(shown.Select(c => char.IsControl(c) ? '?' : c));
    }
}
