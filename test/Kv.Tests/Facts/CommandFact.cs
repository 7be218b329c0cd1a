using Kv.Server.Execution;

namespace Kv.Tests.Facts;

/// <summary>A line of commands.tsv: what a row must agree with.</summary>
internal sealed record CommandFact(
    string Group, string Name, string Since, int Arity, string Usage, string[] Flags, string[] Categories, string Keys,
    string[] Tips, string Note)
{
    private static readonly Dictionary<string, CommandFact> ByName = Read().ToDictionary(fact => fact.Name);

    public static IEnumerable<CommandFact> All => ByName.Values;

    /// <summary>"GET", "CLIENT LIST".</summary>
    public static CommandFact? Find(string name) => ByName.GetValueOrDefault(name);

    public static CommandFact? Of(Command command) => Find(NameOf(command));

    public static string NameOf(Command command) => command.FullName.Replace('|', ' ').ToUpperInvariant();

    private static IEnumerable<CommandFact> Read() =>
        from line in File.ReadLines(Path.Combine(AppContext.BaseDirectory, "Facts", "commands.tsv"))
        where !line.StartsWith('#') && !line.StartsWith("group\t", StringComparison.Ordinal)
        let field = line.Split('\t')
        select new CommandFact(field[0], field[1], field[2], int.Parse(field[3]), field[4], List(field[5]),
            List(field[6]), field[7], List(field[9]), field[10]);

    private static string[] List(string text) => text.Length == 0 ? [] : [.. text.Split(',').Distinct()];
}
