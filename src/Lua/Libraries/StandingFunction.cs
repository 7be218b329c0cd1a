namespace Kv.Lua.Libraries;

/// <summary>A library function that is made once for a machine, and holds what it works on in fields.</summary>
/// <remarks>One call of it at a time: while it is put aside nothing else of the script runs.</remarks>
internal abstract class StandingFunction : Continuation
{
    /// <summary>Lets go of what an unfinished call has left.</summary>
    public abstract void Clear();
}
