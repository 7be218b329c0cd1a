using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>What a key pattern lets a user do with the data of a key.</summary>
[Flags]
internal enum KeyRights : byte
{
    None = 0,
    Read = 1,
    Write = 2,
    All = Read | Write,
}

/// <summary>Which rights a command needs for a key.</summary>
internal static class KeyNeeds
{
    /// <summary>Lengths and types are not data: a command that asks for nothing else needs a pattern that fits,
    /// whatever it allows.</summary>
    public static KeyRights Of(KeyAccess access) =>
        ((access & KeyAccess.Access) != 0 ? KeyRights.Read : KeyRights.None)
        | ((access & (KeyAccess.Update | KeyAccess.Insert | KeyAccess.Delete)) != 0
            ? KeyRights.Write : KeyRights.None);
}
