using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   0      8
//  +------+----------+
//  | ms 8 | number 8 |        both unsigned; in this order they are compared
//  +------+----------+

/// <summary>The id of an entry of a stream: milliseconds, and a number among those of the same millisecond.</summary>
/// <param name="Ms">Milliseconds: of unix time where the store has chosen the id.</param>
/// <param name="Number">From 0 on.</param>
[StructLayout(LayoutKind.Sequential)]
public readonly record struct StreamId(ulong Ms, ulong Number) : IComparable<StreamId>
{
    internal const int Bytes = 16;

    /// <summary>The least, 0-0: no entry has it.</summary>
    public static StreamId Zero => default;

    /// <summary>The greatest.</summary>
    public static StreamId Max => new(ulong.MaxValue, ulong.MaxValue);

    /// <summary>Whether it is <see cref="Zero"/>.</summary>
    public bool IsZero => (Ms | Number) == 0;

    /// <summary>Whether <paramref name="left"/> comes before <paramref name="right"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool operator <(StreamId left, StreamId right) =>
        left.Ms < right.Ms || (left.Ms == right.Ms && left.Number < right.Number);

    /// <summary>Whether <paramref name="left"/> comes after <paramref name="right"/>.</summary>
    public static bool operator >(StreamId left, StreamId right) => right < left;

    /// <summary>Whether <paramref name="left"/> does not come after <paramref name="right"/>.</summary>
    public static bool operator <=(StreamId left, StreamId right) => !(right < left);

    /// <summary>Whether <paramref name="left"/> does not come before <paramref name="right"/>.</summary>
    public static bool operator >=(StreamId left, StreamId right) => !(left < right);

    /// <inheritdoc/>
    public int CompareTo(StreamId other) => this < other ? -1 : this == other ? 0 : 1;

    /// <summary>The id that follows.</summary>
    /// <returns>False when there is none: then it is <see cref="Zero"/>, as with a counter that runs over.</returns>
    public bool TryNext(out StreamId next)
    {
        next = Number != ulong.MaxValue ? new StreamId(Ms, Number + 1) : Ms != ulong.MaxValue
            ? new StreamId(Ms + 1, 0) : Zero;
        return !next.IsZero;
    }

    /// <summary>The id before it.</summary>
    /// <returns>False when there is none: then it is <see cref="Max"/>.</returns>
    public bool TryPrevious(out StreamId previous)
    {
        bool exists = !IsZero;      // first: the caller may keep the answer where this was
        previous = Number != 0 ? new StreamId(Ms, Number - 1) : exists ? new StreamId(Ms - 1, ulong.MaxValue) : Max;
        return exists;
    }

    /// <summary>As clients of a server see it: "milliseconds-number".</summary>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Ms}-{Number}");

    /// <summary>The id of an entry that comes after this one: the clock's, unless this one is at or past the
    /// clock.</summary>
    /// <returns>False when there is none.</returns>
    internal bool TryFollow(long nowMs, out StreamId next)
    {
        Debug.Assert(nowMs >= 0, "the clock is not before 1970");
        if (Ms >= (ulong)nowMs) return TryNext(out next);
        next = new StreamId((ulong)nowMs, 0);
        return true;
    }
}
