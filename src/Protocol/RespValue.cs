using System.Text;

namespace Kv.Protocol;

/// <summary>One reply, taken apart; owns its memory.</summary>
public sealed class RespValue
{
    private RespValue(byte type) => Type = type;

    /// <summary>One of <see cref="RespType"/>; "$-1" and "*-1" keep theirs, with <see cref="IsNull"/>.</summary>
    public byte Type { get; }

    public bool IsNull { get; private init; }

    public bool IsError => Type is RespType.Error or RespType.BulkError;

    /// <summary>Of an integer; 1 or 0 of a boolean.</summary>
    public long Integer { get; private init; }

    /// <summary>Of a double.</summary>
    public double Double { get; private init; }

    /// <summary>The text of all that has one: strings, errors, numbers as they were sent. A verbatim string's is
    /// without its "txt:".</summary>
    public byte[] Bytes { get; private init; } = [];

    /// <summary>The three letters before a verbatim string's text.</summary>
    public string Format { get; private init; } = "";

    /// <summary>Of an array, set, push; of a map, keys and values in turn.</summary>
    public RespValue[] Elements { get; private init; } = [];

    /// <summary>The attributes sent ahead of the reply, keys and values in turn.</summary>
    public RespValue[] Attributes { get; internal set; } = [];

    /// <summary>The bytes as Latin-1, so that each is one character.</summary>
    public string Text => Encoding.Latin1.GetString(Bytes);

    /// <summary>As redis-cli would show it, in one line: for messages of tests.</summary>
    public override string ToString() => Type switch
    {
        _ when IsNull => "(nil)",
        RespType.Error or RespType.BulkError => $"(error) {Text}",
        RespType.Integer => $"(integer) {Integer}",
        RespType.Boolean => Integer != 0 ? "(true)" : "(false)",
        RespType.Double => $"(double) {Text}",
        RespType.Array or RespType.Set or RespType.Push or RespType.Map =>
            $"{(char)Type}[{string.Join(", ", (object[])Elements)}]",
        RespType.SimpleString => Text,
        _ => $"\"{Text}\"",
    };

    internal static RespValue OfNull(byte type) => new(type) { IsNull = true };

    internal static RespValue OfInteger(byte type, long value, byte[] bytes) =>
        new(type) { Integer = value, Bytes = bytes };

    internal static RespValue OfDouble(double value, byte[] bytes) =>
        new(RespType.Double) { Double = value, Bytes = bytes };

    internal static RespValue OfBytes(byte type, byte[] bytes) => new(type) { Bytes = bytes };

    internal static RespValue OfVerbatim(byte[] text, string format) =>
        new(RespType.Verbatim) { Bytes = text, Format = format };

    internal static RespValue OfElements(byte type, RespValue[] elements) => new(type) { Elements = elements };
}
