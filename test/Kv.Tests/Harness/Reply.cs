using System.Globalization;
using System.Text;

namespace Kv.Tests.Harness;

/// <summary>One reply as it came off the wire, with its RESP type byte kept, so that tests see RESP2 and RESP3
/// apart.</summary>
/// <remarks>
/// Independent of Kv.Protocol on purpose: an error in our own reader must not hide an error in our own writer.
/// A null bulk string is <c>$</c> without text, a null array <c>*</c> without items, RESP3's null is <c>_</c>.
/// </remarks>
public sealed class Reply
{
    private Reply(char type, byte[]? text, IReadOnlyList<Reply>? items) => (Type, Text, Items) = (type, text, items);

    /// <summary>The type byte: + - : $ * _ , # % ~ > = ( !</summary>
    public char Type { get; }

    /// <summary>The bytes of a string, number, error or verbatim; null for nulls and aggregates.</summary>
    public byte[]? Text { get; }

    /// <summary>Items of an aggregate; a map's are key, value, key, value.</summary>
    public IReadOnlyList<Reply>? Items { get; }

    public bool IsNull => Type == '_' || (Text is null && Items is null);
    public bool IsError => Type is '-' or '!';
    public string String => Latin(Text ?? throw new InvalidOperationException($"{this} has no text"));
    public long Integer => long.Parse(String, CultureInfo.InvariantCulture);

    public static Reply Of(char type, byte[]? text) => new(type, text, null);
    public static Reply Of(char type, IReadOnlyList<Reply>? items) => new(type, null, items);

    public static string Latin(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    /// <summary>Reads a reply of RESP2, or one with doubles of RESP3, that is there in whole, and moves behind
    /// it.</summary>
    public static Reply Read(ReadOnlySpan<byte> bytes, ref int at)
    {
        char type = (char)bytes[at];
        int end = at + bytes[at..].IndexOf((byte)'\r');
        byte[] line = bytes[(at + 1)..end].ToArray();
        at = end + 2;
        if (type is '+' or '-' or ':' or ',') return Of(type, line);
        if (type is not ('$' or '*')) throw new FormatException($"no type that is read here: {type}");
        int count = int.Parse(line, CultureInfo.InvariantCulture);
        if (count < 0) return type == '$' ? Of('$', text: null) : Of('*', items: null);
        if (type == '$')
        {
            at += count + 2;
            return Of(type, bytes.Slice(at - count - 2, count).ToArray());
        }

        var items = new Reply[count];
        for (int i = 0; i < count; i++) items[i] = Read(bytes, ref at);
        return Of(type, items);
    }

    public bool IsSame(Reply other)
    {
        if (Type != other.Type || (Text is null) != (other.Text is null)) return false;
        if (Text is not null && !Text.AsSpan().SequenceEqual(other.Text)) return false;
        if ((Items is null) != (other.Items is null)) return false;
        if (Items is null) return true;
        if (Items.Count != other.Items!.Count) return false;
        for (int i = 0; i < Items.Count; i++)
            if (!Items[i].IsSame(other.Items[i])) return false;
        return true;
    }

    /// <summary>As transcripts write it.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        Write(text, top: true);
        return text.ToString();
    }

    private void Write(StringBuilder text, bool top)
    {
        switch (Type)
        {
            case '_': text.Append('_'); return;
            case '$' or '*' when IsNull: text.Append(Type).Append("-1"); return;
            case '$': RespText.Quote(text, Text!); return;
            case '=': text.Append("txt"); RespText.Quote(text, Text.AsSpan(4)); return;
            case '+' or '-' when top: text.Append(Type).Append(Latin(Text!)); return;
            case '+' or '-' or '!': text.Append(Type); RespText.Quote(text, Text!); return;
            case '%': WriteItems(text, '{', '}'); return;
            case '*': WriteItems(text, '[', ']'); return;
            case '~' or '>': text.Append(Type); WriteItems(text, '[', ']'); return;
            default: text.Append(Type).Append(Latin(Text!)); return;
        }
    }

    private void WriteItems(StringBuilder text, char open, char close)
    {
        text.Append(open);
        for (int i = 0; i < Items!.Count; i++)
        {
            if (i > 0) text.Append(' ');
            Items[i].Write(text, top: false);
        }

        text.Append(close);
    }
}
