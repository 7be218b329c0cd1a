using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Reads a sorted set.</summary>
/// <remarks>Of a held key, or inside of a <see cref="IValueRead"/>: then bytes may be torn until the read has
/// succeeded.</remarks>
internal readonly unsafe ref struct SortedSetView : IMemberScan
{
    private readonly PackedScores _packed;
    private readonly MemberTable _table;
    private readonly ScoreTree _tree;

    public SortedSetView(scoped in ValueView value, ref readonly KeyHash hash)
    {
        Debug.Assert(value.Type == DataType.SortedSet, "the value is a sorted set");
        IsPacked = value.Kind == ValueKind.PackedSortedSet;
        if (IsPacked)
        {
            _packed = new PackedScores(value.Run);
        }
        else
        {
            _table = new MemberTable(value.Region, in hash);
            _tree = new ScoreTree(value.Region);
        }
    }

    /// <summary>Whether it is a run in its record.</summary>
    public bool IsPacked { get; }

    /// <summary>Members of the set.</summary>
    public long Count => IsPacked ? _packed.Count : _table.Count;

    /// <summary>Finds the score of a member.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGetScore(ReadOnlySpan<byte> member, out double score)
    {
        return IsPacked ? _packed.Find(member, out score) != null
            : TryGetScore(member, _table.HashOf(member), out score);
    }

    /// <summary>Finds the score of a member whose hash is known.</summary>
    public bool TryGetScore(ReadOnlySpan<byte> member, ulong hash, out double score)
    {
        if (IsPacked) return TryGetScore(member, out score);
        uint* place = _table.Find(member, hash);
        score = place == null ? 0 : ScoreItem.ScoreOf(_table.ItemAt(place));
        return place != null;
    }

    /// <summary>Finds how many are ahead of a member.</summary>
    public bool TryGetRank(ReadOnlySpan<byte> member, out long rank, out double score)
    {
        rank = 0;
        if (IsPacked)
        {
            byte* at = _packed.Find(member, out score);
            if (at != null) rank = _packed.CountBefore(at);
            return at != null;
        }

        if (!TryGetScore(member, out score)) return false;
        rank = _tree.CountBefore(ScoreBound.BeforeElement(score, member));
        return true;
    }

    /// <summary>How many elements are ahead of a place.</summary>
    public long CountBefore(in ScoreBound bound) =>
        IsPacked ? _packed.CountBefore(in bound, out _) : _tree.CountBefore(in bound);

    /// <summary>One member, each as likely as another. There must be one.</summary>
    public void Random(scoped ref Dice dice, out ReadOnlySpan<byte> member, out double score)
    {
        Debug.Assert(Count != 0, "there is one");
        if (IsPacked) _packed.Next(_packed.At((int)dice.Below(_packed.Count)), out member, out score);
        else Split(_table.Random(ref dice), out member, out score);
    }

    /// <summary>Draws members, as far as the budget goes.</summary>
    /// <returns>True when all have been drawn.</returns>
    public bool Sample<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink, ref TBudget budget)
        where TSink : struct, IScoreSink where TBudget : struct, IStepBudget
    {
        if (!IsPacked) return SampleTable(ref sample, memory, ref sink, ref budget);
        ReadOnlySpan<byte> member;
        double score;
        long count = sample.Left;
        if (sample.MayRepeat)
        {
            for (; count > 0 && budget.TryTake(); count--)
            {
                Random(ref sample.Dice, out member, out score);
                sink.Write(member, score);
            }

            sample.Left = count;
            return count == 0;
        }

        // No more than a record has: at once.
        var walk = From(0);
        for (long left = Count; count > 0 && walk.Next(out member, out score); left--)
        {
            if (sample.Dice.Below(left) >= count) continue;
            sink.Write(member, score);
            count--;
        }

        sample.Left = 0;
        return true;
    }

    private bool SampleTable<TSink, TBudget>(ref MemberSample sample, MemoryBudget memory, ref TSink sink,
        ref TBudget budget)
        where TSink : struct, IScoreSink where TBudget : struct, IStepBudget
    {
        var batch = new MemberBatch();
        while (budget.TryTake(MemberBatch.CountMax))
        {
            if (!sample.Fill(ref batch, _table, memory)) return true;
            for (int i = 0; i < batch.Count; i++) sink.Write(batch.Member(i), batch.Score(i));
        }

        return false;
    }

    /// <summary>Visits some members.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned; of a packed one all are visited at
    /// once.</param>
    /// <returns>The next cursor; 0: done.</returns>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IMemberVisit, allows ref struct
    {
        if (!IsPacked) return _table.Scan(cursor, ref visit);
        // Ends: each round goes on by an element.
        for (byte* at = _packed.First, next; (next = _packed.Next(at, out _, out _)) != null; at = next)
            visit.Visit(at);
        return 0;
    }

    /// <summary>The elements from a place on, in order. No change in between.</summary>
    /// <param name="rank">Of the first one. There must be one.</param>
    /// <param name="isBackward">From there to the beginning, instead of to the end.</param>
    public Walk From(long rank, bool isBackward = false) => new(this, rank, isBackward);

    /// <summary>A member and its score where a visit finds them.</summary>
    public void Split(byte* item, out ReadOnlySpan<byte> member, out double score)
    {
        if (IsPacked)
        {
            _packed.Next(item, out member, out score);
            return;
        }

        member = MemberItem.MemberOf(item);
        score = ScoreItem.ScoreOf(item);
    }

    /// <summary>A walk along the elements.</summary>
    public ref struct Walk
    {
        private const int OffsetsMax = 64;

        private readonly SortedSetView _set;
        private readonly bool _isBackward;
        private ScoreCursor _cursor;
        private bool _isMoving;
        private byte* _at;

        // Of a packed set that is gone through from the end: where the next elements are, found by going from the
        // beginning.
        private int _left, _known;
        private Offsets _offsets;

        internal Walk(SortedSetView set, long rank, bool isBackward)
        {
            _set = set;
            _isBackward = isBackward;
            if (!set.IsPacked) _cursor = set._tree.At(rank);
            else if (isBackward) _left = (int)rank + 1;
            else _at = set._packed.At(rank);
        }

        /// <summary>The next one.</summary>
        /// <returns>False at the end.</returns>
        public bool Next(out ReadOnlySpan<byte> member, out double score)
        {
            if (_set.IsPacked)
            {
                if (_isBackward) FindBackward();
                member = default;
                score = 0;
                if (_at != null) _at = _set._packed.Next(_at, out member, out score);
                return _at != null;
            }

            bool more = !_isMoving || (_isBackward ? _cursor.MovePrevious() : _cursor.MoveNext());
            _isMoving = true;
            member = more ? MemberItem.MemberOf(_cursor.Item) : default;
            score = more ? _cursor.Score : 0;
            return more;
        }

        private void FindBackward()
        {
            if (_left == 0)
            {
                _at = null;
                return;
            }

            if (_known == 0)
            {
                _known = Math.Min(_left, OffsetsMax);
                byte* at = _set._packed.At(_left - _known);
                for (int i = 0; i < _known && at != null; i++)
                {
                    _offsets[i] = (ushort)(at - _set._packed.First);
                    at = _set._packed.Next(at, out _, out _);
                }
            }

            _left--;
            _at = _set._packed.First + _offsets[--_known];
        }

        [InlineArray(OffsetsMax)]
        private struct Offsets
        {
            private ushort _first;
        }
    }
}

/// <summary>Takes members with their scores.</summary>
internal interface IScoreSink
{
    void Write(ReadOnlySpan<byte> member, double score);
}
