using System.Globalization;
using System.Text;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>The command templates of Tair's resp-benchmark, with its own rules of splitting and quoting.</summary>
/// <remarks>Text and placeholders are concatenated first and split at white space afterwards. A quote means something
/// only as the first character of a text between placeholders: there a quoted run loses its quotes.</remarks>
internal static class TairTemplate
{
    private const double ZipfExponent = 1.03;

    /// <param name="load">Exactly <paramref name="n"/> requests; each takes its sequences' values from its own
    /// number.</param>
    /// <exception cref="UsageException">An unknown placeholder, or a wrong count of words in one.</exception>
    public static ShapedWorkload Parse(string text, bool load, long n)
    {
        List<List<Part>> arguments = [];
        bool open = false;      // whether the last argument may still grow
        var letters = new Lazy<TextPool>(() => TextPool.Letters());

        void Append(Part part)
        {
            if (!open) arguments.Add([]);
            arguments[^1].Add(part);
            open = true;
        }

        void AppendText(string piece)
        {
            piece = Unquote(piece);
            int at = 0;
            while (at < piece.Length)
            {
                int end = at;
                while (end < piece.Length && !char.IsWhiteSpace(piece[end])) end++;
                if (end > at) Append(piece[at..end]);
                while (end < piece.Length && char.IsWhiteSpace(piece[end]))
                {
                    open = false;
                    end++;
                }

                at = end;
            }
        }

        foreach ((string piece, bool isPlaceholder) in Pieces(text))
        {
            if (!isPlaceholder)
            {
                AppendText(piece);
                continue;
            }

            IReadOnlyList<IReadOnlyList<Part>> yields = Placeholder(piece, letters);
            for (int index = 0; index < yields.Count; index++)
            {
                if (index > 0) open = false;
                foreach (Part part in yields[index]) Append(part);
            }
        }

        if (arguments.Count == 0) throw new UsageException($"the command is empty: '{text}'");
        Argument[] words = [.. arguments.Select(parts => new Argument(parts))];
        string name = words[0].Parts is [{ Text: { } first }] ? Encoding.UTF8.GetString(first).ToUpperInvariant() : "?";
        Unit unit = Unit.Of(new CommandKind(name, ReplyRules.Of(name)), words);
        return load
            ? new ShapedWorkload([unit], seat => new CountedSchedule(n, seat)) { CommandsInAll = n }
            : new ShapedWorkload([unit]);
    }

    /// <summary>The text between braces, and the text around them.</summary>
    private static IEnumerable<(string Piece, bool IsPlaceholder)> Pieces(string text)
    {
        int at = 0;
        while (at < text.Length)
        {
            int begin = text.IndexOf('{', at);
            if (begin < 0) break;
            int end = text.IndexOf('}', begin);
            if (end < 0) throw new UsageException($"the placeholder '{text[begin..]}' does not end: a '}}' is missing");
            if (begin > at) yield return (text[at..begin], false);
            yield return (text[(begin + 1)..end], true);
            at = end + 1;
        }

        if (at < text.Length) yield return (text[at..], false);
    }

    private static string Unquote(string piece)
    {
        if (piece.Length == 0 || piece[0] is not ('"' or '\'')) return piece;
        int end = piece.IndexOf(piece[0], 1);
        return end < 0 ? piece : piece[1..end] + piece[(end + 1)..];
    }

    private static IReadOnlyList<IReadOnlyList<Part>> Placeholder(string text, Lazy<TextPool> letters)
    {
        string[] words = text.Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries);
        return words switch
        {
            ["key", "uniform", var n] => [KeyFormat.Tair.Argument(Distribution.Uniform, Count(n, text)).Parts],
            ["key", "sequence", var n] => [KeyFormat.Tair.Argument(Distribution.Sequence, Count(n, text)).Parts],
            ["key", "zipfian", var n] => [
                KeyFormat.Tair.Argument(Distribution.Zipf(ZipfExponent), Count(n, text)).Parts],
            ["value", var bytes] => [[new SliceField(letters.Value, Sizes.Of(Bytes(bytes, text)))]],
            ["rand", var n] => [[new NumberField(Distribution.Uniform, Count(n, text))]],
            ["range", var n, var width] => RangeOf(Count(n, text), Bytes(width, text)),
            ["key", var kind, _] => throw new UsageException(
                $"placeholder '{{{text}}}': a key is uniform, sequence or zipfian, not '{kind}'"),
            ["key" or "value" or "rand" or "range", ..] =>
                throw new UsageException($"placeholder '{{{text}}}': a wrong count of words; "
                + "they are {key uniform|sequence|zipfian N} {value L} {rand N} {range N W}"),
            _ => throw new UsageException($"unknown placeholder '{{{text}}}'; "
                + "there are {key uniform|sequence|zipfian N} {value L} {rand N} {range N W}"),
        };
    }

    private static Part[][] RangeOf(long n, long width)
    {
        var low = new NumberField(Distribution.Uniform, n);
        return [[low], [new RangeEndField(low, n, width)]];
    }

    private static long Count(string text, string whole) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long n) && n is > 0 and <= 1L << 62
            ? n
            : throw new UsageException($"placeholder '{{{whole}}}': '{text}' is no number of at least 1");

    private static long Bytes(string text, string whole) =>
        long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long bytes) && bytes <= Sizes.BytesMax
            ? bytes
            : throw new UsageException($"placeholder '{{{whole}}}': '{text}' is no number up to 1 GiB");
}
