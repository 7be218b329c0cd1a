namespace Kv.Server.Dispatch;

/// <summary>When SET and the like store.</summary>
internal enum SetCondition : byte
{
    Always,
    IfAbsent,
    IfPresent,
}
