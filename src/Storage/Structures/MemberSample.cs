namespace Kv.Storage;

/// <summary>Members of a large collection at random, some at a time: different ones, any of so many as likely as
/// another, or any.</summary>
/// <remarks>
/// Different ones are drawn, and those that come again are left out, when they are few; many are chosen in a walk over
/// all members, which needs no memory. No change in between.
/// </remarks>
internal unsafe struct MemberSample : IDisposable
{
    /// <summary>The walk looks at so many members for one at most, if there is memory: about as long as one draw
    /// takes.</summary>
    private const int WalkFactor = 8;

    /// <summary>Whoever wants more walks: 8 MB is enough to spend on drawing.</summary>
    private const long DrawnMax = 1 << 20;

    private readonly bool _walks;
    private DrawnItems _drawn;
    private MemberPlace _place;
    private long _unseen;

    /// <summary>Of a packed collection, which sees to the drawing itself: it is small.</summary>
    /// <param name="count">As of a large one.</param>
    public MemberSample(long count)
    {
        MayRepeat = count < 0;
        Left = Math.Abs(count);
    }

    /// <summary>Of a large collection.</summary>
    /// <param name="count">So many different ones, at most as many as there are; below 0 so many that may be the
    /// same.</param>
    /// <param name="members">There are so many.</param>
    public MemberSample(MemoryBudget budget, long count, long members)
        : this(count)
    {
        _unseen = members;
        if (MayRepeat || Left == 0) return;
        bool areFew = Left <= DrawnMax && Left < members / WalkFactor;
        _walks = !areFew || !_drawn.TryBegin(budget, Left);
    }

    /// <summary>So many are still to come.</summary>
    public long Left { get; private set; }

    /// <summary>Whether they may be the same.</summary>
    public bool MayRepeat { get; }

    /// <summary>One of a packed collection was drawn.</summary>
    public void CountDrawn() => Left--;

    /// <summary>Finds the next ones, as far as it gets in some microseconds: may be none.</summary>
    /// <returns>False when all have been found before.</returns>
    public bool Fill(ref MemberBatch batch, in MemberTable table, Random random)
    {
        if (Left == 0) return false;
        if (_walks)
        {
            long left = Left;
            var walk = table.GetWalk(_place, looksAhead: false);
            batch.Choose(ref walk, random, ref _unseen, ref left);
            _place = walk.Place;
            Left = left;
            return true;
        }

        batch.Draw(table, random, Left);
        if (!MayRepeat) batch.KeepNew(table, ref _drawn);
        Left -= batch.Count;
        return true;
    }

    public void Dispose() => _drawn.Dispose();
}
