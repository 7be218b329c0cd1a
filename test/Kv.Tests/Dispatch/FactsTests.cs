using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Facts;

namespace Kv.Tests.Dispatch;

/// <summary>Every row agrees with what is known of the command, field by field: clients decide by these
/// fields.</summary>
public class FactsTests
{
    public static IEnumerable<TheoryDataRow<string>> Names() => CommandRows.Names();

    [Theory, MemberData(nameof(Names))]
    public void A_row_agrees_with_the_facts(string name)
    {
        if (name.StartsWith("KV.", StringComparison.Ordinal)) return;       // our own: no other server has it
        var row = CommandRows.Find(name);
        var fact = CommandFact.Find(name);
        Assert.True(fact != null, $"no line in commands.tsv says {name}");

        Assert.Equal(Told(fact), Told(row));
    }

    [Theory, MemberData(nameof(Names))]
    public void A_row_says_what_the_command_does_in_a_sentence_and_what_it_costs(string name)
    {
        var row = CommandRows.Find(name);
        Assert.Matches(@"^[A-Z][ -~]{10,118}\.$", row.Summary);
        Assert.NotEmpty(row.Complexity);
        Assert.All($"{row.Summary}{row.Complexity}{row.Usage}", letter => Assert.InRange(letter, ' ', '~'));
    }

    [Fact]
    public void Summaries_differ()
    {
        var twice = CommandRows.All.Where(row => row.Name != "HELP").GroupBy(row => row.Summary)
            .Where(rows => rows.Count() > 1);
        Assert.Empty(twice.Select(rows => $"{rows.Key} {string.Join(", ", rows.Select(CommandFact.NameOf))}"));
    }

    [Fact]
    public void Every_container_has_HELP_and_answers_it_from_its_rows()
    {
        foreach (var container in AllCommands.Table.All.Where(command => command.Subcommands.Length > 0))
        {
            Assert.Contains(container.Subcommands, row => row.Name == "HELP");
            var lines = HelpReply.Lines(container);
            Assert.Equal($"{container.Name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", lines[0]);
            Assert.Equal(1 + 2 * container.Subcommands.Length, lines.Count);
        }
    }

    [Theory, MemberData(nameof(Names))]
    public void A_command_with_several_specs_or_a_count_is_told_to_have_movable_keys(string name)
    {
        var row = CommandRows.Find(name);
        bool plain = row.Keys.All(spec => spec.Start == KeyStart.Position && spec.Extent == KeyExtent.Range);
        if (!plain) Assert.True(LegacyKeyRange.Of(row.Keys).Movable);
        Assert.Equal(CommandFlags.None, row.Flags & CommandFlags.MovableKeys);      // derived, never written
    }

    private static string Told(CommandFact fact) => string.Join('\n',
        $"arity {fact.Arity}",
        $"usage {fact.Usage}",
        $"since {fact.Since}",
        $"group {fact.Group.Replace("_", "")}",
        $"flags {Sorted(fact.Flags.Select(flag => flag.Replace("_", "")))}",
        $"categories {Sorted(fact.Categories.Concat(Implied(fact)).Distinct())}",
        $"keys {string.Join(" ; ", fact.Keys.Split(" ; ").Select(SortedKeys))}",
        $"tips {Sorted(fact.Tips)}",
        $"note {fact.Note}");

    private const CommandFlags OwnFlags = CommandFlags.OwnReplies | CommandFlags.ChangesSession
        | CommandFlags.NotQueued | CommandFlags.WaitsForRoom;

    private static string Told(Command row) => string.Join('\n',
        $"arity {row.Arity}",
        $"usage {row.Usage}",
        $"since {row.Since}",
        $"group {row.Group.ToString().ToLowerInvariant()}",
        $"flags {Sorted(Words(row.Flags & ~OwnFlags))}",
        $"categories {Sorted(Words(AclCategoryRules.Of(row)))}",
        $"keys {string.Join(" ; ", row.Keys.Select(Text).Select(SortedKeys))}",
        $"tips {Sorted(row.Tips)}",
        $"note {(row.DeprecatedSince == null ? "" : $"deprecated since {row.DeprecatedSince}")}");

    // What Redis adds to the categories of its own description by the flags.
    private static IEnumerable<string> Implied(CommandFact fact)
    {
        if (fact.Flags.Contains("write")) yield return "write";
        if (fact.Flags.Contains("readonly") && !fact.Categories.Contains("scripting")) yield return "read";
        if (fact.Flags.Contains("admin")) yield return "admin";
        if (fact.Flags.Contains("admin")) yield return "dangerous";
        if (fact.Flags.Contains("pubsub")) yield return "pubsub";
        if (fact.Flags.Contains("blocking")) yield return "blocking";
        yield return fact.Flags.Contains("fast") ? "fast" : "slow";
    }

    // In the notation of the facts.
    private static string Text(KeySpec spec)
    {
        string start = spec.Start switch
        {
            KeyStart.Position => $"@{spec.Position}",
            KeyStart.Keyword => $"kw:{spec.Keyword}/{spec.Position}",
            _ => "unknown",
        };
        string extent = spec.Extent switch
        {
            KeyExtent.Range => $"range({spec.Last},{spec.Step},{spec.Limit})",
            KeyExtent.Count => $"keynum({spec.CountOffset},{spec.FirstOffset},{spec.Step})",
            _ => "unknown",
        };
        return $"{start}+{extent}:{string.Join(',', AccessWords(spec.Access))}";
    }

    private static IEnumerable<string> AccessWords(KeyAccess access)
    {
        (KeyAccess, string)[] words =
        [
            (KeyAccess.RO, "RO"), (KeyAccess.RW, "RW"), (KeyAccess.OW, "OW"), (KeyAccess.RM, "RM"),
            (KeyAccess.Access, "ACCESS"),
            (KeyAccess.Update, "UPDATE"), (KeyAccess.Insert, "INSERT"), (KeyAccess.Delete, "DELETE"),
            (KeyAccess.NotKey, "NOT_KEY"),
            (KeyAccess.Incomplete, "INCOMPLETE"), (KeyAccess.VariableFlags, "VARIABLE_FLAGS"),
        ];
        return words.Where(word => (access & word.Item1) != 0).Select(word => word.Item2);
    }

    private static string SortedKeys(string spec)
    {
        int colon = spec.LastIndexOf(':');
        return colon < 0 ? spec : spec[..(colon + 1)] + Sorted(spec[(colon + 1)..].Trim().Split(','));
    }

    private static IEnumerable<string> Words<T>(T flags) where T : struct, Enum => from flag in Enum.GetValues<T>()
        where Convert.ToInt64(flag) != 0 && flags.HasFlag(flag)
        select flag.ToString().ToLowerInvariant();

    private static string Sorted(IEnumerable<string> words) => string.Join(',', words.Order(StringComparer.Ordinal));
}
