using Kv.Server.Execution;
using Kv.Server.Families;

namespace Kv.Tests.Facts;

/// <summary>The rows that exist, for tests that walk all of them.</summary>
internal static class CommandRows
{
    /// <summary>Commands and subcommands.</summary>
    public static IEnumerable<Command> All =>
        AllCommands.Table.All.SelectMany(command => command.Subcommands.Prepend(command));

    public static IEnumerable<TheoryDataRow<string>> Names() =>
        All.Select(command => new TheoryDataRow<string>(CommandFact.NameOf(command)));

    /// <summary>"GET", "CLIENT LIST".</summary>
    public static Command Find(string name) => All.First(command => CommandFact.NameOf(command) == name);
}
