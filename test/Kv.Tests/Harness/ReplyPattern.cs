using System.Globalization;

namespace Kv.Tests.Harness;

/// <summary>What a transcript expects of a reply: one text that says what is right in RESP2 and in RESP3.</summary>
/// <remarks>
/// <code>
/// +OK  -ERR text    a line; &lt;any&gt; inside it stands for any text, \s at its end for a space     :12  "bulk"  ,1.5 (a bulk string in RESP2)
/// nil               $-1 in RESP2, _ in RESP3                           nil[]  *-1 in RESP2, _ in RESP3
/// [a b ...]         an array; "..." stands for any further items       ?[a b]  the same in any order
/// ~[a b]            a set, in RESP2 an array; any order                >[a b]  a push, in RESP2 an array
/// {k v k v}         a map, in RESP2 a flat array; pairs in any order   txt"…"  verbatim, in RESP2 a bulk string
/// &lt;any&gt; &lt;int&gt; &lt;int 1..9&gt; &lt;string&gt; &lt;double&gt; &lt;error&gt; &lt;array&gt; &lt;map&gt; &lt;text&gt; (verbatim)   &lt;has "part" "part"&gt;
/// </code>
/// </remarks>
public abstract class ReplyPattern
{
    public static ReplyPattern Parse(string text)
    {
        int at = 0;
        var pattern = new PatternReader(text).ReadTop(ref at);
        while (at < text.Length && text[at] == ' ') at++;
        if (at < text.Length) throw new FormatException($"nothing may follow at column {at} of: {text}");
        return pattern;
    }

    /// <summary>True when brackets are still open at the end of the text: the next line goes on.</summary>
    public static bool IsOpen(string text)
    {
        if (text.StartsWith('-') || text.StartsWith('+')) return false;
        int depth = 0;
        for (int i = 0; i < text.Length; i++)
        {
            if (text[i] == '"') { RespText.Unquote(text, ref i); i--; }
            else if (text[i] is '[' or '{') depth++;
            else if (text[i] is ']' or '}') depth--;
        }

        return depth > 0;
    }

    /// <summary>Whether a reply of a connection that speaks <paramref name="resp"/> (2 or 3) is as expected.</summary>
    public abstract bool Matches(Reply reply, int resp);
}

/// <summary>Reads the notation of <see cref="ReplyPattern"/>.</summary>
internal sealed class PatternReader(string text)
{
    internal ReplyPattern ReadTop(ref int at)
    {
        if (text.Length == 0 || text[0] is not ('+' or '-')) return Read(ref at);
        at = text.Length;
        string line = text.EndsWith("\\s", StringComparison.Ordinal) ? text[1..^2] + " " : text[1..];
        return new LinePattern(text[0], line);
    }

    private ReplyPattern Read(ref int at)
    {
        SkipSpaces(ref at);
        if (at == text.Length) throw new FormatException($"a pattern ends too early: {text}");
        if (At(at, "...")) { at += 3; return RestPattern.Instance; }
        if (At(at, "nil[]")) { at += 5; return new NullPattern('*'); }
        if (At(at, "nil")) { at += 3; return new NullPattern('$'); }
        if (At(at, "txt")) { at += 3; return new VerbatimPattern(Read(ref at)); }
        char c = text[at];
        switch (c)
        {
            case '"': return new BulkPattern(RespText.Unquote(text, ref at));
            case '[': return ReadItems(ref at, ']', c);
            case '{': return ReadItems(ref at, '}', c);
            case '?' or '~' or '>': at++; return ReadItems(ref at, ']', c);
            case '<': return ReadPlaceholder(ref at);
            case '+' or '-': at++; return new LinePattern(c, Reply.Latin(RespText.Unquote(text, ref at)));
            case ':': at++; return new NumberPattern(':', ReadWord(ref at));
            case ',': at++; return new NumberPattern(',', ReadWord(ref at));
            case '#': at++; return new NumberPattern('#', ReadWord(ref at));
            default: throw new FormatException($"no pattern begins with '{c}', column {at} of: {text}");
        }
    }

    private ItemsPattern ReadItems(ref int at, char close, char kind)
    {
        at++;
        var items = new List<ReplyPattern>();
        bool open = false;
        while (true)
        {
            SkipSpaces(ref at);
            if (at == text.Length) throw new FormatException($"no closing {close} in: {text}");
            if (text[at] == close) { at++; return new ItemsPattern(kind, items, open); }
            var item = Read(ref at);
            if (item is RestPattern) open = true;
            else items.Add(item);
        }
    }

    private ReplyPattern ReadPlaceholder(ref int at)
    {
        at++;
        int begin = at;
        while (at < text.Length && char.IsAsciiLetter(text[at])) at++;
        string kind = text[begin..at];
        var parts = new List<string>();
        while (true)
        {
            SkipSpaces(ref at);
            if (text[at] == '>') { at++; return new PlaceholderPattern(kind, parts); }
            if (text[at] == '"') parts.Add(Reply.Latin(RespText.Unquote(text, ref at)));
            else parts.Add(ReadWord(ref at));
        }
    }

    private string ReadWord(ref int at)
    {
        int begin = at;
        while (at < text.Length && text[at] is not (' ' or ']' or '}' or '>')) at++;
        return text[begin..at];
    }

    private bool At(int at, string word) => string.CompareOrdinal(text, at, word, 0, word.Length) == 0;

    private void SkipSpaces(ref int at)
    {
        while (at < text.Length && text[at] == ' ') at++;
    }
}

internal sealed class RestPattern : ReplyPattern
{
    internal static readonly RestPattern Instance = new();
    public override bool Matches(Reply reply, int resp) => true;
}

internal sealed class LinePattern(char type, string line) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp)
    {
        if (reply.Type != type) return false;
        string[] parts = line.Split("<any>");
        string text = reply.String;
        if (parts.Length == 1) return text == line;
        int at = parts[0].Length;
        if (!text.StartsWith(parts[0], StringComparison.Ordinal)) return false;
        foreach (string part in parts[1..^1])
        {
            int found = text.IndexOf(part, at, StringComparison.Ordinal);
            if (found < 0) return false;
            at = found + part.Length;
        }

        return text.Length >= at + parts[^1].Length && text.EndsWith(parts[^1], StringComparison.Ordinal);
    }
}

internal sealed class BulkPattern(byte[] bytes) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp) =>
        reply.Type == '$' && reply.Text is { } text && text.AsSpan().SequenceEqual(bytes);
}

internal sealed class NumberPattern(char type, string number) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp)
    {
        char expected = resp == 3 || type == ':' ? type : type == ',' ? '$' : ':';
        string text = type == '#' && resp == 2 ? (number == "t" ? "1" : "0") : number;
        return reply.Type == expected && reply.Text is not null && reply.String == text;
    }
}

internal sealed class NullPattern(char type) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp) => reply.IsNull && reply.Type == (resp == 3 ? '_' : type);
}

internal sealed class VerbatimPattern(ReplyPattern inner) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp)
    {
        if (resp == 2) return inner.Matches(reply, resp);
        if (reply.Type != '=' || !reply.String.StartsWith("txt:", StringComparison.Ordinal)) return false;
        return inner.Matches(Reply.Of('$', reply.Text![4..]), resp);
    }
}

internal sealed class PlaceholderPattern : ReplyPattern
{
    private readonly string _kind;
    private readonly IReadOnlyList<string> _parts;
    private readonly long _least, _most;

    internal PlaceholderPattern(string kind, IReadOnlyList<string> parts)
    {
        (_kind, _parts, _least, _most) = (kind, parts, long.MinValue, long.MaxValue);
        if (kind == "int" && parts.Count == 1)
        {
            string[] ends = parts[0].Split("..");
            _least = long.Parse(ends[0], CultureInfo.InvariantCulture);
            _most = long.Parse(ends[1], CultureInfo.InvariantCulture);
        }

        if (kind is not ("any" or "int" or "string" or "error" or "array" or "map" or "text" or "double" or "has"))
            throw new FormatException($"no placeholder is called <{kind}>");
    }

    public override bool Matches(Reply reply, int resp) => _kind switch
    {
        "any" => true,
        "int" => reply.Type == ':' && reply.Integer >= _least && reply.Integer <= _most,
        "string" => reply.Type == '$' && !reply.IsNull,
        "error" => reply.IsError,
        "array" => reply.Type == '*' && !reply.IsNull,
        "map" => reply.Type == (resp == 3 ? '%' : '*') && !reply.IsNull,
        "text" => reply.Type == (resp == 3 ? '=' : '$') && !reply.IsNull,
        "double" => reply.Type == (resp == 3 ? ',' : '$') && double.TryParse(reply.String, out _),
        _ => reply.Type == '$' && reply.Text is not null
             && _parts.All(part => reply.String.Contains(part, StringComparison.Ordinal)),
    };
}

internal sealed class ItemsPattern(char kind, IReadOnlyList<ReplyPattern> items, bool open) : ReplyPattern
{
    public override bool Matches(Reply reply, int resp)
    {
        char type = resp == 2 ? '*' : kind switch { '{' => '%', '~' => '~', '>' => '>', _ => '*' };
        if (reply.Type != type || reply.Items is not { } got) return false;
        if (open ? got.Count < items.Count : got.Count != items.Count) return false;
        return kind switch
        {
            '{' => MatchesUnordered(got, resp, step: 2),
            '?' or '~' => MatchesUnordered(got, resp, step: 1),
            _ => items.Zip(got).All(pair => pair.First.Matches(pair.Second, resp)),
        };
    }

    private bool MatchesUnordered(IReadOnlyList<Reply> got, int resp, int step)
    {
        var used = new bool[got.Count];
        for (int i = 0; i < items.Count; i += step)
        {
            int found = 0;
            while (found < got.Count && (used[found] || !MatchesAt(i, got, found, resp, step))) found += step;
            if (found >= got.Count) return false;
            used[found] = true;
        }

        return true;
    }

    private bool MatchesAt(int i, IReadOnlyList<Reply> got, int at, int resp, int step)
    {
        for (int k = 0; k < step; k++)
            if (!items[i + k].Matches(got[at + k], resp)) return false;
        return true;
    }
}
