namespace Kv.Storage;

/// <summary>Elements that can be visited some at a time.</summary>
internal interface IMemberScan
{
    /// <summary>Visits some of them.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned.</param>
    /// <returns>The next cursor; 0: done.</returns>
    ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct;
}

/// <summary>Sees the members of a bucket.</summary>
internal unsafe interface IMemberVisit
{
    /// <summary>One member's item (<see cref="MemberItem"/>).</summary>
    void Visit(byte* item);
}
