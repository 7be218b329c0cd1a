using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>How a signal shuts down: a set of words, answered in the order of the list.</summary>
internal sealed class ShutdownWordsType : OptionType<string>
{
    private static readonly string[] Order = ["default", "save", "nosave", "now", "force"];

    public override string Expects => string.Join(", ", Order);

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        string[] words = text.ToLowerInvariant().Split(' ');
        var chosen = Order.Where(words.Contains).ToList();
        if (chosen.Count > 1) chosen.Remove("default");
        value = string.Join(' ', chosen);
        error = "argument(s) must be one of the following: " + Expects;
        if (!words.All(Order.Contains)) return false;
        error = "shutdown options SAVE and NOSAVE can't be used simultaneously";
        return !(chosen.Contains("save") && chosen.Contains("nosave"));
    }
}
