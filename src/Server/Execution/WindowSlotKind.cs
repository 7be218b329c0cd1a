using System.Runtime.InteropServices;

namespace Kv.Server.Execution;

/// <summary>What commands of one session and one name have in common, in one word, so that it is stored and compared at
/// once.</summary>
[StructLayout(LayoutKind.Sequential, Size = 8)]
internal struct WindowSlotKind
{
    public short Command;
    public short Input;

    /// <summary>Index of the argument that was hashed; 0 for none.</summary>
    public byte Key;

    /// <summary>Index of the argument that is a member; 0 for none.</summary>
    public byte Member;

    public MemberKind MemberIs;

    /// <summary>Something about the arguments is unusual.</summary>
    public bool Slow;
}
