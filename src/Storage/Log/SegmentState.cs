namespace Kv.Storage;

/// <summary>The state of a segment.</summary>
internal enum SegmentState
{
    /// <summary>Nobody's; its pages may be with the system.</summary>
    Free = 0,

    /// <summary>One session appends to it.</summary>
    Active = 1,

    /// <summary>Full, or given up by its session; nothing is appended.</summary>
    Sealed = 2,

    /// <summary>Empty of live records; free after an epoch.</summary>
    Retired = 3,
}
