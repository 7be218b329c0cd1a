namespace Kv.Server.Families;

/// <summary>What must hold of the present expiry.</summary>
[Flags]
internal enum ExpiryConditions : byte
{
    None = 0,
    IfNone = 1,
    IfAny = 2,
    IfLater = 4,
    IfEarlier = 8,
}
