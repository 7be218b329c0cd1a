namespace Kv.Lua;

/// <summary>Makes tables for one script at a time; the small ones among the first are used again for the
/// next.</summary>
/// <remarks>For the same reason as <see cref="ShortStrings"/>: no table of a script outlives it. Threads: one
/// machine's.</remarks>
internal sealed class ReplyTables(MemoryAccount account)
{
    private const int TablesMax = 8, ValuesMax = 4;

    private readonly LuaTable?[] _made = new LuaTable?[TablesMax];
    private int _used;

    /// <summary>A table until <see cref="TakeBack"/>.</summary>
    public LuaTable New(int arraySize, int hashSize)
    {
        if (_used == TablesMax || arraySize > ValuesMax || hashSize > ValuesMax)
            return new LuaTable(account, arraySize, hashSize);
        ref var made = ref _made[_used++];
        if (made is null) return made = new LuaTable(account, arraySize, hashSize);
        account.Charge(LuaTable.OverheadBytes);
        made.Clear();
        return made;
    }

    /// <summary>The script is over: nobody has any of its tables.</summary>
    public void TakeBack() => _used = 0;

    /// <summary>Somebody keeps some of its tables.</summary>
    public void LetGo()
    {
        Array.Clear(_made);
        _used = 0;
    }
}
