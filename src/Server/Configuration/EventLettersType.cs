using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>Letters that choose keyspace events; A stands for the ten of <see cref="Classes"/>.</summary>
internal sealed class EventLettersType : OptionType<string>
{
    private const string Classes = "g$lshzxetd", Others = "nKEm", Accepted = "Ag$lshzxeKEtmdn";

    public override string Expects => "letters of " + Accepted;

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) => [ConfigLine.Quote(value)];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = "";
        error = $"Invalid event class character. Use '{Accepted}'.";
        if (text.Any(c => !Accepted.Contains(c, StringComparison.Ordinal))) return false;
        bool all = text.Contains('A', StringComparison.Ordinal)
            || Classes.All(c => text.Contains(c, StringComparison.Ordinal));
        var letters = new StringBuilder(all ? "A" : "");
        foreach (char letter in all ? Others : Classes + Others)
        {
            if (text.Contains(letter, StringComparison.Ordinal)) letters.Append(letter);
        }

        value = letters.ToString();
        return true;
    }
}
