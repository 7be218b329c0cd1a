using System.Diagnostics;

namespace Kv.Lua.Syntax;

/// <summary>The names that are known at a place of a function, while it is read.</summary>
internal sealed class FunctionScope(FunctionScope? outer, FunctionBody body)
{
    private const int LocalsMax = 200, UpvaluesMax = 60;

    private readonly List<LocalVariable> _visible = [];
    private readonly Stack<int> _blocks = new();

    public FunctionScope? Outer { get; } = outer;

    public FunctionBody Body { get; } = body;

    /// <summary>Loops around the place, for break.</summary>
    public int Loops { get; set; }

    public void OpenBlock() => _blocks.Push(_visible.Count);

    public void CloseBlock()
    {
        int count = _blocks.Pop();
        Debug.Assert(count <= _visible.Count, "what a block has declared ends with it");
        _visible.RemoveRange(count, _visible.Count - count);
    }

    /// <returns>False when there are too many.</returns>
    public bool TryDeclare(LocalVariable variable)
    {
        if (_visible.Count == LocalsMax) return false;
        _visible.Add(variable);
        return true;
    }

    public LocalVariable? FindLocal(LuaString name)
    {
        for (int i = _visible.Count - 1; i >= 0; i--)
            if (_visible[i].Name.Equals(name)) return _visible[i];
        return null;
    }

    /// <summary>The upvalue of this function for a name of one around it.</summary>
    /// <param name="index">Its place; -1 when the name is known nowhere.</param>
    /// <returns>False when there are too many upvalues in a function.</returns>
    public bool TryFindUpvalue(LuaString name, out int index)
    {
        index = Body.Upvalues.FindIndex(known => known.Name.Equals(name) && IsStillMeant(known));
        if (index >= 0 || Outer is null) return true;
        if (Outer.FindLocal(name) is { } local)
        {
            local.IsCaptured = true;
            return TryAdd(new UpvalueSource(name, local, -1), out index);
        }

        if (!Outer.TryFindUpvalue(name, out int outer)) return false;
        return outer < 0 || TryAdd(new UpvalueSource(name, null, outer), out index);
    }

    // A name may mean another variable of the outer function by now: the one declared last.
    private bool IsStillMeant(UpvalueSource known) =>
        Outer?.FindLocal(known.Name) is not { } local || ReferenceEquals(local, known.Local);

    private bool TryAdd(UpvalueSource source, out int index)
    {
        index = Body.Upvalues.Count;
        if (index == UpvaluesMax) return false;
        Body.Upvalues.Add(source);
        return true;
    }
}
