using System.Runtime.InteropServices;

namespace Kv.Server.Execution;

/// <summary>What commands of one session and one name have in common, in one word, so that it is stored and compared at
/// once.</summary>
[StructLayout(LayoutKind.Sequential, Size = 8)]
internal struct WindowSlotKind
{
    // In place of a command's number: what stands in a slot without being a command.
    public const short Unknown = -1, Resume = -2, ProtocolError = -3;

    /// <summary>The number of its row; below 0 one of the above.</summary>
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
