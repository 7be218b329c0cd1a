using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>How the number of a key becomes its name. Numbers too long for the width are not cut.</summary>
/// <param name="Width">The least digits; 0 or 1: as short as they are.</param>
internal sealed record KeyFormat(string Prefix, int Width, char Pad = '0', string Suffix = "")
{
    private const int WidthLimit = 64 * 1024;

    /// <summary>key:000000000042</summary>
    public static readonly KeyFormat RedisBenchmark = new("key:", 12);

    /// <summary>key_0000000042</summary>
    public static readonly KeyFormat Tair = new("key_", 10);

    /// <summary>memtier-42</summary>
    public static readonly KeyFormat Memtier = new("memtier-", 0);

    /// <summary>XXXXXX42</summary>
    public static KeyFormat Garnet(int width) => new("", width, 'X');

    /// <summary>Reads garnet, rb, tair, memtier, or a text with one %d or %0Nd.</summary>
    /// <param name="width">Replaces the width, where one is given.</param>
    /// <exception cref="UsageException">It is none of them.</exception>
    public static KeyFormat Parse(string text, int? width = null)
    {
        KeyFormat format = text switch
        {
            "garnet" => Garnet(8),
            "rb" => RedisBenchmark,
            "tair" => Tair,
            "memtier" => Memtier,
            _ => ParseCustom(text),
        };
        return width is { } digits ? format with { Width = digits } : format;
    }

    /// <summary>The parts of a key's argument.</summary>
    /// <param name="count">Keys there are: numbers 0..count−1.</param>
    public Argument Argument(Distribution distribution, long count, bool isKey = true)
    {
        int digits = PaddedDigits.CountFor(count);
        if (digits > Math.Max(1, Width))
            return new Argument([Prefix, Number(new NumberField(distribution, count) { IsKey = isKey }), Suffix]);

        // The digits that no number reaches are constant.
        string always = Prefix + new string(Pad, Math.Max(0, Width - digits));
        return new Argument(
            [always, Number(new NumberField(distribution, count, digits, (byte)Pad) { IsKey = isKey }), Suffix]);

        static Part Number(Field field) => field;
    }

    /// <summary>The name of one key.</summary>
    public string NameOf(long number) =>
        Prefix + number.ToString(CultureInfo.InvariantCulture).PadLeft(Width, Pad) + Suffix;

    private static KeyFormat ParseCustom(string text)
    {
        int at = text.IndexOf('%');
        int end = at < 0 ? -1 : text.IndexOf('d', at);
        if (end < 0 || text.IndexOf('%', at + 1) >= 0) throw Wrong(text);
        string width = text[(at + 1)..end];
        if (width.Length == 0) return new KeyFormat(text[..at], 0, '0', text[(end + 1)..]);
        return width[0] == '0' && int.TryParse(width, NumberStyles.None, CultureInfo.InvariantCulture, out int digits)
            && digits <= WidthLimit
            ? new KeyFormat(text[..at], digits, '0', text[(end + 1)..])
            : throw Wrong(text);
    }

    private static UsageException Wrong(string text) =>
        new($"key format '{text}': give garnet, rb, tair, memtier, or a text with one %d or %012d");
}
