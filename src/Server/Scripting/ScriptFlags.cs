namespace Kv.Server.Scripting;

/// <summary>What a script says of itself in its first line, "#!lua flags=no-writes,allow-oom".</summary>
[Flags]
internal enum ScriptFlags : byte
{
    None = 0,

    /// <summary>It changes nothing.</summary>
    NoWrites = 1,

    /// <summary>It may run above maxmemory.</summary>
    AllowOom = 2,

    AllowStale = 4,
    NoCluster = 8,
    AllowCrossSlotKeys = 16,

    /// <summary>It says nothing: whether it may do something is asked of each command.</summary>
    Unsaid = 32,
}
