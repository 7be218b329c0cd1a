using Kv.Server.Execution;
using Kv.Tests.Facts;

namespace Kv.Tests.Dispatch;

public class UsageGrammarTests
{
    /// <summary>Their arity is not in their usage line: containers, and old habits of Redis.</summary>
    private static readonly string[] ArityElsewhere =
        ["COMMAND", "DEBUG", "PSYNC", "QUIT", "REPLCONF", "SENTINEL SIMULATE-FAILURE"];

    public static IEnumerable<TheoryDataRow<string>> Names() =>
        CommandFact.All.Select(fact => new TheoryDataRow<string>(fact.Name));

    [Theory, MemberData(nameof(Names))]
    public void A_usage_line_read_and_written_again_is_the_same(string name)
    {
        string usage = CommandFact.Find(name)!.Usage;
        Assert.Equal(usage, UsageGrammar.Format(UsageGrammar.Parse(usage)));
    }

    [Theory, MemberData(nameof(Names))]
    public void The_arity_follows_from_the_usage_line(string name)
    {
        var fact = CommandFact.Find(name)!;
        bool container = CommandFact.All.Any(other => other.Name.StartsWith(name + " ", StringComparison.Ordinal));
        if (container || ArityElsewhere.Contains(name)) return;
        Assert.Equal(fact.Arity, UsageGrammar.Arity(UsageGrammar.Parse(fact.Usage), name.Split(' ').Length));
    }

    [Theory]
    [InlineData("", "")]
    [InlineData("key value", "key value")]
    [InlineData("key [key ...]", "key*")]
    [InlineData("key value [key value ...]", "key_value*(key value)")]
    [InlineData("[NX | XX]", "condition?<NX | XX>")]
    [InlineData("[EX seconds | PERSIST]", "expiration?<EX:seconds | PERSIST>")]
    [InlineData("[TYPE normal | master]", "TYPE:type?<normal! | master!>")]
    [InlineData("[FILTERBY MODULE name | PATTERN pattern]", "FILTERBY:filterby?<MODULE:name | PATTERN:pattern>")]
    [InlineData("[LIMIT offset count]", "LIMIT:offset_count?(offset count)")]
    [InlineData("[COUNT count [ANY]]", "count_any?(COUNT:count ANY?)")]
    [InlineData("[ID client-id [client-id ...]]", "ID:client-id*?")]
    [InlineData("[PREFIX prefix [PREFIX prefix ...]]", "PREFIX:prefix**?")]
    [InlineData("STREAMS key [key ...] ID [ID ...]", "STREAMS:key_id(key* id*)")]
    [InlineData("[GET a | SET b c [GET a | SET b c ...]]", "a_b_c*?<GET:a | SET:b_c(b c)>")]
    [InlineData("[TYPE a | b [TYPE a | b ...]]", "TYPE:type**?<a | b>")]
    [InlineData("<* | id>", "*_id<* | id>")]
    public void A_usage_line_has_a_tree(string usage, string tree) =>
        Assert.Equal(tree, Tree(UsageGrammar.Parse(usage)));

    [Theory]
    [InlineData("[key")]
    [InlineData("key]")]
    [InlineData("<a | b]")]
    [InlineData("key [member ...]")]
    [InlineData("[key ...]")]
    public void A_malformed_usage_line_is_refused(string usage) =>
        Assert.Throws<FormatException>(() => UsageGrammar.Parse(usage));

    private static string Tree(UsageArgument[] arguments) => string.Join(' ', arguments.Select(Tree));

    // token:name, * repeats (** with its token), ? optional, <one | of>, (block), ! a keyword in small letters
    private static string Tree(UsageArgument argument) =>
        (argument.Token.Length > 0 ? argument.Token + ":" : "")
        + (argument.Kind == UsageKind.Word ? argument.Text : argument.Name)
        + (argument.Kind == UsageKind.Word && argument.Text.Any(char.IsAsciiLetterLower) ? "!" : "")
        + (argument.Multiple ? argument.TokenRepeats ? "**" : "*" : "")
        + (argument.Optional ? "?" : "")
        + argument.Kind switch
        {
            UsageKind.OneOf => $"<{string.Join(" | ", argument.Children.Select(Tree))}>",
            UsageKind.Block => $"({Tree(argument.Children)})",
            _ => "",
        };
}
