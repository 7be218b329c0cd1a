using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0      2       4
//  +------+-------+---------------+--------+---------+---------------+--------+- - -+- - - -+
//  | used | count | length prefix | member |  score  | length prefix | member |     | spare |
//  +------+-------+---------------+--------+---------+---------------+--------+- - -+- - - -+
//   by score (2 to 9 bytes, PackedScore), then by the bytes of the member

/// <summary>A small sorted set in its record: a run of members with their scores, in order.</summary>
/// <remarks>A view, as <see cref="PackedRun"/>: for a reader without the lock what it finds may be torn, and it never
/// leaves the run.</remarks>
internal readonly unsafe struct PackedScores(PackedRun run)
{
    public int Count => run.Count;

    public byte* First => run.First;

    public byte* End => run.End;

    /// <summary>Bytes that an element takes.</summary>
    public static int SizeOf(int memberLength, double score) =>
        LengthPrefix.SizeWith(memberLength) + PackedScore.SizeOf(score);

    /// <summary>The element at a place.</summary>
    /// <returns>What follows it; null at the end.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Next(byte* at, out ReadOnlySpan<byte> member, out double score)
    {
        byte* end = run.End;
        byte* start = LengthPrefix.TryRead(at, end, out int length);
        byte* behind = Behind(start, length, end);
        if (behind == null)
        {
            member = default;
            score = 0;
            return null;
        }

        member = new ReadOnlySpan<byte>(start, length);
        // Of the bytes looked at before a score, at most one is before the run: the key's, or the record's word's.
        score = PackedScore.Read(start + length);
        return behind;
    }

    /// <summary>Finds a member.</summary>
    /// <returns>Where its element begins; null: it is not there.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Find(ReadOnlySpan<byte> member, out double score)
    {
        score = 0;
        byte* at = run.First, end = run.End;
        // Ends: each round goes on by an element.
        while (true)
        {
            byte* start = LengthPrefix.TryRead(at, end, out int length);
            byte* behind = Behind(start, length, end);
            if (behind == null) return null;
            if (length == member.Length && new ReadOnlySpan<byte>(start, length).SequenceEqual(member))
            {
                score = PackedScore.Read(start + length);
                return at;
            }

            at = behind;
        }
    }

    /// <summary>What follows a member and its score; null when they do not end before the end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static byte* Behind(byte* member, int length, byte* end)
    {
        if (member == null || end - member <= length) return null;
        byte* score = member + length, behind = score + PackedScore.SizeAt(score);
        return behind <= end ? behind : null;
    }

    /// <summary>How many elements are before <paramref name="element"/>.</summary>
    public int CountBefore(byte* element)
    {
        int count = 0;
        byte* at = run.First;
        // Ends: each round goes on by an element.
        while (at != null && at < element)
        {
            at = Next(at, out _, out _);
            count++;
        }

        return count;
    }

    /// <summary>How many elements are before a place, and where the next one is.</summary>
    public int CountBefore(in ScoreBound bound, out byte* place)
    {
        int count = 0;
        place = run.First;
        // Ends: each round goes on by an element.
        while (true)
        {
            byte* next = Next(place, out var member, out double score);
            if (next == null || !bound.IsBehind(score, member)) return count;
            place = next;
            count++;
        }
    }

    /// <summary>Adds an element that is not there. There must be capacity for it.</summary>
    public void Insert(double score, ReadOnlySpan<byte> member)
    {
        Debug.Assert(Find(member, out _) == null, "it is not there");
        CountBefore(ScoreBound.BeforeElement(score, member), out byte* place);
        run.Splice(place, 0, SizeOf(member.Length, score), 1);
        Write(place, score, member);
    }

    /// <summary>Gives an element another score. There must be capacity for it.</summary>
    public void Move(byte* element, double score, ReadOnlySpan<byte> member)
    {
        Debug.Assert(Find(member, out _) == element, "the element is the member's");
        byte* behind = Next(element, out _, out _);
        int had = (int)(behind - element);
        CountBefore(ScoreBound.BeforeElement(score, member), out byte* place);
        // What is between the old place and the new one moves by the bytes that the element had; what follows both, by
        // the bytes that it needs more.
        if (place > behind)
        {
            Buffer.MemoryCopy(behind, element, place - behind, place - behind);
            place -= had;
        }
        else if (place > element)
        {
            place = element;
        }
        else
        {
            Buffer.MemoryCopy(place, place + had, element - place, element - place);
        }

        run.Splice(place, had, SizeOf(member.Length, score), 0);
        Write(place, score, member);
    }

    /// <summary>Takes an element out.</summary>
    public void Remove(byte* element) => Remove(element, 1);

    /// <summary>Takes out elements that follow each other.</summary>
    public void Remove(byte* first, int count)
    {
        Debug.Assert(first >= First && count > 0, "there are elements to take out");
        byte* behind = first;
        for (int i = 0; i < count; i++) behind = Next(behind, out _, out _);
        run.Splice(first, (int)(behind - first), 0, -count);
    }

    /// <summary>Where the element of a rank is; after the last one where there are not as many.</summary>
    public byte* At(long rank)
    {
        byte* at = run.First;
        for (; rank > 0 && at != null; rank--) at = Next(at, out _, out _);
        return at;
    }

    /// <summary>Writes an element.</summary>
    /// <returns>What follows it.</returns>
    public static byte* Write(byte* place, double score, ReadOnlySpan<byte> member) =>
        PackedScore.Write(LengthPrefix.WriteWith(place, member), score);
}
