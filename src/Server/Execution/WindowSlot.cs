namespace Kv.Server.Execution;

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

    /// <summary>For <see cref="MemberProbe"/> alone: the large collection at the key, the places found on the way to
    /// the member or end, and the member's hash.</summary>
    public byte* Region;
    public byte* Place;
    public byte* Slot;
    public ulong MemberHash;
}
