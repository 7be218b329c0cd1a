using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Writes a bit of a string, which grows to have it. Nothing is written when it is so already.</summary>
internal struct SetOneBit : IValueUpdate
{
    public long Offset;
    public bool On;

    /// <summary>What it was before.</summary>
    public bool Old;

    /// <summary>Whether it is another one now, or was beyond the string's end.</summary>
    public bool HasChanged;

    /// <summary>A large string is not to be moved in this turn.</summary>
    public bool StaysPut;

    /// <summary>It would have to move, and nothing was changed.</summary>
    public bool MustMove;

    /// <inheritdoc/>
    public Change Decide(in ValueView current, ref NewValue next)
    {
        Debug.Assert(Offset is >= 0 and <= StoreBitmaps.BitMax, "a string may be long enough to have the bit");
        long length = current.Exists ? current.StringLength : 0;
        long newLength = Math.Max(length, (Offset >> 3) + 1);
        var read = new ReadOneBit { Offset = Offset };
        if (current.Exists) read.Read(current);
        Old = read.On;
        MustMove = false;
        HasChanged = Old != On || newLength != length;
        if (Old == On && newLength == length) return Change.None;
        MustMove = StaysPut && StringMove.IsLong(current, newLength);
        if (MustMove) return Change.None;

        next.Length = newLength;
        next.KeepContent = true;
        next.Kind = ValueKind.GrowingString;
        return Change.Replace;
    }

    /// <inheritdoc/>
    public readonly void Write(Span<byte> destination) => Bitmap.Set(destination, Offset, On);
}
