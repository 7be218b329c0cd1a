using System.Runtime.CompilerServices;

namespace Kv.Lua;

/// <summary>A call of a host's function: its arguments, and what takes its results.</summary>
/// <remarks>Results may be given once the arguments have been read: they take their places.</remarks>
public readonly struct LuaCall
{
    // What a host's function returns besides a number of results.
    internal const int InvokeCode = -1, YieldCode = -2, ResumeCode = -3, ErrorCode = -4, PauseCode = -5;

    internal readonly Coroutine Coroutine;

    /// <summary>Where the function is on the stack; the arguments are above, the results begin there.</summary>
    internal readonly int Function;

    internal LuaCall(LuaMachine machine, Coroutine coroutine, int function, int count)
    {
        Machine = machine;
        Coroutine = coroutine;
        Function = function;
        Count = count;
    }

    public LuaMachine Machine { get; }

    /// <summary>How many arguments there are.</summary>
    public int Count { get; }

    /// <summary>An argument, from 0 on; nil from <see cref="Count"/> on.</summary>
    public LuaValue this[int index] => (uint)index < (uint)Count ? Coroutine.Stack[Function + 1 + index] : LuaValue.Nil;

    /// <summary>Ends without a result.</summary>
    public int Return() => 0;

    /// <summary>Ends with a result.</summary>
    public int Return(LuaValue value)
    {
        Coroutine.Stack[Function] = value;
        return 1;
    }

    public int Return(LuaValue first, LuaValue second)
    {
        Coroutine.EnsureStack(Function + 2);
        Coroutine.Stack[Function] = first;
        Coroutine.Stack[Function + 1] = second;
        return 2;
    }

    public int Return(LuaValue first, LuaValue second, LuaValue third)
    {
        Coroutine.EnsureStack(Function + 3);
        Coroutine.Stack[Function] = first;
        Coroutine.Stack[Function + 1] = second;
        Coroutine.Stack[Function + 2] = third;
        return 3;
    }

    /// <summary>Room for any number of results: the caller fills it and returns the number.</summary>
    public Span<LuaValue> Results(int count)
    {
        Coroutine.EnsureStack(Function + count + 1);
        return Coroutine.Stack.AsSpan(Function, count);
    }

    /// <summary>Ends with an error: any value.</summary>
    public int Error(in LuaValue value)
    {
        Machine.PendingError = value;
        return ErrorCode;
    }

    /// <summary>The arguments from one on.</summary>
    internal Span<LuaValue> Arguments(int from = 0) =>
        from >= Count ? [] : Coroutine.Stack.AsSpan(Function + 1 + from, Count - from);

    /// <summary>A string, or the text of a number.</summary>
    /// <exception cref="LuaException">It is neither, or not there; the message names the argument and the
    /// function.</exception>
    public LuaString TextAt(int index)
    {
        if (index < Count && Coroutine.Stack[Function + 1 + index].ToText() is { } text) return text;
        throw TypeError(index, "string");
    }

    /// <summary>A number, or what a string says.</summary>
    public double NumberAt(int index)
    {
        if ((uint)index < (uint)Count)
        {
            ref LuaValue value = ref Coroutine.Stack[Function + 1 + index];
            if (value.IsNumber) return value.Number;
            Events.SpendOnText(Machine, value);
            if (value.TryToNumber(out double number)) return number;
        }

        throw TypeError(index, "number");
    }

    /// <summary>A number cut to 32 bits.</summary>
    public int IntegerAt(int index) => (int)Arithmetic.ToInteger(NumberAt(index));

    /// <summary>Likewise, or another when there is none or nil.</summary>
    public int IntegerAt(int index, int otherwise) => this[index].IsNil ? otherwise : IntegerAt(index);

    /// <summary>A number cut to 64 bits, or another when there is none or nil.</summary>
    internal long LongAt(int index, long otherwise) => this[index].IsNil ? otherwise : LongAt(index);

    /// <summary>A number cut to 64 bits; what does not fit is the least.</summary>
    internal long LongAt(int index) => Arithmetic.ToInteger(NumberAt(index));

    public LuaTable TableAt(int index) => this[index].AsTable ?? throw TypeError(index, "table");

    /// <summary>Any value, but there must be one.</summary>
    public LuaValue ValueAt(int index) => index < Count ? this[index] : throw ArgumentError(index, "value expected");

    /// <summary>What is wrong with an argument of another type.</summary>
    public LuaException TypeError(int index, string expected) =>
        ArgumentError(index, $"{expected} expected, got {(index < Count ? this[index].TypeName : "no value")}");

    /// <summary>What is wrong with an argument.</summary>
    public LuaException ArgumentError(int index, string message)
    {
        string? called = Machine.NameOfCalled();
        int number = index + 1;
        if (called?.StartsWith("method ", StringComparison.Ordinal) == true && --number == 0)
            return Failure($"calling {called["method ".Length..]} on bad self ({message})");
        int quote = called?.IndexOf('\'', StringComparison.Ordinal) ?? -1;
        return Failure($"bad argument #{number} to {(quote < 0 ? "'?'" : called![quote..])} ({message})");
    }

    /// <summary>An error with the place of the script in front.</summary>
    public LuaException Failure(string message) => LuaException.WithPlace(message);

    /// <summary>Takes work into account that no instruction counts.</summary>
    /// <param name="units">About as many instructions.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Spend(long units) => Machine.Budget -= units / 4;

    /// <summary>Accounts for memory that is about to be taken.</summary>
    /// <exception cref="LuaException">The limit is passed.</exception>
    public void Charge(long bytes) => Machine.Account.Charge(bytes);

    /// <summary>A string of bytes that were made here, charged.</summary>
    public LuaString Text(ReadOnlySpan<byte> bytes)
    {
        Charge(LuaString.OverheadBytes + bytes.Length);
        return new LuaString(bytes);
    }

    /// <summary>Calls a function, and goes on with the continuation when it is done.</summary>
    internal int Invoke(Continuation continuation, in LuaValue function, ReadOnlySpan<LuaValue> arguments)
    {
        // Above this call's own arguments, which the continuation may still want.
        int at = Function + 1 + Count;
        Coroutine.EnsureStack(at + 1 + arguments.Length + Coroutine.Spare);
        arguments.CopyTo(Coroutine.Stack.AsSpan(at + 1));
        Coroutine.Stack[at] = function;
        return InvokeAt(continuation, at, arguments.Length);
    }

    /// <summary>Likewise; function and arguments lie on the stack already.</summary>
    internal int InvokeAt(Continuation continuation, int at, int count)
    {
        Machine.Invoked.Continuation = continuation;
        Machine.Invoked.At = at;
        Machine.Invoked.Count = count;
        return InvokeCode;
    }

    /// <summary>Resumes a coroutine with the arguments from one on, and goes on with the continuation when it yields or
    /// ends.</summary>
    internal int Resume(Continuation continuation, Coroutine coroutine, int from)
    {
        Machine.Invoked = (continuation, coroutine, Function + 1 + from, Math.Max(0, Count - from));
        return ResumeCode;
    }

    /// <summary>Ends this part of the function: the machine's Run returns <see cref="LuaOutcome.Waiting"/>, and when it
    /// is run again, the function goes on with another part.</summary>
    /// <param name="then">Is called with the same arguments; it may wait in turn.</param>
    public int Wait(LuaRest then)
    {
        Machine.IsWaiting = true;
        return Pause(then.Continuation);
    }

    /// <summary>Puts the function aside, in the middle of what takes long: when the script is run on, or at once where
    /// the budget allows it, it goes on with another part.</summary>
    /// <param name="then">Is called with the same arguments; it may put itself aside in turn.</param>
    public int Pause(LuaRest then) => Pause(then.Continuation);

    /// <summary>Whether the script has used up its budget.</summary>
    public bool IsOverBudget => Machine.Budget < 0;

    /// <summary>Ends the script's turn, whatever is left of its budget.</summary>
    internal void EndTurn() => Machine.Budget = Math.Min(Machine.Budget, -1);

    /// <summary>Puts the function aside; it goes on with the continuation, at once where the budget allows
    /// it.</summary>
    internal int Pause(Continuation continuation)
    {
        Machine.Invoked = (continuation, null, 0, 0);
        return PauseCode;
    }
}
