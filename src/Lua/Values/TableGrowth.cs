using System.Diagnostics;
using System.Numerics;

namespace Kv.Lua;

/// <summary>Divides a table's keys anew between its two parts, with room for more: at once or some keys at a
/// time.</summary>
/// <remarks>The array part becomes the largest power of two of which more than half is in use. Between two steps the
/// table is nobody's to look into.</remarks>
internal struct TableGrowth(LuaTable table)
{
    private readonly int _places = table.Places, _oldSize = table.ArraySize;
    private IndexCensus _census;
    private LuaTable.HashRoom _room;
    private Stage _stage;
    private LuaValue _expected = LuaValue.Nil;
    private int _at, _live;

    private enum Stage
    {
        Counting,
        Moving,
        Dropping,
        Linking,
        Done,
    }

    /// <summary>Whether the table is of no use until the end.</summary>
    public readonly bool MustEnd => _stage is Stage.Moving or Stage.Dropping or Stage.Linking;

    /// <summary>Room for a key as well that is not there yet.</summary>
    public void Expect(in LuaValue key)
    {
        Debug.Assert(_stage == Stage.Counting && _at == 0, "before the first step");
        _census.Add(key);
        _expected = key;
    }

    /// <summary>Looks at some places.</summary>
    /// <param name="most">How many at most; it goes down by those that were looked at.</param>
    /// <returns>True at the end.</returns>
    /// <exception cref="LuaException">There is no memory for it: the table is as before, or with some keys in another
    /// part.</exception>
    public bool Step(ref long most)
    {
        // Ends: each round looks at a place, or goes on to the next of finitely many stages.
        while (_stage != Stage.Done)
        {
            int end = _stage switch
            {
                Stage.Counting => _places,
                Stage.Linking => table.NodeCount,
                _ => _places - _oldSize,
            };
            if (_at >= end)
            {
                Enter(_stage + 1);
                continue;
            }

            if (most <= 0) return false;
            int next = _at + (int)Math.Min(end - _at, most);
            most -= next - _at;
            Look(next);
            _at = next;
        }

        return true;
    }

    private void Look(int end)
    {
        switch (_stage)
        {
            case Stage.Counting: _live += table.CountKeys(_at, end, ref _census); break;
            case Stage.Moving: _live -= table.MoveIndices(_at, end, _oldSize); break;
            case Stage.Dropping: table.DropDead(_at, end, ref _room); break;
            default: table.Link(_at, end); break;
        }
    }

    private void Enter(Stage stage)
    {
        switch (stage)
        {
            case Stage.Moving:
                int size = _census.ArraySize;
                if (size > _oldSize) table.ReserveArray(size);
                else stage = Stage.Dropping;
                break;
            case Stage.Linking:
                table.EndDropping(_room);
                break;
        }

        if (stage == Stage.Dropping)
        {
            Debug.Assert(_live >= 0, "only what was counted has moved");
            int wanted = _live + (_expected.IsNil || table.IsOfArray(_expected) ? 0 : 1);
            _room = table.NewRoom(wanted == 0 ? 0
                : Math.Max(LuaTable.FirstNodes, (int)BitOperations.RoundUpToPowerOf2((uint)wanted)));
        }

        (_stage, _at) = (stage, 0);
    }
}
