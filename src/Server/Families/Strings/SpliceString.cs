using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes bytes over a string or after it.</summary>
internal ref struct SpliceString : IValueUpdate
{
    public ReadOnlySpan<byte> Value;
    public Block Block;
    public long Offset;
    public bool Appends;
    public long LengthMax;
    public long NewLength;
    public bool IsTooLong;

    /// <summary>Whether a large string must not be moved in this turn.</summary>
    public bool StaysPut;

    /// <summary>Whether the string would have had to move, and nothing was changed.</summary>
    public bool MustMove;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        Debug.Assert(LengthMax >= 0 && (Appends || Offset >= 0), "bytes go where a string may have some");
        long length = current.Exists ? current.StringLength : 0;
        if (Appends) Offset = length;
        IsTooLong = MustMove = false;
        NewLength = length;
        if (Value.IsEmpty && !Appends) return Change.None;

        IsTooLong = Offset > LengthMax - Value.Length;
        if (IsTooLong) return Change.None;

        NewLength = Math.Max(length, Offset + Value.Length);
        MustMove = StaysPut && StringMove.IsLong(current, NewLength);
        if (MustMove) return Change.None;

        next.Length = NewLength;
        if (Appends && !current.Exists)
        {
            next.Kind = ValueKind.String;
            next.Block = Block;
        }
        else
        {
            next.Kind = ValueKind.GrowingString;
            next.KeepContent = true;
        }

        return Change.Replace;
    }

    public readonly void Write(Span<byte> destination) => Value.CopyTo(destination[(int)Offset..]);
}
