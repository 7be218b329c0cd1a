namespace Kv.Lua;

/// <summary>The rest of a host's function that has called one of the script's: it goes on when that one is
/// done.</summary>
/// <remarks>So a host's function is never on the thread's stack while a script runs, and a script can be put aside
/// anywhere.</remarks>
internal abstract class Continuation
{
    /// <summary>What its object costs, about.</summary>
    public const int OverheadBytes = 64;

    /// <summary>Goes on with what was called for.</summary>
    /// <param name="call">The call that is continued.</param>
    /// <param name="at">Where on the stack the results are.</param>
    /// <param name="count">How many.</param>
    /// <returns>As a host's function.</returns>
    public abstract int Resume(ref LuaCall call, int at, int count);

    /// <summary>Takes an error of what was called, or passes it on.</summary>
    /// <param name="result">As a host's function returns, when it was taken.</param>
    public virtual bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = 0;
        return false;
    }

    /// <summary>Visits the values that it holds.</summary>
    public virtual void Visit(MemoryWalk walk)
    {
    }
}
