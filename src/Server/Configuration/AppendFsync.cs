namespace Kv.Server.Configuration;

/// <summary>When what is written to the append-only file is on the disk.</summary>
public enum AppendFsync
{
    /// <summary>Within a second.</summary>
    EverySec,

    /// <summary>Before the reply to it leaves.</summary>
    Always,

    /// <summary>When the system writes it by itself.</summary>
    No,
}
