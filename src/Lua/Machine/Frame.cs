namespace Kv.Lua;

/// <summary>What happens with the results of a call when it returns.</summary>
internal enum After : byte
{
    /// <summary>They go to the caller's registers.</summary>
    Store,

    /// <summary>The first decides a comparison: the caller jumps when it is true, or when it is false.</summary>
    JumpIfTrue,
    JumpIfFalse,

    /// <summary>The first takes its place among those that are concatenated.</summary>
    Concat,

    /// <summary>The frame below is a host's function, which goes on.</summary>
    Resume,

    /// <summary>The coroutine has ended.</summary>
    End,
}

/// <summary>A function that runs, or a host's one that waits.</summary>
internal struct Frame
{
    /// <summary>Of a script's function.</summary>
    public Closure? Closure;

    /// <summary>Of a host's.</summary>
    public Continuation? Continuation;

    /// <summary>The place of register 0; of a host's function, that of the function itself.</summary>
    public int Base;

    /// <summary>Where the function lies: the arguments that it was given are above.</summary>
    public int Function;

    /// <summary>One past the last value that is still to be concatenated, while a metamethod does a part; 0: none
    /// is.</summary>
    public int Joined;

    /// <summary>The next instruction. Up to date whenever something else than this frame runs.</summary>
    public int Pc;

    /// <summary>Where the results go, and how many are wanted (-1: all).</summary>
    public int Return, Wanted;

    /// <summary>How many arguments are beyond the parameters: they lie just below the base.</summary>
    public int Extra;

    public After After;
}
