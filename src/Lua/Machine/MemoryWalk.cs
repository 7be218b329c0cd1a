using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Adds up what can be reached from a machine's roots.</summary>
/// <remarks>Without recursion: a table in a table, 100,000 deep, is a list of things to look at. Cost: some 10 ns an
/// object and value.</remarks>
internal sealed class MemoryWalk
{
    // A table of more is looked at in pieces, so that there is an end to what one piece adds to the list.
    private const int PiecePlaces = 1024;

    private readonly Stack<object> _pending = new();
    private readonly Stack<(LuaTable Table, int Place)> _begun = new();
    private static int s_walks;
    private int _number;
    private long _bytes;

    /// <summary>What has been counted.</summary>
    public long Bytes => _bytes;

    /// <summary>Begins to count anew.</summary>
    public void Begin()
    {
        _pending.Clear();
        _begun.Clear();
        _number = Interlocked.Increment(ref s_walks) & int.MaxValue;
        _bytes = 0;
    }

    /// <summary>Counts what a value refers to, and all that can be reached from there, once.</summary>
    public void Visit(in LuaValue value)
    {
        switch (value.Reference)
        {
            case null or Atom: return;
            case LuaBuiltin builtin:
                if (!builtin.Held.IsNil) Visit(builtin.Held);
                return;
            case LuaString text:
                if (text.TryMark(_number)) _bytes += LuaString.OverheadBytes + text.Length;
                return;
            case LuaTable table: Visit(table); return;
            case Closure closure when closure.Walk != _number:
                closure.Walk = _number;
                _bytes += Closure.OverheadBytes + (closure.Upvalues.Length * 8) + BytesOf(closure.Prototype);
                _pending.Push(closure);
                return;
            case Cell cell: Visit(cell); return;
            case Coroutine coroutine when coroutine.Walk != _number:
                coroutine.Walk = _number;
                _bytes += coroutine.Bytes;
                _pending.Push(coroutine);
                return;
        }
    }

    public void Visit(LuaTable table)
    {
        if (table.Walk == _number) return;
        table.Walk = _number;
        _bytes += table.Bytes;
        _pending.Push(table);
    }

    /// <summary>Counts bytes that no object of the script has.</summary>
    public void Add(long bytes) => _bytes += bytes;

    /// <summary>Looks at what was met.</summary>
    /// <param name="most">About how many values at most; it goes down by those that were looked at.</param>
    /// <returns>True when that was everything.</returns>
    public bool TryFinish(ref long most)
    {
        // Ends: each object is met once.
        while (most > 0)
        {
            if (_pending.TryPop(out object? found)) most -= Look(found);
            else if (_begun.TryPop(out var begun)) most -= Look(begun.Table, begun.Place);
            else return true;
        }

        return false;
    }

    /// <summary>Gives back the room that a large walk took.</summary>
    public void Trim()
    {
        _pending.TrimExcess();
        _begun.TrimExcess();
    }

    // How many values it has looked at.
    private int Look(object found)
    {
        switch (found)
        {
            case LuaTable table:
                return Look(table, 0);
            case Coroutine coroutine:
                coroutine.Visit(this);
                return 1 + coroutine.Stack.Length;
            case Closure closure:
                foreach (var cell in closure.Upvalues) Visit(cell);
                return 1 + closure.Upvalues.Length;
            default:
                return 1;
        }
    }

    private int Look(LuaTable table, int place)
    {
        int next = table.Visit(this, place, PiecePlaces);
        if (next < table.Places) _begun.Push((table, next));
        return 1 + next - place;
    }

    private long BytesOf(Prototype prototype)
    {
        if (!prototype.IsOfScript || prototype.Walk == _number) return 0;
        prototype.Walk = _number;
        return prototype.Bytes;
    }

    private void Visit(Cell cell)
    {
        if (cell.Walk == _number) return;
        cell.Walk = _number;
        _bytes += Cell.OverheadBytes;
        Visit(cell.Value);      // one step down: a chain of cells goes through closures, which are pending
    }
}
