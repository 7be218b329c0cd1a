namespace Kv.Lua;

/// <summary>An error of a script, or of its text.</summary>
public sealed class LuaException : Exception
{
    /// <param name="message">A character a byte, as <see cref="LuaString.ToString"/> gives them.</param>
    public LuaException(string message) : this(LuaString.OfBytes(message))
    {
    }

    internal LuaException(LuaValue value) : base(value.ToString()) => Value = value;

    /// <summary>An error of a library: the script's place goes in front.</summary>
    internal static LuaException WithPlace(string message) => new(message) { WantsPlace = true };

    /// <summary>What was thrown: a string, mostly.</summary>
    public LuaValue Value { get; }

    /// <summary>Whether the script's place (<c>chunk:line:</c>) is still to be put in front of the message.</summary>
    internal bool WantsPlace { get; init; }

    /// <summary>Whether the machine found it, not a library: while a host's function runs, such an error has no
    /// place.</summary>
    internal bool IsOfMachine { get; init; }

    /// <summary>Whether no pcall of the script may take it: the script was stopped.</summary>
    internal bool IsFinal { get; init; }
}
