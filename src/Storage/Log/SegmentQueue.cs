namespace Kv.Storage;

/// <summary>What lies in a segment: whether it has been looked at once.</summary>
internal enum SegmentQueue
{
    /// <summary>What sessions have written.</summary>
    Young = 0,

    /// <summary>What was kept when its segment was emptied to make room.</summary>
    Main = 1,
}
