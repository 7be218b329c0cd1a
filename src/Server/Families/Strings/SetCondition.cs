namespace Kv.Server.Families;

/// <summary>When SET and the like store.</summary>
internal enum SetCondition : byte
{
    Always,
    IfAbsent,
    IfPresent,
}
