using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

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
