using Kv.Lua.Compilation;
using Kv.Lua.Libraries;

namespace Kv.Lua;

/// <summary>What values do where the machine's own rules end: metamethods, and the errors of those that have
/// none.</summary>
/// <remarks>
/// A metamethod of the host's is run at once; one of a script's gets a frame, whose results go where the instruction
/// wants
/// them. So after each of these the interpreter looks anew which frame is on top.
/// </remarks>
internal static class Events
{
    /// <summary>The metamethod of a value, or nil.</summary>
    public static LuaValue HandlerOf(LuaMachine machine, in LuaValue value, LuaString name) =>
        MetatableOf(machine, value) is { } metatable ? metatable.Find(name) : LuaValue.Nil;

    public static LuaTable? MetatableOf(LuaMachine machine, in LuaValue value) => value.Reference switch
    {
        LuaTable table => table.Metatable,
        LuaString => machine.StringMetatable,
        _ => null,
    };

    /// <summary>container[key] into a place of the stack.</summary>
    /// <param name="register">The container's, for an error.</param>
    public static void Index(LuaMachine machine, LuaValue container, in LuaValue key, int target, int register)
    {
        // Ends: after EventChainMax steps.
        for (int step = 0; step < LuaLimits.EventChainMax; step++)
        {
            LuaValue handler;
            if (container.Reference is LuaTable table)
            {
                LuaValue value = table.Find(key);
                if (!value.IsNil || table.Metatable is not { } metatable)
                {
                    machine.Current.Stack[target] = value;
                    return;
                }

                handler = metatable.Find(CommonStrings.Index);
                if (handler.IsNil)
                {
                    machine.Current.Stack[target] = LuaValue.Nil;
                    return;
                }
            }
            else
            {
                handler = HandlerOf(machine, container, CommonStrings.Index);
                if (handler.IsNil) throw TypeError("index", container, step == 0 ? NameOf(machine, register) : null);
            }

            if (handler.Reference is LuaFunction)
            {
                Call(machine, handler, container, key, target);
                return;
            }

            container = handler;
        }

        throw Failure("loop in gettable");
    }

    /// <summary>container[key] = value.</summary>
    public static void SetIndex(LuaMachine machine, LuaValue container, in LuaValue key, in LuaValue value,
        int register)
    {
        // Ends: after EventChainMax steps.
        for (int step = 0; step < LuaLimits.EventChainMax; step++)
        {
            LuaValue handler;
            if (container.Reference is LuaTable table)
            {
                CheckKey(table, key);
                ref LuaValue slot = ref table.Find(key);
                if (!slot.IsNil || table.Metatable is not { } metatable
                    || (handler = metatable.Find(CommonStrings.NewIndex)).IsNil)
                {
                    table.Set(key, value);
                    return;
                }
            }
            else
            {
                handler = HandlerOf(machine, container, CommonStrings.NewIndex);
                if (handler.IsNil) throw TypeError("index", container, step == 0 ? NameOf(machine, register) : null);
            }

            if (handler.Reference is LuaFunction)
            {
                int at = Room(machine, 4);
                LuaValue[] stack = machine.Current.Stack;
                (stack[at], stack[at + 1], stack[at + 2], stack[at + 3]) = (handler, container, key, value);
                Calls.Call(machine, at, 3, at, 0, After.Store);
                return;
            }

            container = handler;
        }

        throw Failure("loop in settable");
    }

    /// <summary>Sets a key of a table without metamethods, if scripts may.</summary>
    public static void SetRaw(LuaTable table, in LuaValue key, in LuaValue value)
    {
        CheckKey(table, key);
        table.Set(key, value);
    }

    // Lua 5.1 makes room for the key before it looks for __newindex, so a bad one is an error either way.
    private static void CheckKey(LuaTable table, in LuaValue key)
    {
        table.LetWrite();
        if (key.IsNil) throw Failure("table index is nil");
        if (key.IsNumber && double.IsNaN(key.Number)) throw Failure("table index is NaN");
    }

    /// <summary>Arithmetic of what are not both numbers.</summary>
    public static void Arithmetic(LuaMachine machine, Opcode op, in LuaValue left, in LuaValue right, int target,
        int leftRegister, int rightRegister)
    {
        SpendOnText(machine, left);
        SpendOnText(machine, right);
        if (left.TryToNumber(out double a) && right.TryToNumber(out double b))
        {
            machine.Current.Stack[target] = Kv.Lua.Arithmetic.Apply((Syntax.BinaryOperator)(op - Opcode.Add), a, b);
            return;
        }

        LuaString name = (op - Opcode.Add) switch
        {
            0 => CommonStrings.Add_,
            1 => CommonStrings.Sub,
            2 => CommonStrings.Mul,
            3 => CommonStrings.Div,
            4 => CommonStrings.Mod,
            _ => CommonStrings.Pow,
        };
        if (TryCall(machine, name, left, right, target)) return;
        bool isLeft = !left.TryToNumber(out _);
        throw TypeError("perform arithmetic on", isLeft ? left
            : right, NameOf(machine, isLeft ? leftRegister : rightRegister));
    }

    /// <summary>-value, of what is no number.</summary>
    public static void Negate(LuaMachine machine, in LuaValue value, int target, int register)
    {
        SpendOnText(machine, value);
        if (value.TryToNumber(out double number)) machine.Current.Stack[target] = -number;
        else if (!TryCall(machine, CommonStrings.Unm, value, value, target))
            throw TypeError("perform arithmetic on", value, NameOf(machine, register));
    }

    /// <summary>Takes it into account that a text is looked at from its beginning to its end.</summary>
    public static void SpendOnText(LuaMachine machine, in LuaValue value)
    {
        if (value.Reference is LuaString text) machine.Budget -= text.Length >> 5;
    }

    /// <summary>#value, of what is neither string nor table.</summary>
    public static void Length(LuaMachine machine, in LuaValue value, int target, int register)
    {
        if (!TryCall(machine, CommonStrings.Len, value, LuaValue.Nil, target))
            throw TypeError("get length of", value, NameOf(machine, register));
    }

    /// <summary>Compares what are not both numbers, and jumps as the instruction says.</summary>
    /// <param name="orEqual">Less or equal, else less.</param>
    /// <param name="jumpIf">What makes it jump.</param>
    /// <returns>Whether to jump, when it is known; a script's metamethod jumps when it returns.</returns>
    public static bool Less(LuaMachine machine, in LuaValue left, in LuaValue right, bool orEqual, bool jumpIf)
    {
        if (left.Reference is null && right.Reference is null)
            return (orEqual ? left.Number <= right.Number : left.Number < right.Number) == jumpIf;
        if (left.Reference is LuaString a && right.Reference is LuaString b)
        {
            machine.Budget -= Math.Min(a.Length, b.Length) >> 8;
            int order = Order(a, b);
            return (orEqual ? order <= 0 : order < 0) == jumpIf;
        }

        if (left.Type != right.Type) throw CompareError(left, right);
        LuaValue handler = CommonHandler(machine, left, right, orEqual ? CommonStrings.Le : CommonStrings.Lt);
        if (!handler.IsNil)
        {
            Call(machine, handler, left, right, 0, jumpIf ? After.JumpIfTrue : After.JumpIfFalse);
            return false;
        }

        // "a <= b" is "not (b < a)" where there is no __le.
        handler = orEqual ? CommonHandler(machine, right, left, CommonStrings.Lt) : LuaValue.Nil;
        if (handler.IsNil) throw CompareError(left, right);
        Call(machine, handler, right, left, 0, jumpIf ? After.JumpIfFalse : After.JumpIfTrue);
        return false;
    }

    /// <summary>Compares two tables that are not one, likewise.</summary>
    public static bool Equal(LuaMachine machine, in LuaValue left, in LuaValue right, bool jumpIf)
    {
        LuaValue handler = left.Reference is LuaTable && right.Reference is LuaTable
            ? CommonHandler(machine, left, right, CommonStrings.Eq) : LuaValue.Nil;
        if (handler.IsNil) return !jumpIf;
        Call(machine, handler, left, right, 0, jumpIf ? After.JumpIfTrue : After.JumpIfFalse);
        return false;
    }

    /// <summary>Concatenates neighbouring values of the stack.</summary>
    /// <param name="first">The first of them; the result is left there.</param>
    /// <param name="last">The last.</param>
    /// <returns>True when the result is there; false when a metamethod runs first, or a part is made in pieces: do it
    /// again, with <paramref name="last"/> as it is then.</returns>
    public static bool Concat(LuaMachine machine, int first, ref int last)
    {
        LuaValue[] stack = machine.Current.Stack;
        // Ends: last comes nearer to first each round.
        while (last > first)
        {
            int from = last;
            long length = 0;
            // All strings and numbers at the end become one string.
            while (from >= first && stack[from].Reference is null or LuaString)
            {
                length += stack[from].AsString?.Length ?? 32;
                from--;
            }

            from++;
            if (last - from >= 1)
            {
                int count = last - from + 1;
                last = from;
                if (length > TextInPieces.PieceBytes)
                {
                    JoinInPieces(machine, from, count);
                    return false;
                }

                stack[from] = Join(machine, stack.AsSpan(from, count), (int)length);
                continue;
            }

            int left = last - 1;
            LuaValue a = stack[left], b = stack[last];
            LuaValue handler = HandlerOf(machine, a, CommonStrings.Concat);
            if (handler.IsNil) handler = HandlerOf(machine, b, CommonStrings.Concat);
            if (handler.IsNil)
            {
                bool isLeft = a.Reference is not (null or LuaString);
                int culprit = isLeft ? left : last;
                throw TypeError("concatenate", stack[culprit], NameOf(machine, culprit - BaseOf(machine)));
            }

            last = left;
            Call(machine, handler, a, b, left, After.Concat);
            return false;
        }

        return true;
    }

    private static LuaString Join(LuaMachine machine, Span<LuaValue> values, int most)
    {
        machine.Budget -= most >> 8;
        byte[] bytes = new byte[most];
        int length = 0;
        foreach (ref LuaValue value in values)
        {
            if (value.Reference is null)
            {
                length += NumberSyntax.Format(value.Number, bytes.AsSpan(length));
                continue;
            }

            var text = (LuaString)value.Reference;
            text.Span.CopyTo(bytes.AsSpan(length));
            length += text.Length;
        }

        if (length != bytes.Length) Array.Resize(ref bytes, length);
        machine.Account.Charge(LuaString.OverheadBytes + length);
        return new LuaString(bytes);
    }

    // As a function of the host's would, whose result takes the place of the first value.
    private static void JoinInPieces(LuaMachine machine, int from, int count)
    {
        int at = Room(machine, 1);
        Coroutine coroutine = machine.Current;
        var parts = new ReadOnlyMemory<byte>[count];
        long length = 0;
        for (int i = 0; i < count; i++)
        {
            parts[i] = coroutine.Stack[from + i].ToText()!.Memory;
            length += parts[i].Length;
        }

        var call = new LuaCall(machine, coroutine, at, 0);
        int code = new JoinedText(TextInPieces.Room(ref call, length), parts).Begin(ref call);
        Calls.Finish(machine, code, at, 0, from, 1, After.Concat);
    }

    /// <summary>Strings are ordered by their bytes, as in the C locale.</summary>
    public static int Order(LuaString left, LuaString right) => left.Span.SequenceCompareTo(right.Span);

    public static LuaException TypeError(string what, in LuaValue value, string? name) =>
        Failure(name is null ? $"attempt to {what} a {value.TypeName} value"
            : $"attempt to {what} {name} (a {value.TypeName} value)");

    public static LuaException CompareError(in LuaValue left, in LuaValue right)
    {
        string a = left.TypeName, b = right.TypeName;
        // Lua 5.1 compares one letter of the names, which "string" and "thread" share.
        return Failure(a[2] == b[2] ? $"attempt to compare two {a} values" : $"attempt to compare {a} with {b}");
    }

    public static LuaException ReadOnly() => Failure("Attempt to modify a readonly table");

    public static LuaException Failure(string message) => new(message) { WantsPlace = true, IsOfMachine = true };

    /// <summary>What errors call the value of a register of the frame on top.</summary>
    public static string? NameOf(LuaMachine machine, int register)
    {
        Coroutine coroutine = machine.Current;
        if (register < 0 || coroutine.Depth == 0) return null;
        ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
        return frame.Closure?.Prototype.NameOf(frame.Pc - 1, register);
    }

    private static int BaseOf(LuaMachine machine) => machine.Current.Frames[machine.Current.Depth - 1].Base;

    // Both sides must have the same function.
    private static LuaValue CommonHandler(LuaMachine machine, in LuaValue left, in LuaValue right, LuaString name)
    {
        LuaValue handler = HandlerOf(machine, left, name);
        if (handler.IsNil) return handler;
        LuaValue other = HandlerOf(machine, right, name);
        return LuaValue.RawEquals(handler, other) ? handler : LuaValue.Nil;
    }

    private static bool TryCall(LuaMachine machine, LuaString name, in LuaValue left, in LuaValue right, int target)
    {
        LuaValue handler = HandlerOf(machine, left, name);
        if (handler.IsNil) handler = HandlerOf(machine, right, name);
        if (handler.IsNil) return false;
        Call(machine, handler, left, right, target);
        return true;
    }

    private static void Call(LuaMachine machine, in LuaValue handler, in LuaValue left, in LuaValue right, int target,
        After after = After.Store)
    {
        int at = Room(machine, 3);
        LuaValue[] stack = machine.Current.Stack;
        (stack[at], stack[at + 1], stack[at + 2]) = (handler, left, right);
        Calls.Call(machine, at, 2, target, 1, after);
    }

    // Above all registers of the frame. (Arguments that only the machine counts may lie there, but not while an event
    // happens:
    // the instruction that makes them is followed by the one that takes them.)
    private static int Room(LuaMachine machine, int values)
    {
        Coroutine coroutine = machine.Current;
        ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
        int at = frame.Base + frame.Closure!.Prototype.Registers;
        coroutine.EnsureStack(at + values + Coroutine.Spare);
        return at;
    }
}
