using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Functions of one script that later ones call: with the tables and variables that they use, none of which
/// may have changed since.</summary>
/// <remarks>
/// What a variable holds can be changed by an instruction of a function that is kept, which its code shows. A table is
/// made read-only until somebody writes to it (<see cref="LuaTable.LetWrite"/>), who is let, and noted. Threads: one
/// machine's.
/// </remarks>
internal sealed class KeptFunctions
{
    /// <summary>What takes more to look at is not kept.</summary>
    private const int ObjectsMax = 20_000;

    private readonly List<LuaFunction> _functions = [];

    /// <summary>Whether a script has written to a table that is kept.</summary>
    public bool HasChanged { get; set; }

    /// <summary>Bytes of what is kept, about.</summary>
    public long Bytes { get; private set; }

    /// <summary>Keeps functions with all that they use, if nothing of it changes but tables, and it is not
    /// much.</summary>
    public bool TryAdd(IEnumerable<LuaFunction> functions, long bytesMax)
    {
        var found = new HashSet<object>(ReferenceEqualityComparer.Instance);
        var pending = new Stack<object>(functions);
        long bytes = 0;
        // Ends: each object is looked at once.
        while (pending.TryPop(out object? next))
        {
            if (!found.Add(next)) continue;
            bytes += next switch
            {
                LuaTable table => table.Bytes,
                LuaString text => LuaString.OverheadBytes + text.Length,
                _ => Closure.OverheadBytes,
            };
            if (bytes > bytesMax || found.Count > ObjectsMax || !TryLookInto(next, pending)) return false;
        }

        foreach (object kept in found)
            if (kept is LuaTable { IsReadOnly: false } table) table.Keep();
        _functions.AddRange(functions);
        Bytes += bytes;
        return true;
    }

    public void Clear()
    {
        _functions.Clear();
        (HasChanged, Bytes) = (false, 0);
    }

    public void Visit(MemoryWalk walk)
    {
        foreach (var function in _functions) walk.Visit(function);
    }

    /// <returns>False: it has something that changes unseen.</returns>
    private static bool TryLookInto(object found, Stack<object> pending)
    {
        switch (found)
        {
            case Closure closure:
                if (Array.IndexOf(ChangedBy(closure.Prototype), true) >= 0) return false;
                foreach (var cell in closure.Upvalues) Push(cell.Value, pending);
                return true;
            case LuaTable { IsReadOnly: true }:
                return true;        // everybody's, or kept already
            case LuaTable table:
                if (table.Metatable is { } metatable) pending.Push(metatable);
                for (int place = 0; table.TryVisit(ref place, out LuaValue key, out LuaValue value);)
                {
                    Push(key, pending);
                    Push(value, pending);
                }

                return true;
            case LuaBuiltin builtin:
                return builtin.Held.IsNil;
            default:
                return found is not Coroutine;
        }
    }

    private static void Push(in LuaValue value, Stack<object> pending)
    {
        if (value.Reference is { } reference and not Atom) pending.Push(reference);
    }

    /// <summary>Which of a function's outer variables it changes, or functions in it do.</summary>
    private static bool[] ChangedBy(Prototype prototype)
    {
        bool[] changed = new bool[prototype.Captures.Length];
        foreach (var instruction in prototype.Code)
            if (instruction.Op == Opcode.SetUpvalue) changed[instruction.B] = true;
        foreach (var inner in prototype.Functions)      // as deep as the parser allows
        {
            bool[] byInner = ChangedBy(inner);
            for (int i = 0; i < byInner.Length; i++)
                if (byInner[i] && inner.Captures[i] < 0) changed[-1 - inner.Captures[i]] = true;
        }

        return changed;
    }
}
