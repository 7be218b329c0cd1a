using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Kv.Storage;

/// <summary>Draws members of a collection at random, some at a time: different members, every set of them equally
/// likely, or members that may repeat.</summary>
/// <remarks>
/// Of a packed collection its view draws. Of a large one different ones are drawn, and those that come again are left
/// out, when they are few; many are chosen in a walk over all members, which needs no memory. No change in between.
/// </remarks>
/// <param name="count">How many different members, at most all of them; below 0: how many that may repeat.</param>
internal unsafe struct MemberSample(long count) : IDisposable
{
    /// <summary>The most members that the walk looks at for one that it takes, if there is memory: about as long as one
    /// draw takes.</summary>
    private const int WalkFactor = 8;

    /// <summary>Whoever wants more walks: 8 MB is enough to spend on drawing.</summary>
    private const long DrawnMax = 1 << 20;

    private bool _isBegun, _walks;
    private Dice _dice = Dice.New();
    private DrawnItems _drawn;
    private MemberPlace _place;
    private long _unseen;

    /// <summary>The random numbers that it draws by.</summary>
    [UnscopedRef]
    public ref Dice Dice => ref _dice;

    /// <summary>How many are still to come.</summary>
    public long Left { readonly get; set; } = Math.Abs(count);

    /// <summary>Whether members may repeat.</summary>
    public readonly bool MayRepeat => count < 0;

    /// <summary>Finds the next ones of a large collection, as far as it gets in some microseconds: may be
    /// none.</summary>
    /// <returns>False when all have been found before.</returns>
    public bool Fill(ref MemberBatch batch, in MemberTable table, MemoryBudget memory)
    {
        Debug.Assert(MayRepeat || _isBegun || Left <= table.Count,
            "no more different members are wanted than there are");
        if (Left == 0) return false;
        if (!_isBegun) Begin(memory, table.Count);
        if (_walks)
        {
            long left = Left;
            var walk = table.GetWalk(_place, looksAhead: false);
            batch.Choose(ref walk, ref _dice, ref _unseen, ref left);
            _place = walk.Place;
            Left = left;
            return true;
        }

        batch.Draw(table, ref _dice, Left);
        if (!MayRepeat) batch.KeepNew(table, ref _drawn);
        Left -= batch.Count;
        return true;
    }

    private void Begin(MemoryBudget memory, long members)
    {
        _isBegun = true;
        _unseen = members;
        if (MayRepeat) return;
        bool areFew = Left <= DrawnMax && Left < members / WalkFactor;
        _walks = !areFew || !_drawn.TryBegin(memory, Left);
    }

    public void Dispose() => _drawn.Dispose();
}
