namespace Kv.Lua.Libraries;

/// <summary>What has to be known of a table before it is written: its keys are looked at, some at a time.</summary>
/// <remarks>The table does not change meanwhile: what writes it has not returned.</remarks>
internal struct TableLook(LuaTable table)
{
    /// <summary>How many places are passed at once.</summary>
    public const int PlacesAtOnce = 1024;

    private int _place;

    /// <summary>Null: nothing is looked at.</summary>
    public LuaTable? Table { get; } = table;

    /// <summary>How many keys it has.</summary>
    public int Count { get; private set; }

    /// <summary>The greatest of them, when all are integers from 1 on.</summary>
    public int Last { get; private set; }

    /// <summary>Whether there is a key that is no integer from 1 on.</summary>
    public bool HasOther { get; private set; }

    /// <summary>Looks at the next keys.</summary>
    /// <param name="untilOther">Whether the first key that is no such integer ends it.</param>
    /// <returns>False: there are more.</returns>
    public bool TryFinish(ref LuaCall call, bool untilOther)
    {
        LuaTable table = Table!;
        int place = _place, end = place + PlacesAtOnce, count = Count, last = Last;
        bool hasOther = HasOther;
        // Ends: each round passes a place.
        while (table.TryVisit(ref place, end, out LuaValue key, out _))
        {
            count++;
            hasOther = hasOther || !key.IsNumber || key.Number < 1 || key.Number != (int)key.Number;
            if (!hasOther) last = Math.Max(last, (int)key.Number);
            else if (untilOther) break;
        }

        call.Spend((Math.Min(place, end) - _place) >> 2);
        (_place, Count, Last, HasOther) = (place, count, last, hasOther);
        return (hasOther && untilOther) || place >= table.Places;
    }
}
