using System.Text;

namespace Kv.Server.Execution;

/// <summary>What a command does, in one static method. Reads its arguments, finishes them once, writes exactly one
/// reply.</summary>
internal delegate void CommandHandler(ref CommandContext context);

/// <summary>The row of a command: all that lookup, checks, COMMAND, statistics and the docs need to know of
/// it.</summary>
/// <remarks>A container (CLIENT, CONFIG...) has <see cref="Subcommands"/> and, where it answers by itself, a handler
/// too.</remarks>
internal sealed class Command(string name, int arity, CommandHandler? handler)
{
    /// <summary>Upper case; a subcommand's own word only ("LIST").</summary>
    public string Name { get; } = name;

    /// <summary>Arguments with the name (and, for a subcommand, the container's): exact, or at least -arity.</summary>
    public int Arity { get; } = arity;

    public CommandHandler? Handler { get; } = handler;

    /// <summary>The arguments in five signs: words (UPPER is a keyword), [optional], &lt;one | of&gt;, repeat [repeat
    /// ...].</summary>
    public string Usage { get; init; } = "";

    public required string Summary { get; init; }
    public required string Complexity { get; init; }
    public required string Since { get; init; }
    public required CommandGroup Group { get; init; }

    /// <summary>The version in which Redis began to advise another command, or null.</summary>
    public string? DeprecatedSince { get; init; }

    public CommandFlags Flags { get; init; }

    /// <summary>ACL categories beyond those that follow from flags and group.</summary>
    public AclCategories Categories { get; init; }

    public KeySpec[] Keys
    {
        get;
        init
        {
            field = value;
            FirstKey = value is not [{ Start: KeyStart.Position } first, ..] ? 0
                : first.Extent == KeyExtent.Range ? first.Position
                : first.Extent == KeyExtent.Count ? first.Position + first.FirstOffset : 0;
        }
    } = [];

    /// <summary>Index of the first key for the look-ahead; 0: none at a fixed place. Behind a count there may be none:
    /// then something else is looked for ahead, in vain.</summary>
    public int FirstKey { get; private init; }

    /// <summary>From so many arguments on, with the name, a call may use keys that <see cref="Keys"/> does not name:
    /// all of a database, or those of another one. In a transaction everybody else then stands still. 0:
    /// never.</summary>
    public int UnnamedKeysFrom { get; init; }

    /// <summary>Whether a call with so many arguments does; null: each may.</summary>
    public ArgumentTest? UsesUnnamedKeys { get; init; }

    /// <summary>Index of the argument that is a member of the collection at the first key, for the look-ahead; 0:
    /// none.</summary>
    public byte Member { get; init; }

    /// <summary>What that argument is.</summary>
    public MemberKind MemberIs { get; init; }

    /// <summary>Tips for clients and proxies, such as "nondeterministic_output".</summary>
    public string[] Tips { get; init; } = [];

    public Command[] Subcommands
    {
        get;
        init
        {
            field = value;
            foreach (var subcommand in value) subcommand.Container = this;
            if (value.Length > 0) ArgumentsMin = int.MaxValue;
        }
    } = [];

    /// <summary>The fewest arguments with which the handler may simply be called; impossibly many where more must be
    /// looked at.</summary>
    internal int ArgumentsMin { get; private set; } = handler == null ? int.MaxValue : Math.Abs(arity);

    internal int ArgumentsMax { get; } = arity >= 0 ? arity : int.MaxValue;

    /// <summary>Whether so many arguments (with the name, and the container's) are right.</summary>
    internal bool Takes(int count) => Arity >= 0 ? count == Arity : count >= -Arity;

    /// <summary>The command that this is a subcommand of.</summary>
    public Command? Container { get; private set; }

    /// <summary>Lower case, "client|list" for a subcommand: how errors and statistics call it.</summary>
    public string FullName => (Container == null ? Name : $"{Container.Name}|{Name}").ToLowerInvariant();

    /// <summary>The subcommand of a name in any case; null when there is none.</summary>
    public Command? FindSubcommand(ReadOnlySpan<byte> name)
    {
        Span<byte> upper = stackalloc byte[32];
        foreach (var subcommand in Subcommands)
        {
            int length = Encoding.ASCII.GetBytes(subcommand.Name, upper);
            if (CommandName.Equal(upper[..length], name)) return subcommand;
        }

        return null;
    }

    /// <summary>From 0 on, in the order of the table: the place in arrays of statistics. The same in every server of
    /// the process.</summary>
    public int Id { get; private set; }

    /// <summary>Whether it is about keys, or at least does nothing to the session of its client: somebody else may run
    /// it for that.</summary>
    internal bool SparesSession { get; private set; }

    internal void Number(ref int next)
    {
        Id = next++;
        SparesSession = UnnamedKeysFrom > 0
            || (Container == null && Name is "SELECT" or "PING" or "ECHO" or "TIME" or "PUBLISH" or "SPUBLISH")
            || Group is not (CommandGroup.PubSub or CommandGroup.Transactions or CommandGroup.Connection
                or CommandGroup.Server
                or CommandGroup.Scripting or CommandGroup.Cluster or CommandGroup.Sentinel);
        foreach (var subcommand in Subcommands) subcommand.Number(ref next);
    }
}

/// <summary>What an argument says about a place inside of a value, for the look-ahead.</summary>
internal enum MemberKind : byte
{
    /// <summary>A member of a collection.</summary>
    Item,

    /// <summary>The number of a bit of a string.</summary>
    Bit,

    /// <summary>An element, which goes to a register of a HyperLogLog.</summary>
    Element,

    /// <summary>The first element of a list: the argument is the key itself.</summary>
    LeftEnd,

    /// <summary>The last element of a list: the argument is the key itself.</summary>
    RightEnd,
}
