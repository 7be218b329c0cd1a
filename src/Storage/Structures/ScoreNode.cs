using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Kv.Storage;

//   0       2       3       4          8      12      16
//  +-------+-------+-------+----------+------+-------+-------------+------------+--------------+------------+
//  | count | level | spare | previous | next | spare | scores x 8  | items x 4  | children x 4 | counts x 4 |
//  +-------+-------+-------+----------+------+-------+-------------+------------+--------------+------------+
//   a leaf: level 0, up to 84 scores and items; previous and next: the leaves beside it, 0: none
//   an inner node: up to 50 children; score and item of each are its first element's, its count is of all elements
// below
//
//  A node is a piece of 1 KB of the region: a dozen cache lines for a search, and four levels for a million elements.

/// <summary>A node of a <see cref="ScoreTree"/>.</summary>
internal readonly unsafe struct ScoreNode(byte* start)
{
    public const int Bytes = 1024, LeafMax = 84, InnerMax = 50;

    private const int ScoresOffset = 16;
    private const int LeafItems = ScoresOffset + (LeafMax * 8);
    private const int InnerItems = ScoresOffset + (InnerMax * 8);
    private const int ChildrenOffset = InnerItems + (InnerMax * 4), CountsOffset = ChildrenOffset + (InnerMax * 4);

    public ref ushort Count => ref *(ushort*)start;
    public ref byte Level => ref start[2];
    public ref uint Previous => ref *(uint*)(start + 4);
    public ref uint Next => ref *(uint*)(start + 8);

    public double* Scores => (double*)(start + ScoresOffset);
    public uint* Items => (uint*)(start + (Level == 0 ? LeafItems : InnerItems));
    public uint* Children => (uint*)(start + ChildrenOffset);
    public uint* Counts => (uint*)(start + CountsOffset);

    /// <summary>Most entries.</summary>
    public int Max => Level == 0 ? LeafMax : InnerMax;

    /// <summary>With fewer entries it takes some from its neighbour, or gives it all.</summary>
    public int Min => Max / 3;

    /// <summary>Elements in it, or below it.</summary>
    public uint Total
    {
        get
        {
            if (Level == 0) return Count;
            uint total = 0;
            for (int i = 0; i < Count; i++) total += Counts[i];
            return total;
        }
    }

    /// <summary>How many entries have a lower score.</summary>
    /// <remarks>All are compared, four at a time: what has to come from memory comes at once. A binary search would
    /// wait for each of its lines by itself, and guess wrong half the time.</remarks>
    public int CountBelow(double score)
    {
        int count = Count, i = 0;
        double* scores = Scores;
        var bound = Vector256.Create(score);
        var below = Vector256<long>.Zero;
        for (; i <= count - Vector256<double>.Count; i += Vector256<double>.Count)
            below -= Vector256.LessThan(Vector256.Load(scores + i), bound).AsInt64();      // true is -1
        int result = (int)Vector256.Sum(below);
        for (; i < count; i++) result += scores[i] < score ? 1 : 0;
        return result;
    }

    public void Clear(int level)
    {
        new Span<byte>(start, ScoresOffset).Clear();
        Level = (byte)level;
    }

    /// <summary>Copies entries to another node, or within this one.</summary>
    public void CopyTo(int from, ScoreNode target, int to, int count)
    {
        Debug.Assert(from >= 0 && to >= 0 && count >= 0 && to + count <= target.Max, "entries stay within the nodes");
        Debug.Assert(Level == target.Level, "entries stay on their level");
        Copy(Scores + from, target.Scores + to, count * sizeof(double));
        Copy(Items + from, target.Items + to, count * sizeof(uint));
        if (Level == 0) return;
        Copy(Children + from, target.Children + to, count * sizeof(uint));
        Copy(Counts + from, target.Counts + to, count * sizeof(uint));
    }

    /// <summary>Makes room for an entry.</summary>
    public void Open(int at)
    {
        Debug.Assert((uint)at <= (uint)Count && Count < Max, "there is room for one more");
        CopyTo(at, this, at + 1, Count - at);
        Count++;
    }

    /// <summary>Takes entries out.</summary>
    public void Close(int at, int count)
    {
        Debug.Assert(at >= 0 && count > 0 && at + count <= Count, "there are such entries");
        CopyTo(at + count, this, at, Count - at - count);
        Count -= (ushort)count;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Copy(void* from, void* to, int bytes) => Buffer.MemoryCopy(from, to, bytes, bytes);
}
