namespace Kv.Server.Dispatch;

/// <summary>One parsed command of a <see cref="CommandWindow"/>. No references.</summary>
internal unsafe struct WindowSlot
{
    public ulong Hash;
    public ulong Hint;
    public WindowSlotKind Kind;
    public int First;
    public int Count;
    public int End;
    public int Database;

    /// <summary>Where the large collection at the key is, the member's bucket and its hash: for the look-ahead alone.</summary>
    public byte* Region;
    public byte* Bucket;
    public ulong MemberHash;
}
