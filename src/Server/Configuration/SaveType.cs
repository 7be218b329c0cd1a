using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

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
