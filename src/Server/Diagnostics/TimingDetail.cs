namespace Kv.Server.Diagnostics;

/// <summary>Which commands are timed one by one. Two readings of the clock take as long as a GET, so most commands are
/// timed only now and then, unless the slow log asks for so short times that any of them may count (the latency monitor
/// never does).</summary>
internal enum TimingDetail : sbyte
{
    /// <summary>None: nobody asks for slow ones.</summary>
    None,

    /// <summary>Those that may take any time in one turn: scripts, what uses all keys, subcommands.</summary>
    Unbounded,

    /// <summary>Those, too, whose time depends on how many elements there are: some milliseconds in one turn, and then
    /// they go on in steps.</summary>
    Long,

    /// <summary>All.</summary>
    All,

    /// <summary>In place of a detail, of a command: the slow log never shows it.</summary>
    Never,

    /// <summary>All, those too that the slow log never shows: somebody watches all commands (MONITOR).</summary>
    Everything,
}
