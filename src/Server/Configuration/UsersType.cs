using System.Text;

namespace Kv.Server.Configuration;

/// <summary>Lines of users, "alice on >secret ~cache:* +@read". Each line adds one, or replaces the one of its
/// name.</summary>
internal sealed class UsersType : OptionType<IReadOnlyList<string>>
{
    public override string Expects => "name rule...";

    public override bool ManyWords => true;

    public override string Format(IReadOnlyList<string> value) => string.Join('\n', value);

    public override IReadOnlyList<string> FileTexts(IReadOnlyList<string> value) =>
        [.. value.Select(line => string.Join(' ', line.Split(' ').Select(Quoted)))];

    public override bool TryParse(string text, IReadOnlyList<string> current, out IReadOnlyList<string> value,
        out string error)
    {
        var lines = UserLines.Of(current);
        value = lines;
        error = "a user has a name";
        if (text.Length == 0) return true;
        foreach (string line in text.Split('\n'))
        {
            if (UserLines.NameOf(line).IsEmpty) return false;
            value = lines = lines.With(line);
        }

        return true;
    }

    // What ConfigLine.Split would take for a quote or an escape, or could not stand in a line.
    private static string Quoted(string word) =>
        word.AsSpan().IndexOfAnyExceptInRange('!', '~') >= 0 || word.AsSpan().IndexOfAny("\"'\\") >= 0
            ? ConfigLine.Quote(word) : word;
}
