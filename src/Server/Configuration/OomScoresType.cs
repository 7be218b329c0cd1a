using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>Three adjustments of the kernel's out-of-memory score.</summary>
internal sealed class OomScoresType : OptionType<string>
{
    public override string Expects => "three numbers, -2000..2000";

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text;
        string[] words = text.Split(' ');
        error = "wrong number of arguments";
        if (words.Length != 3) return false;
        error = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
        var number = new NumberType(-2000, 2000);
        return words.All(word => number.TryParse(word, 0, out _, out _));
    }
}
