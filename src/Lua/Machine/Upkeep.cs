namespace Kv.Lua;

/// <summary>What a machine does for its script before the script's next turn, some at a time: measuring what can be
/// reached, dividing the keys of large tables anew.</summary>
/// <remarks>Both take some ms to some tens of ms for all that a script may hold, and would keep others waiting in the
/// middle of an instruction. So the instruction only says that it is wanted, and the script's turn ends soon: meanwhile
/// tables have more keys than they should, and some more memory is in use. Threads: the machine's.</remarks>
internal sealed class Upkeep(LuaMachine machine, MemoryWalk walk)
{
    // Looks at so many things before it looks at the budget.
    private const long PieceUnits = 1000;

    private readonly Queue<LuaTable> _crowded = new();
    private TableGrowth? _growth;
    private bool _wantsMeasure, _isMeasuring;
    private long _budgetLeft;       // when it was said that the turn is to end

    /// <summary>Whether there is something to do before the script goes on.</summary>
    public bool IsDue => _wantsMeasure || _growth != null || _crowded.Count > 0;

    /// <summary>Whether it is being done: no script runs.</summary>
    public bool IsWorking { get; private set; }

    /// <summary>All that can be reached is to be measured soon.</summary>
    public void WantMeasure()
    {
        _wantsMeasure = true;
        EndTurn();
    }

    /// <summary>A table has more nodes than buckets.</summary>
    public void Add(LuaTable table)
    {
        _crowded.Enqueue(table);
        EndTurn();
    }

    /// <summary>Does some of it, as much as the budget has room for.</summary>
    /// <returns>True when all is done.</returns>
    /// <exception cref="LuaException">The script has too much memory.</exception>
    public bool TryFinish()
    {
        IsWorking = true;
        machine.Budget += _budgetLeft;
        _budgetLeft = 0;
        try
        {
            // Ends: each round does a piece of what there is, and the script adds nothing meanwhile.
            while (IsDue)
            {
                if (machine.Budget < 0) return false;
                long left = PieceUnits;
                if (_growth != null || _crowded.Count > 0) Grow(ref left);
                else Measure(ref left);
                machine.Budget -= PieceUnits - left;
            }

            return true;
        }
        finally
        {
            IsWorking = false;
        }
    }

    /// <summary>The script is over: what is begun is ended, the rest is not wanted any more.</summary>
    public void GiveUp()
    {
        long all = long.MaxValue;
        IsWorking = true;       // so that its memory is not refused
        if (_growth is { MustEnd: true } growth) growth.Step(ref all);
        IsWorking = false;
        _growth = null;
        _crowded.Clear();
        _budgetLeft = 0;
        Measured();
    }

    /// <summary>All has been measured at once.</summary>
    public void Measured() => _wantsMeasure = _isMeasuring = false;

    private void EndTurn()
    {
        if (machine.Budget < 0) return;
        _budgetLeft += machine.Budget + 1;
        machine.Budget = -1;
    }

    private void Grow(ref long left)
    {
        if (_growth is not { } growth)
        {
            var table = _crowded.Dequeue();
            if (!table.IsCrowded) return;       // done at once meanwhile
            growth = new TableGrowth(table);
        }

        _growth = null;     // if there is no memory for it
        if (!growth.Step(ref left)) _growth = growth;
    }

    private void Measure(ref long left)
    {
        if (!_isMeasuring) machine.BeginMeasure();
        _isMeasuring = true;
        if (!walk.TryFinish(ref left)) return;
        Measured();
        machine.Account.TakeMeasured(walk.Bytes);
    }
}
