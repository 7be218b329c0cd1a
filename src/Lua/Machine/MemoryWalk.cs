using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Adds up what can be reached from a machine's roots.</summary>
/// <remarks>Without recursion: a table in a table, 100,000 deep, is a list of things to look at. Cost: some 10 ns an
/// object and value.</remarks>
internal sealed class MemoryWalk
{
    private readonly Stack<object> _pending = new();
    private static int s_walks;
    private int _number;
    private long _bytes;

    /// <summary>Begins to count anew.</summary>
    public void Begin()
    {
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

    /// <summary>Looks at everything that was met.</summary>
    /// <returns>Bytes of all that was counted.</returns>
    public long Finish()
    {
        // Ends: each object is met once.
        while (_pending.TryPop(out object? found))
        {
            switch (found)
            {
                case LuaTable table: table.Visit(this); break;
                case Coroutine coroutine: coroutine.Visit(this); break;
                case Closure closure:
                    foreach (var cell in closure.Upvalues) Visit(cell);
                    break;
            }
        }

        return _bytes;
    }

    /// <summary>Gives back the room that a large walk took.</summary>
    public void Trim() => _pending.TrimExcess();

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
