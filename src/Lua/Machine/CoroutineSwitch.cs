using System.Diagnostics;
using Kv.Lua.Libraries;

namespace Kv.Lua;

/// <summary>How coroutines take turns: who resumes whom, and what they hand each other.</summary>
internal static class CoroutineSwitch
{
    /// <summary>Gives values to the coroutine that waits for this one, and lets it go on.</summary>
    public static void HandOver(LuaMachine machine, Coroutine coroutine, int from, int count)
    {
        Coroutine resumer = coroutine.Resumer!;
        Debug.Assert(coroutine.Status is CoroutineStatus.Suspended or CoroutineStatus.Dead, "it is put aside");
        Debug.Assert(resumer.Status == CoroutineStatus.Normal, "who has resumed it waits");
        coroutine.Resumer = null;
        machine.Current = resumer;
        resumer.Status = CoroutineStatus.Running;
        int at = resumer.Frames[resumer.Depth - 1].Base + 1;
        resumer.EnsureStack(at + count + Coroutine.Spare);
        coroutine.Stack.AsSpan(from, count).CopyTo(resumer.Stack.AsSpan(at));
        Calls.Finish(machine, count, at, 0, 0, 0, After.Resume);
    }

    /// <summary>Puts the running coroutine aside.</summary>
    public static void Yield(LuaMachine machine, Coroutine coroutine, int function, int count, int target, int wanted,
        After after)
    {
        if (coroutine.Resumer is null) throw new LuaException("attempt to yield across metamethod/C-call boundary");
        Debug.Assert(coroutine == machine.Current, "who yields runs");
        Calls.Wait(coroutine, PassOn.Instance, function, count, target, wanted, after);
        coroutine.Status = CoroutineStatus.Suspended;
        HandOver(machine, coroutine, function + 1, count);
    }

    /// <summary>Lets the coroutine of machine.Invoked go on, which says where the values for it lie, too.</summary>
    public static void Resume(LuaMachine machine, Coroutine resumer)
    {
        var (coroutine, at, count) = (machine.Invoked.Coroutine!, machine.Invoked.At, machine.Invoked.Count);
        machine.Invoked = default;
        Debug.Assert(coroutine.Status == CoroutineStatus.Suspended && coroutine.Resumer == null, "it waits");
        Debug.Assert(resumer == machine.Current && coroutine != resumer, "who resumes it runs");
        coroutine.Level = resumer.Level + 1;
        if (coroutine.Level > LuaLimits.CoroutineDepthMax) throw new LuaException("C stack overflow")
            { WantsPlace = true };
        coroutine.Resumer = resumer;
        coroutine.Status = CoroutineStatus.Running;
        resumer.Status = CoroutineStatus.Normal;
        machine.Current = coroutine;
        // A new one has its function at the bottom of its stack; another waits in yield.
        bool isNew = coroutine.Depth == 0;
        int target = isNew ? 1 : coroutine.Frames[coroutine.Depth - 1].Base + 1;
        coroutine.EnsureStack(target + count + Coroutine.Spare);
        resumer.Stack.AsSpan(at, count).CopyTo(coroutine.Stack.AsSpan(target));
        if (isNew) Calls.Call(machine, 0, count, 0, -1, After.End);
        else Calls.Finish(machine, count, target, 0, 0, 0, After.Resume);
    }
}
