using Kv.Lua.Libraries;

namespace Kv.Lua;

/// <summary>What an error does: it ends functions, from the innermost on, until one takes it.</summary>
internal static class Errors
{
    /// <summary>Passes a value that a host's function raised to who takes it. No exception is made for it: scripts
    /// raise and catch in loops, and one costs microseconds.</summary>
    public static void Raise(LuaMachine machine, in LuaValue value)
    {
        // While another is passed on, that loop takes this one over: so errors of handlers of errors are no recursion.
        if (machine.IsRaising) throw new LuaException(value);
        machine.IsRaising = true;
        machine.Unwound++;
        machine.Pending = null;
        machine.IsInHost = false;
        try
        {
            if (TryFindCatcher(machine, value, isFinal: false, out LuaException? next))
            {
                if (next != null) TryCatch(machine, next);
            }
            else
            {
                machine.HasFailed = true;
            }
        }
        finally
        {
            machine.IsRaising = false;
        }
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
            if (hasPlace && value.AsString is { } message) value = LuaString.OfBytes(PlaceOf(machine, error) + message);
            if (TryFindCatcher(machine, value, error.IsFinal, out error)) continue;
            machine.HasFailed = true;
            return false;
        }

        return true;
    }

    // What ends a script ends it also in the middle of a host's function: then where that was called.
    private static string PlaceOf(LuaMachine machine, LuaException error)
    {
        string place = machine.Place();
        for (int level = 2; error.IsFinal && place.Length == 0 && level <= machine.Current.Depth; level++)
            place = machine.Place(level);
        return place;
    }

    private static bool TryFindCatcher(LuaMachine machine, LuaValue value, bool isFinal, out LuaException? next)
    {
        next = null;
        machine.ErrorLine = machine.Line();
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
                value = LuaString.OfBytes(machine.Place(2) + inner);
        }
    }

    private static LuaException? ErrorOf(LuaMachine machine, int code, in Frame frame)
    {
        try
        {
            Calls.Finish(machine, code, frame.Base, frame.Extra, frame.Return, frame.Wanted, frame.After);
            return null;
        }
        catch (LuaException error)
        {
            return error;
        }
    }
}
