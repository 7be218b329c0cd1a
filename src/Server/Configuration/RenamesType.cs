namespace Kv.Server.Configuration;

/// <summary>Pairs of a command's name and its new one, which may be empty. Each line adds one.</summary>
internal sealed class RenamesType : OptionType<IReadOnlyList<string>>
{
    public override string Expects => "command new-name, or command \"\"";

    public override bool ManyWords => true;

    public override string Format(IReadOnlyList<string> value) => string.Join('\n', value);

    public override bool TryParse(string text, IReadOnlyList<string> current, out IReadOnlyList<string> value,
        out string error)
    {
        error = "wrong number of arguments";
        value = current;
        if (text.Length == 0) return true;
        string[] lines = text.Split('\n');
        if (!Array.TrueForAll(lines, static line => line.Count(letter => letter == ' ') == 1 && line[0] != ' '))
            return false;
        value = [.. current, .. lines];     // a pair that is there twice is refused when they are applied, as in Redis
        return true;
    }
}
