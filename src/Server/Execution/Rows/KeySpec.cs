namespace Kv.Server.Execution;

/// <summary>Where to begin to look for keys among the arguments.</summary>
internal enum KeyStart : byte
{
    /// <summary>At a fixed argument.</summary>
    Position,

    /// <summary>After a word such as STREAMS.</summary>
    Keyword,

    /// <summary>At a place that no spec can describe.</summary>
    Unknown,
}

/// <summary>How the keys go on from where they begin.</summary>
internal enum KeyExtent : byte
{
    /// <summary>Up to a last key, in steps of one or more arguments.</summary>
    Range,

    /// <summary>As many as an argument says.</summary>
    Count,

    /// <summary>In a way that no spec can describe.</summary>
    Unknown,
}

/// <summary>Which arguments of a command are keys, and what it does with them. Immutable.</summary>
/// <remarks>
/// Index 0 is the command's name, as in the facts: <c>@1+range(-1,2,0)</c> is <c>Range(1, -1, 2, …)</c>,
/// <c>@2+keynum(0,1,1)</c> is <c>Count(2, …)</c>, <c>kw:STREAMS/1+range(-1,1,2)</c> is <c>After("STREAMS", 1, -1, 1, …,
/// limit: 2)</c>.
/// </remarks>
internal sealed class KeySpec
{
    private KeySpec(KeyAccess access) => Access = access;

    /// <summary>What the command does with the keys; with <see cref="KeyAccess.VariableFlags"/>, the most it may
    /// do.</summary>
    public KeyAccess Access { get; }

    /// <summary>What it does when none of <see cref="Unlocking"/> is among the arguments from
    /// <see cref="UnlockingFrom"/> on.</summary>
    public KeyAccess PlainAccess { get; private init; }

    /// <summary>The words, in upper case, with which it is <see cref="Access"/> instead of <see cref="PlainAccess"/>;
    /// empty if it is always <see cref="Access"/>.</summary>
    public string[] Unlocking { get; private init; } = [];

    /// <summary>Index of the first argument that may be one of <see cref="Unlocking"/>.</summary>
    public int UnlockingFrom { get; private init; }

    public KeyStart Start { get; private init; }

    /// <summary>The first key's index, or that of the count; with a keyword, where to begin to look for it (from the
    /// end when negative).</summary>
    public int Position { get; private init; }

    public string Keyword { get; private init; } = "";

    /// <summary>The options among which the keyword stands; null: it is looked for as COMMAND INFO says.</summary>
    public KeyOptions? Options { get; private init; }

    public KeyExtent Extent { get; private init; }

    /// <summary>The last key: relative to the first, or, when negative, to the end (-1 is the last argument).</summary>
    public int Last { get; private init; }

    public int Step { get; private init; } = 1;

    /// <summary>With <see cref="Last"/> = -1: keys are only the first of this many equal parts of what is left (2 for
    /// XREAD); 0 and 1: all of it.</summary>
    public int Limit { get; private init; }

    /// <summary>With a count: its distance from the start.</summary>
    public int CountOffset { get; private init; }

    /// <summary>With a count: the first key's distance from the start.</summary>
    public int FirstOffset { get; private init; }

    /// <summary>Whether an empty argument at <see cref="Position"/> stands for no key (MIGRATE, whose keys then come
    /// after KEYS).</summary>
    public bool PassesOverEmpty { get; private init; }

    /// <summary>One key.</summary>
    public static KeySpec At(int position, KeyAccess access) => Range(position, 0, 1, access);

    /// <summary>A key at <paramref name="first"/> and every <paramref name="step"/> arguments up to
    /// <paramref name="last"/>.</summary>
    /// <param name="first">Index of the first key.</param>
    /// <param name="last">Relative to the first; when negative, to the end.</param>
    /// <param name="step">2 where each key is followed by a value.</param>
    /// <param name="access">What the command does with them.</param>
    public static KeySpec Range(int first, int last, int step, KeyAccess access) =>
        new(access) { Start = KeyStart.Position, Position = first, Extent = KeyExtent.Range, Last = last, Step = step };

    /// <summary>A count at <paramref name="position"/>, then that many keys.</summary>
    public static KeySpec Count(int position, KeyAccess access) =>
        new(access) { Start = KeyStart.Position, Position = position, Extent = KeyExtent.Count, CountOffset = 0,
            FirstOffset = 1 };

    /// <summary>Keys that follow a keyword, which is looked for from <paramref name="from"/> on (backwards when that is
    /// negative).</summary>
    public static KeySpec After(string keyword, int from, int last, int step, KeyAccess access, int limit = 0) =>
        new(access)
        {
            Start = KeyStart.Keyword, Keyword = keyword, Position = from,
            Extent = KeyExtent.Range, Last = last, Step = step, Limit = limit,
        };

    /// <summary>This spec's keys, where the command itself looks for the keyword: among its options.</summary>
    public KeySpec Among(KeyOptions options) =>
        new(Access)
        {
            Start = Start, Position = Position, Keyword = Keyword, Extent = Extent, Last = Last, Step = Step,
            Limit = Limit, Options = options,
        };

    /// <summary>This spec's keys, used in a lesser way unless one of some words is given (SET without GET only
    /// overwrites).</summary>
    public KeySpec Unless(string[] words, KeyAccess plain, int from) =>
        new(Access | KeyAccess.VariableFlags)
        {
            Start = Start, Position = Position, Keyword = Keyword, Extent = Extent, Last = Last, Step = Step,
                Limit = Limit,
            CountOffset = CountOffset, FirstOffset = FirstOffset, PlainAccess = plain, Unlocking = words,
            UnlockingFrom = from,
        };

    /// <summary>This spec's key, unless the argument there is empty.</summary>
    public KeySpec UnlessEmpty() =>
        new(Access) { Start = Start, Position = Position, Extent = Extent, Last = Last, Step = Step,
            PassesOverEmpty = true };

    /// <summary>Keys that no spec can find (the patterns of SORT).</summary>
    public static KeySpec Unknown(KeyAccess access) =>
        new(access) { Start = KeyStart.Unknown, Extent = KeyExtent.Unknown };
}
