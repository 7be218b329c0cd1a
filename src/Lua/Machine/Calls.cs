using System.Diagnostics;
using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Calls and returns, whoever calls whom: scripts, the host's functions.</summary>
/// <remarks>A loop, not a recursion: pcall(pcall, pcall, ...) costs frames of the machine, none of the
/// thread.</remarks>
internal static class Calls
{
    /// <summary>Calls what lies on the stack. A script's function gets a frame; one of the host's is run, and so is all
    /// that follows from it.</summary>
    /// <param name="function">Where it lies; the arguments are above.</param>
    /// <param name="count">How many arguments.</param>
    /// <param name="target">Where the results go.</param>
    /// <param name="wanted">How many; -1: all.</param>
    public static void Call(LuaMachine machine, int function, int count, int target, int wanted, After after)
    {
        Debug.Assert(function >= 0 && count >= 0 && target >= 0, "what is called lies on the stack");
        Coroutine coroutine = machine.Current;
        LuaValue called = coroutine.Stack[function];
        if (called.Reference is Closure closure)
        {
            Enter(machine, coroutine, closure, function, count, target, wanted, after);
            return;
        }

        if (called.Reference is LuaBuiltin builtin)
        {
            Finish(machine, CallBuiltin(machine, coroutine, builtin, function, count), function, count, target, wanted,
                after);
            return;
        }

        CallByEvent(machine, coroutine, function, count, target, wanted, after);
    }

    /// <summary>Runs a host's function.</summary>
    /// <returns>How many results it has left where it lies, or what else is to be done: <see cref="Finish"/>.</returns>
    public static int CallBuiltin(LuaMachine machine, Coroutine coroutine, LuaBuiltin builtin, int function, int count)
    {
        Debug.Assert(!machine.IsInHost && coroutine == machine.Current, "host functions do not nest");
        coroutine.Top = function + 1 + count;
        coroutine.EnsureStack(coroutine.Top + Coroutine.Spare);
        // There may be thousands of arguments, each of which is looked at or copied.
        machine.Budget -= 1 + count;
        var call = new LuaCall(machine, coroutine, function, count);
        machine.IsInHost = true;
        int code = builtin.Body(ref call);
        machine.IsInHost = false;
        return code;
    }

    // A value with __call: it becomes the first argument.
    private static void CallByEvent(LuaMachine machine, Coroutine coroutine, int function, int count, int target,
        int wanted, After after)
    {
        LuaValue handler = Events.HandlerOf(machine, coroutine.Stack[function], CommonStrings.Call);
        if (handler.AsFunction is null)
            throw Events.TypeError("call", coroutine.Stack[function],
                Events.NameOf(machine, function - BaseOf(coroutine)));
        coroutine.EnsureStack(function + count + 2 + Coroutine.Spare);
        coroutine.Stack.AsSpan(function, count + 1).CopyTo(coroutine.Stack.AsSpan(function + 1));
        coroutine.Stack[function] = handler;
        Call(machine, function, count + 1, target, wanted, after);      // one step down: a handler is a function
    }

    // Of the frame on top; 0 where there is none, or a host's.
    private static int BaseOf(Coroutine coroutine) =>
        coroutine.Depth == 0 ? 0 : coroutine.Frames[coroutine.Depth - 1].Base;

    /// <summary>Puts a frame for a script's function on top.</summary>
    public static void Enter(LuaMachine machine, Coroutine coroutine, Closure closure, int function, int count,
        int target, int wanted, After after)
    {
        Prototype prototype = closure.Prototype;
        Debug.Assert(count >= 0 && function + count < coroutine.Stack.Length, "what is called lies on the stack");
        int start = function + 1, parameters = prototype.Parameters, extra = 0;
        if (prototype.IsVararg)
        {
            // The parameters are copied above the arguments; those beyond the parameters stay just below.
            extra = Math.Max(0, count - parameters);
            start += count;
        }

        coroutine.EnsureStack(start + prototype.Registers + Coroutine.Spare);
        LuaValue[] stack = coroutine.Stack;
        if (prototype.IsVararg)
        {
            int given = count - extra;
            for (int i = 0; i < given; i++) stack[start + i] = stack[function + 1 + i];
            count = given;
        }

        for (int i = count; i < parameters; i++) stack[start + i] = LuaValue.Nil;
        ref Frame frame = ref coroutine.Push();
        frame.Closure = closure;
        frame.Function = function;
        frame.Base = start;
        frame.Joined = 0;
        frame.Pc = 0;
        frame.Return = target;
        frame.Wanted = wanted;
        frame.Extra = extra;
        frame.After = after;
        if (prototype.ArgRegister >= 0)
            stack[start + prototype.ArgRegister] = ArgTable(machine, stack.AsSpan(start - extra, extra));
    }

    // The frame is taken over: the function and its arguments move down to where the frame's own function was.
    public static void TailCall(LuaMachine machine, Coroutine coroutine, int function, int count)
    {
        if (coroutine.Stack[function].Reference is not Closure closure)
        {
            // One of the host's: an ordinary call; the next instruction returns its results.
            Call(machine, function, count, function, -1, After.Store);
            return;
        }

        ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
        var (below, target, wanted, after) = (frame.Function, frame.Return, frame.Wanted, frame.After);
        Debug.Assert(frame.Closure != null && below < function, "they move down, over a script's function");
        coroutine.Stack.AsSpan(function, count + 1).CopyTo(coroutine.Stack.AsSpan(below));
        coroutine.Pop();
        Enter(machine, coroutine, closure, below, count, target, wanted, after);
    }

    public static void TakeDots(LuaMachine machine, Coroutine coroutine, ref Frame frame, int target, int wanted)
    {
        int extra = frame.Extra, from = frame.Base - extra;
        Debug.Assert(extra >= 0 && from > frame.Function, "what is beyond the parameters lies above the function");
        if (wanted < 0)
        {
            wanted = extra;
            coroutine.EnsureStack(target + extra + Coroutine.Spare);
            coroutine.Top = target + extra;
        }

        int taken = Math.Min(extra, wanted);
        machine.Budget -= taken;
        coroutine.Stack.AsSpan(from, taken).CopyTo(coroutine.Stack.AsSpan(target));
        coroutine.Stack.AsSpan(target + taken, wanted - taken).Fill(LuaValue.Nil);
    }

    private static LuaTable ArgTable(LuaMachine machine, Span<LuaValue> extra)
    {
        LuaTable table = machine.NewTable(extra.Length, 1);
        for (int i = 0; i < extra.Length; i++) table.Set(i + 1, extra[i]);
        table[CommonStrings.Add("n")] = extra.Length;
        return table;
    }

    /// <summary>Ends the frame on top with results that lie on the stack.</summary>
    public static void Leave(LuaMachine machine, int from, int count)
    {
        Coroutine coroutine = machine.Current;
        ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
        var (target, wanted, after) = (frame.Return, frame.Wanted, frame.After);
        coroutine.Pop();
        Deliver(machine, from, count, target, wanted, after);
    }

    /// <summary>Goes on where a run of host's functions was put aside.</summary>
    public static void GoOn(LuaMachine machine)
    {
        var (count, at) = machine.Pending!.Value;
        machine.Pending = null;
        Finish(machine, count, at, 0, 0, 0, After.Resume);
    }

    /// <summary>Goes on after a host's function has returned.</summary>
    public static void Finish(LuaMachine machine, int code, int function, int count, int target, int wanted,
        After after)
    {
        // Ends: each round ends a host's function or calls one, and the budget ends the rounds.
        while (true)
        {
            Coroutine coroutine = machine.Current;
            if (code == LuaCall.InvokeCode)
            {
                var (waiting, at, arguments) = (machine.Invoked.Continuation, machine.Invoked.At,
                    machine.Invoked.Count);
                Wait(coroutine, waiting, function, count, target, wanted, after);
                if (coroutine.Stack[at].Reference is not LuaBuiltin builtin)
                {
                    Call(machine, at, arguments, at, -1, After.Resume);
                    return;
                }

                // One host's function calls another: here, not one step down, since there may be very many in turn.
                code = CallBuiltin(machine, coroutine, builtin, at, arguments);
                (function, count, target, wanted, after) = (at, arguments, at, -1, After.Resume);
                continue;
            }

            if (code < 0)
            {
                TurnAway(machine, coroutine, code, function, count, target, wanted, after);
                return;
            }

            if (after != After.Resume)
            {
                Deliver(machine, function, code, target, wanted, after);
                return;
            }

            if (machine.Budget < 0)
            {
                machine.Pending = (code, function);
                return;
            }

            // A host's function waits for these results: it goes on.
            ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
            Debug.Assert(frame.Continuation != null, "a host's function waits");
            Continuation continuation = frame.Continuation!;
            (int from, int results) = (function, code);
            (function, target, wanted, after, count) = (frame.Base, frame.Return, frame.Wanted, frame.After,
                frame.Extra);
            coroutine.Pop();
            var call = new LuaCall(machine, coroutine, function, count);
            machine.IsInHost = true;
            code = continuation.Resume(ref call, from, results);
            machine.IsInHost = false;
        }
    }

    // A host's function that neither has results nor calls: something else than it goes on.
    private static void TurnAway(LuaMachine machine, Coroutine coroutine, int code, int function, int count,
        int target, int wanted, After after)
    {
        switch (code)
        {
            case LuaCall.YieldCode:
                CoroutineSwitch.Yield(machine, coroutine, function, count, target, wanted, after);
                break;
            case LuaCall.ErrorCode:
                Errors.Raise(machine, machine.PendingError);
                break;
            case LuaCall.ResumeCode:
                Wait(coroutine, machine.Invoked.Continuation, function, count, target, wanted, after);
                CoroutineSwitch.Resume(machine, coroutine);
                break;
            default:
                Debug.Assert(code == LuaCall.PauseCode, "a host's function returns what its call gave");
                Wait(coroutine, machine.Invoked.Continuation, function, count, target, wanted, after);
                machine.Pending = (0, function + 1 + count);
                break;
        }
    }

    /// <summary>Puts a host's function below what it calls, to wait.</summary>
    public static void Wait(Coroutine coroutine, Continuation continuation, int function, int count, int target,
        int wanted, After after)
    {
        ref Frame frame = ref coroutine.Push();
        frame.Continuation = continuation;
        frame.Base = function;
        frame.Return = target;
        frame.Wanted = wanted;
        frame.Extra = count;        // of a host's function: its arguments
        frame.After = after;
    }

    /// <summary>Puts results where they are wanted.</summary>
    private static void Deliver(LuaMachine machine, int from, int count, int target, int wanted, After after)
    {
        Coroutine coroutine = machine.Current;
        switch (after)
        {
            case After.Store:
                Move(coroutine, from, count, target, wanted);
                return;
            case After.Resume:
                Finish(machine, count, from, 0, 0, 0, After.Resume);
                return;
            case After.End:
                End(machine, coroutine, from, count);
                return;
            default:
                bool isTrue = count > 0 && coroutine.Stack[from].IsTrue;
                ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
                if (after == After.Concat) coroutine.Stack[target] = count > 0 ? coroutine.Stack[from] : LuaValue.Nil;
                else if (isTrue == (after == After.JumpIfTrue))
                    frame.Pc = frame.Closure!.Prototype.Code[frame.Pc - 1].C;
                return;
        }
    }

    private static void Move(Coroutine coroutine, int from, int count, int target, int wanted)
    {
        LuaValue[] stack = coroutine.Stack;
        if (wanted < 0)
        {
            stack.AsSpan(from, count).CopyTo(stack.AsSpan(target));
            coroutine.Top = target + count;
            return;
        }

        stack.AsSpan(from, Math.Min(count, wanted)).CopyTo(stack.AsSpan(target));
        for (int i = count; i < wanted; i++) stack[target + i] = LuaValue.Nil;
    }

    private static void End(LuaMachine machine, Coroutine coroutine, int from, int count)
    {
        Debug.Assert(coroutine.Depth == 0, "a coroutine ends with its last frame");
        coroutine.Status = CoroutineStatus.Dead;
        if (coroutine.Resumer is null)
        {
            Move(coroutine, from, count, 0, -1);
            return;
        }

        CoroutineSwitch.HandOver(machine, coroutine, from, count);
    }
}
