using System.Text;
using Kv.Server.Execution;
using Kv.Tests.Facts;

namespace Kv.Tests.Tidy;

/// <summary>docs/commands.md: what the server can do, from the rows.</summary>
public class CommandsDocumentTests
{
    [Fact]
    public void The_table_of_commands_is_in_step() => GeneratedFile.Check("docs/commands.md", Text());

    private static string Text()
    {
        var rows = CommandRows.All.Where(row => row.Subcommands.Length == 0 || row.Handler != null).ToList();
        var text = new StringBuilder();
        text.Append("# Commands\n\n");
        text.Append(
            "Made from the command rows (`src/Server/Families`); do not edit.\n"
            + "`KV_REWRITE=1 dotnet test -c Release --filter Tidy` renews it.\n\n");
        text.Append(
            $"{rows.Count} commands and subcommands. Arguments: `CAPITALS` are sent as they stand, `[optional]`,\n"
            + "`<one | of>`, `again [again ...]`.\n");
        text.Append("\"Since\" is the version of Redis that had it first; access lists the ACL categories. Commands\n"
            + "that begin with `KV.` are our own, and no other server's.\n");

        foreach (var group in rows.GroupBy(row => row.Group)
            .OrderBy(group => CommandDocsReply.GroupName(group.Key), StringComparer.Ordinal))
        {
            text.Append($"\n## {CommandDocsReply.GroupName(group.Key)}\n\n");
            text.Append("| command | arguments | what it does | cost | since | access |\n|---|---|---|---|---|---|\n");
            foreach (var row in group.OrderBy(CommandFact.NameOf, StringComparer.Ordinal))
            {
                string former = row.DeprecatedSince == null
                    ? "" : $" Redis advises others since {row.DeprecatedSince}.";
                text.Append(
                    $"| {GeneratedFile.Code(CommandFact.NameOf(row))} | {GeneratedFile.Code(row.Usage)} | "
                    + $"{GeneratedFile.Cell(row.Summary)}{former} | "
                    + $"{GeneratedFile.Cell(row.Complexity)} | {row.Since} | {Access(row)} |\n");
            }
        }

        var missing = CommandFact.All
            .Where(fact => !fact.Name.StartsWith("SENTINEL", StringComparison.Ordinal)
                && CommandRows.All.All(row => CommandFact.NameOf(row) != fact.Name))
            .ToList();
        if (missing.Count > 0)
            text.Append(
                "\n## Not there yet\n\nWhat Redis 7.2 has beside these (and the hash-field expiry of 7.4), by "
                + "group:\n\n");
        foreach (var group in missing.GroupBy(fact => fact.Group).OrderBy(group => group.Key, StringComparer.Ordinal))
        {
            var line = new StringBuilder($"- {group.Key}:");
            foreach (string name in group.Select(fact => fact.Name).Order(StringComparer.Ordinal))
            {
                if (line.Length + name.Length > 117)
                {
                    text.Append(line).Append('\n');
                    line.Clear().Append(' ');
                }

                line.Append(' ').Append(name).Append(',');
            }

            text.Append(line, 0, line.Length - 1).Append('\n');
        }

        return text.ToString();
    }

    private static string Access(Command row)
    {
        var categories = AclCategoryRules.Of(row);
        return string.Join(' ', AclCategoryRules.All.Where(each => (categories & each) != 0)
            .Select(AclCategoryRules.Name));
    }
}
