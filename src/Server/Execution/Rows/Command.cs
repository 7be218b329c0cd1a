using System.Text;
using Kv.Server.Diagnostics;
using Kv.Server.Notifications;
using Kv.Server.Users;

namespace Kv.Server.Execution;

/// <summary>What a command does, in one static method. Reads its arguments, finishes them once, writes exactly one
/// reply.</summary>
internal delegate void CommandHandler(ref CommandContext context);

/// <summary>The row of a command: all that lookup, checks, COMMAND, statistics and the docs need to know of
/// it.</summary>
/// <remarks>A container (CLIENT, CONFIG...) has <see cref="Subcommands"/> and, if it is a command by itself, a handler,
/// too.</remarks>
internal sealed class Command(string name, int arity, CommandHandler? handler)
{
    /// <summary>Upper case; a subcommand's own word only ("LIST").</summary>
    public string Name { get; } = name;

    /// <summary>Arguments with the name (and, for a subcommand, the container's): exact, or at least -arity.</summary>
    public int Arity { get; } = arity;

    public CommandHandler? Handler { get; private set; } = handler;

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

    /// <summary>Index of the first key for the look-ahead; 0 if there is none at a fixed place. After a count of 0 it
    /// is no key: then the look-ahead looks in vain.</summary>
    public int FirstKey { get; private init; }

    /// <summary>A call with at least this many arguments, the name included, may use keys that <see cref="Keys"/> does
    /// not name: all of a database, or those of another one. In a transaction everybody else then stands still. 0:
    /// no call does.</summary>
    public int UnnamedKeysFrom { get; init; }

    /// <summary>Whether a call with at least <see cref="UnnamedKeysFrom"/> arguments uses unnamed keys; null: each
    /// may.</summary>
    public ArgumentTest? UsesUnnamedKeys { get; init; }

    /// <summary>What subscribers are told of the keys that it changes; none: nothing, or its handler says
    /// what.</summary>
    public KeyEvent Event { get; init; } = KeyEvent.None;

    /// <summary>How many changes a call is; null: one, if the command writes and did not fail.</summary>
    public ChangeRule? Changes
    {
        get;
        init
        {
            field = value;
            if (value != null && Handler != null) Handler = value.Counting(Handler);
        }
    }

    /// <summary>Index of the argument that is a member of the collection at the first key, for the look-ahead; 0:
    /// none.</summary>
    public byte Member { get; init; }

    /// <summary>What the argument <see cref="Member"/> is.</summary>
    public MemberKind MemberIs { get; init; }

    /// <summary>Whether all of its arguments are keys, and a call of very many notes them for a client that keeps
    /// copies in its steps (<see cref="ManyKeysCommand"/>).</summary>
    public bool StepsNoteKeys { get; init; }

    /// <summary>Which arguments are secrets; null: none is.</summary>
    public SecretTest? Secrets { get; init; }

    /// <summary>Index of the name of another call that is among the arguments; 0: there is none.</summary>
    public int InnerCall { get; init; }

    /// <summary>Whether it asks about a key for whoever looks after the server, which makes the key no hotter
    /// (<see cref="KeySampler"/>).</summary>
    public bool IsNoUse { get; init; }

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

    /// <summary>The fewest arguments with which the handler may simply be called; int.MaxValue if it never
    /// may.</summary>
    internal int ArgumentsMin { get; private set; } = handler == null ? int.MaxValue : Math.Abs(arity);

    internal int ArgumentsMax { get; } = arity >= 0 ? arity : int.MaxValue;

    /// <summary>Whether a call may have this number of arguments (with the name, and the container's).</summary>
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

    /// <summary>The command's index in arrays of statistics, in the order of the table; equal in all servers of the
    /// process.</summary>
    public int Id { get; private set; }

    /// <summary>Flags of what changes something.</summary>
    internal const CommandFlags Changing = CommandFlags.Write | CommandFlags.MayReplicate;

    /// <summary>Whether it may change something: keys, or, as FUNCTION LOAD, else what is kept.</summary>
    internal bool MayChange => (Flags & Changing) != 0;

    /// <summary>Whether a call that has changed no key yet may be given up and made again in a later turn.</summary>
    // Scripts and EXEC are more than one call, and see to it themselves. WATCH may watch a key twice.
    internal bool MayComeAgain => Keys.Length > 0 && Group != CommandGroup.Scripting;

    /// <summary>Whether it does nothing to the session of its client, so that another session may run it for
    /// that client.</summary>
    internal bool SparesSession { get; private set; }

    /// <summary>Whether it reads the keys that its row names, and does nothing else: clients may keep copies of what it
    /// replies. What a script reads, the commands read that it calls.</summary>
    internal bool ReadsKeys { get; private set; }

    /// <summary>The least detail at which each call is timed by itself.</summary>
    internal TimingDetail Timing { get; private set; }

    /// <summary>What a long call is to the latency monitor.</summary>
    internal LatencyEvent LatencyEvent =>
        (Flags & CommandFlags.Fast) != 0 ? LatencyEvent.FastCommand : LatencyEvent.Command;

    /// <summary>Which arguments are channels that a user has to be allowed.</summary>
    internal ChannelUse Channels { get; private set; }

    /// <summary>Index of the key, where each call has just one, always in the same place; 0: it is not so.</summary>
    internal int SoleKey { get; private set; }

    /// <summary>Which rights a call with at most <see cref="SoleKeyArgumentsMax"/> arguments needs for the
    /// <see cref="SoleKey"/>. One with more may need others.</summary>
    internal KeyRights SoleKeyNeeds { get; private set; }

    internal int SoleKeyArgumentsMax { get; private set; }

    internal void Number(ref int next)
    {
        Id = next++;
        Channels = ChannelUse.Of(this);
        if (Keys is [{ Start: KeyStart.Position, Extent: KeyExtent.Range, Last: 0, PassesOverEmpty: false } key]
            && (key.Access & KeyAccess.NotKey) == 0)
        {
            SoleKey = key.Position;
            SoleKeyNeeds = KeyNeeds.Of(key.Unlocking.Length > 0 ? key.PlainAccess : key.Access);
            SoleKeyArgumentsMax = key.Unlocking.Length > 0 ? key.UnlockingFrom : int.MaxValue;
        }

        ReadsKeys = (Flags & CommandFlags.ReadOnly) != 0 && Keys.Length > 0
            && Group is not (CommandGroup.Scripting or CommandGroup.PubSub);
        bool isQuick = (Flags & CommandFlags.Fast) != 0 || Complexity.StartsWith("O(1)", StringComparison.Ordinal);
        Timing = (Flags & CommandFlags.SkipSlowLog) != 0 ? TimingDetail.Never
            : Group == CommandGroup.Scripting || UnnamedKeysFrom > 0 || Container != null ? TimingDetail.Unbounded
            : isQuick ? TimingDetail.All : TimingDetail.Long;
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
