using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>table.insert and table.remove where values move by one place: some at a time.</summary>
/// <param name="from">The first place that gets its neighbour's value.</param>
/// <param name="to">The last place, which gets none.</param>
/// <param name="value">What comes to that place; of a removal what was at the first.</param>
internal sealed class TableShift(LuaTable table, int from, int to, LuaValue value, bool isUp) : Continuation
{
    private const int PieceValues = 4096;

    private int _place = from;

    public int Begin(ref LuaCall call) => Resume(ref call, 0, 0);

    public override int Resume(ref LuaCall call, int at, int count)
    {
        Debug.Assert(isUp ? _place >= to : _place <= to, "each round comes nearer to the last place");
        int step = isUp ? -1 : 1;
        // Ends: each round comes nearer to the last place.
        while (_place != to)
        {
            int moved = 0;
            for (; _place != to && moved < PieceValues; _place += step, moved++)
                Events.SetRaw(table, _place, table[_place + step]);
            call.Spend(moved);
            if (call.IsOverBudget && _place != to) return call.Pause(this);
        }

        Events.SetRaw(table, to, isUp ? value : LuaValue.Nil);
        return isUp ? call.Return() : call.Return(value);
    }

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(table);
        walk.Visit(value);
    }
}
