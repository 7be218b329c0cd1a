using Kv.Lua.Compilation;
using Kv.Lua.Libraries;

namespace Kv.Lua;

/// <summary>Calls, returns and errors, whoever calls whom: scripts, the host's functions, coroutines.</summary>
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
        coroutine.Top = function + 1 + count;
        coroutine.EnsureStack(coroutine.Top + Coroutine.Spare);
        machine.Budget--;
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
            throw Events.TypeError("call", coroutine.Stack[function], NameOfRegister(coroutine, function));
        coroutine.EnsureStack(function + count + 2 + Coroutine.Spare);
        coroutine.Stack.AsSpan(function, count + 1).CopyTo(coroutine.Stack.AsSpan(function + 1));
        coroutine.Stack[function] = handler;
        Call(machine, function, count + 1, target, wanted, after);      // one step down: a handler is a function
    }

    private static string? NameOfRegister(Coroutine coroutine, int place)
    {
        if (coroutine.Depth == 0) return null;
        ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
        if (frame.Closure is not { } closure) return null;
        return closure.Prototype.OperandNames.GetValueOrDefault(Prototype.NameKey(frame.Pc - 1, place - frame.Base));
    }

    /// <summary>Puts a frame for a script's function on top.</summary>
    public static void Enter(LuaMachine machine, Coroutine coroutine, Closure closure, int function, int count,
        int target, int wanted, After after)
    {
        Prototype prototype = closure.Prototype;
        if (prototype.IsVararg)
        {
            EnterVararg(machine, coroutine, closure, function, count, target, wanted, after);
            return;
        }

        int start = function + 1;
        coroutine.EnsureStack(start + prototype.Registers + Coroutine.Spare);
        for (int i = count; i < prototype.Parameters; i++) coroutine.Stack[start + i] = LuaValue.Nil;
        ref Frame frame = ref coroutine.Push();
        frame.Closure = closure;
        frame.Function = function;
        frame.Base = start;
        frame.Joined = 0;
        frame.Pc = 0;
        frame.Return = target;
        frame.Wanted = wanted;
        frame.Extra = 0;
        frame.After = after;
    }

    // The parameters are copied above the arguments; those beyond the parameters stay just below.
    private static void EnterVararg(LuaMachine machine, Coroutine coroutine, Closure closure, int function, int count,
        int target, int wanted, After after)
    {
        Prototype prototype = closure.Prototype;
        int start = function + 1 + count, parameters = prototype.Parameters, extra = Math.Max(0, count - parameters);
        coroutine.EnsureStack(start + prototype.Registers + Coroutine.Spare);
        LuaValue[] stack = coroutine.Stack;
        for (int i = 0; i < parameters; i++) stack[start + i] = i < count ? stack[function + 1 + i] : LuaValue.Nil;
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
            switch (code)
            {
                case LuaCall.InvokeCode:
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
                case LuaCall.YieldCode:
                    Yield(machine, coroutine, function, count, target, wanted, after);
                    return;
                case LuaCall.ResumeCode:
                    Wait(coroutine, machine.Invoked.Continuation, function, count, target, wanted, after);
                    Resume(machine, coroutine);
                    return;
                case LuaCall.ErrorCode:
                    throw new LuaException(machine.PendingError);
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

    // The host's function waits below what it calls.
    private static void Wait(Coroutine coroutine, Continuation continuation, int function, int count, int target,
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
        coroutine.Status = CoroutineStatus.Dead;
        if (coroutine.Resumer is null)
        {
            Move(coroutine, from, count, 0, -1);
            return;
        }

        HandOver(machine, coroutine, from, count);
    }

    /// <summary>Gives values to the coroutine that waits for this one, and lets it go on.</summary>
    private static void HandOver(LuaMachine machine, Coroutine coroutine, int from, int count)
    {
        Coroutine resumer = coroutine.Resumer!;
        coroutine.Resumer = null;
        machine.Current = resumer;
        resumer.Status = CoroutineStatus.Running;
        int at = resumer.Frames[resumer.Depth - 1].Base + 1;
        resumer.EnsureStack(at + count + Coroutine.Spare);
        coroutine.Stack.AsSpan(from, count).CopyTo(resumer.Stack.AsSpan(at));
        Finish(machine, count, at, 0, 0, 0, After.Resume);
    }

    private static void Yield(LuaMachine machine, Coroutine coroutine, int function, int count, int target, int wanted,
        After after)
    {
        if (coroutine.Resumer is null) throw new LuaException("attempt to yield across metamethod/C-call boundary");
        Wait(coroutine, PassOn.Instance, function, count, target, wanted, after);
        coroutine.Status = CoroutineStatus.Suspended;
        HandOver(machine, coroutine, function + 1, count);
    }

    // machine.Invoked says which one, and where the values for it lie.
    private static void Resume(LuaMachine machine, Coroutine resumer)
    {
        var (coroutine, at, count) = (machine.Invoked.Coroutine!, machine.Invoked.At, machine.Invoked.Count);
        machine.Invoked = default;
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
        if (isNew) Call(machine, 0, count, 0, -1, After.End);
        else Finish(machine, count, target, 0, 0, 0, After.Resume);
    }

    /// <summary>Passes an error to the innermost function that takes it.</summary>
    /// <returns>False when none does: the script has failed.</returns>
    public static bool TryCatch(LuaMachine machine, LuaException? error)
    {
        machine.Pending = null;
        // Ends: each round takes a frame away at least, or a coroutine. What follows from a caught error may fail in
        // turn.
        while (error != null)
        {
            LuaValue value = error.Value;
            bool hasPlace = error.WantsPlace && !(error.IsOfMachine && machine.IsInHost);
            machine.IsInHost = false;
            if (hasPlace && value.AsString is { } message) value = new LuaString(machine.Place() + message);
            if (!TryFindCatcher(machine, value, error.IsFinal, out error)) return false;
        }

        return true;
    }

    private static bool TryFindCatcher(LuaMachine machine, LuaValue value, bool isFinal, out LuaException? next)
    {
        next = null;
        // Ends: likewise.
        while (true)
        {
            Coroutine coroutine = machine.Current;
            while (coroutine.Depth > 0)
            {
                ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
                Frame left = frame;
                coroutine.Pop();
                if (left.Continuation is null || isFinal) continue;
                var call = new LuaCall(machine, coroutine, left.Base, left.Extra);
                if (!left.Continuation.TryCatch(ref call, value, out int result)) continue;
                next = ErrorOf(machine, result, left);
                return true;
            }

            coroutine.Status = CoroutineStatus.Dead;
            if (coroutine.Resumer is not { } resumer)
            {
                machine.Error = value;
                return false;
            }

            coroutine.Resumer = null;
            machine.Current = resumer;
            resumer.Status = CoroutineStatus.Running;
            // wrap says where the error went through; resume takes it.
            if (resumer.Frames[resumer.Depth - 1].Continuation is WrapResults && value.AsString is { } inner)
                value = new LuaString(machine.Place(2) + inner);
        }
    }

    private static LuaException? ErrorOf(LuaMachine machine, int code, in Frame frame)
    {
        try
        {
            Finish(machine, code, frame.Base, frame.Extra, frame.Return, frame.Wanted, frame.After);
            return null;
        }
        catch (LuaException error)
        {
            return error;
        }
    }
}
