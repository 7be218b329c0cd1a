namespace Kv.Server.Users;

/// <summary>Why a user may not do something. Of two selectors that deny a call the greater one is told.</summary>
internal enum Denial : byte
{
    None,
    Command,
    Key,

    /// <summary>A user name or password was wrong.</summary>
    Auth,
    Channel,
}

/// <summary>Where a call was made that was denied.</summary>
internal enum AccessContext : byte { TopLevel, Multi, Lua }

/// <summary>Whether a user may make a call.</summary>
/// <param name="Denial">Why not.</param>
/// <param name="Index">The key or channel that is denied: an index of the arguments, from the command's name
/// on.</param>
internal readonly record struct Verdict(Denial Denial, int Index)
{
    public bool IsAllowed => Denial == Denial.None;
}
