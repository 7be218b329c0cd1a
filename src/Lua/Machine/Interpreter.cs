using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Runs the instructions of a machine's functions.</summary>
/// <remarks>
/// Registers, constants and code are reached without bounds checks: the compiler gives out no register at or above
/// <see cref="Prototype.Registers"/>, no constant that is not there, no jump out of the code, and code comes from the
/// compiler only; <see cref="Calls.Enter"/> makes room for the registers.
/// The fast half of each instruction is here; whatever may call, fail or move the stack goes to <see cref="Events"/> or
/// <see cref="Calls"/>, with the frame's place saved before, and afterwards the frame on top is looked up anew.
/// </remarks>
internal static class Interpreter
{
    public static LuaOutcome Execute(LuaMachine machine)
    {
        // Ends: each round runs on, and the budget ends that.
        while (true)
        {
            Coroutine coroutine = machine.Current;
            if (coroutine.Depth == 0) return machine.HasFailed ? LuaOutcome.Failed : LuaOutcome.Done;
            if (machine.Pending != null)
            {
                if (machine.IsWaiting) return LuaOutcome.Waiting;
                if (machine.Budget < 0) return LuaOutcome.Suspended;
                Calls.GoOn(machine);
                continue;
            }

            if (!RunFrame(machine, coroutine)) return LuaOutcome.Suspended;
        }
    }

    /// <summary>Runs the frame on top, and those that it enters and returns to, until something else is to be
    /// done.</summary>
    /// <returns>False when the budget is used up.</returns>
    private static bool RunFrame(LuaMachine machine, Coroutine coroutine)
    {
        // Ends: as above. Each round begins with another frame, or with the same one where it goes on.
        while (true)
        {
            ref Frame frame = ref coroutine.Frames[coroutine.Depth - 1];
            Closure? closure = frame.Closure;
            if (closure is null) return true;
            Prototype prototype = closure.Prototype;
            int start = frame.Base;
            ref LuaValue r = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(coroutine.Stack), start);
            ref LuaValue k = ref MemoryMarshal.GetArrayDataReference(prototype.Constants);
            ref Instruction code = ref MemoryMarshal.GetArrayDataReference(prototype.Code);
            nint pc = frame.Pc;
            bool stays = true;
            // Ends: jumps backwards and calls count, and what is made: a text may have a million tables in a row.
            while (stays)
            {
                ref Instruction i = ref Unsafe.Add(ref code, pc++);
                ref LuaValue a = ref Unsafe.Add(ref r, (nint)i.A);
                switch (i.Op)
                {
                    case Opcode.Move:
                        Copy(ref a, ref Unsafe.Add(ref r, (nint)i.B));
                        continue;
                    case Opcode.LoadConstant:
                        Copy(ref a, ref Unsafe.Add(ref k, i.C));
                        continue;
                    case Opcode.LoadNil:
                        for (int n = i.A; n <= i.B; n++) Unsafe.Add(ref r, n) = LuaValue.Nil;
                        continue;
                    case Opcode.LoadTrue:
                        a = LuaValue.True;
                        continue;
                    case Opcode.LoadFalse:
                        a = LuaValue.False;
                        continue;
                    case Opcode.GetUpvalue:
                        Copy(ref a, ref Upvalue(closure, i.B));
                        continue;
                    case Opcode.SetUpvalue:
                        Copy(ref Upvalue(closure, i.B), ref a);
                        continue;
                    case Opcode.NewCell:
                        frame.Pc = (int)pc;
                        machine.Account.Charge(Cell.OverheadBytes);
                        a = new LuaValue(new Cell { Value = a });
                        continue;
                    case Opcode.GetCell:
                        Copy(ref a, ref Unsafe.As<Cell>(Unsafe.Add(ref r, (nint)i.B).Reference!).Value);
                        continue;
                    case Opcode.SetCell:
                        Copy(ref Unsafe.As<Cell>(Unsafe.Add(ref r, (nint)i.B).Reference!).Value, ref a);
                        continue;

                    case Opcode.GetGlobal:
                    {
                        LuaTable globals = machine.Globals;
                        ref LuaValue found = ref globals.FindConstant(Unsafe.As<LuaString>(Unsafe.Add(ref k,
                            i.C).Reference!));
                        if (!found.IsNil || globals.Metatable is null)
                        {
                            a = found;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        Events.Index(machine, globals, Unsafe.Add(ref k, i.C), start + i.A, -1);
                        break;
                    }

                    case Opcode.SetGlobal:
                        frame.Pc = (int)pc;
                        Events.SetIndex(machine, machine.Globals, Unsafe.Add(ref k, i.C), a, -1);
                        break;

                    case Opcode.GetField:
                    {
                        ref LuaValue container = ref Unsafe.Add(ref r, (nint)i.B);
                        if (container.Reference is LuaTable table)
                        {
                            ref LuaValue found = ref table.FindConstant(Unsafe.As<LuaString>(Unsafe.Add(ref k,
                                i.C).Reference!));
                            if (!found.IsNil || table.Metatable is null)
                            {
                                Copy(ref a, ref found);
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        Events.Index(machine, container, Unsafe.Add(ref k, i.C), start + i.A, i.B);
                        break;
                    }

                    case Opcode.GetIndex:
                    {
                        ref LuaValue container = ref Unsafe.Add(ref r, (nint)i.B);
                        if (container.Reference is LuaTable table)
                        {
                            ref LuaValue found = ref table.Find(Unsafe.Add(ref r, i.C));
                            if (!found.IsNil || table.Metatable is null)
                            {
                                Copy(ref a, ref found);
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        Events.Index(machine, container, Unsafe.Add(ref r, i.C), start + i.A, i.B);
                        break;
                    }

                    case Opcode.GetInteger:
                    {
                        ref LuaValue container = ref Unsafe.Add(ref r, (nint)i.B);
                        if (container.Reference is LuaTable table)
                        {
                            ref LuaValue found = ref table.Find(i.C);
                            if (!found.IsNil || table.Metatable is null)
                            {
                                Copy(ref a, ref found);
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        Events.Index(machine, container, i.C, start + i.A, i.B);
                        break;
                    }

                    case Opcode.SetField:
                        if (a.Reference is LuaTable { IsReadOnly: false } withField)
                        {
                            ref LuaValue slot = ref withField.FindConstant(Unsafe.As<LuaString>(Unsafe.Add(ref k,
                                i.C).Reference!));
                            if (!slot.IsNil || (withField.Metatable is null && LuaTable.IsThere(ref slot)))
                            {
                                Copy(ref slot, ref Unsafe.Add(ref r, (nint)i.B));
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        if (a.Reference is LuaTable { Metatable: null } plainField)
                        {
                            Events.SetRaw(plainField, Unsafe.Add(ref k, i.C), Unsafe.Add(ref r, (nint)i.B));
                            continue;
                        }

                        Events.SetIndex(machine, a, Unsafe.Add(ref k, i.C), Unsafe.Add(ref r, (nint)i.B), i.A);
                        break;

                    case Opcode.SetIndex:
                        if (a.Reference is LuaTable { IsReadOnly: false } withKey)
                        {
                            ref LuaValue slot = ref withKey.Find(Unsafe.Add(ref r, i.C));
                            if (!slot.IsNil || (withKey.Metatable is null && LuaTable.IsThere(ref slot)))
                            {
                                Copy(ref slot, ref Unsafe.Add(ref r, (nint)i.B));
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        if (a.Reference is LuaTable { Metatable: null } plain)
                        {
                            Events.SetRaw(plain, Unsafe.Add(ref r, i.C), Unsafe.Add(ref r, (nint)i.B));
                            continue;
                        }

                        Events.SetIndex(machine, a, Unsafe.Add(ref r, i.C), Unsafe.Add(ref r, (nint)i.B), i.A);
                        break;

                    case Opcode.SetInteger:
                        if (a.Reference is LuaTable { IsReadOnly: false } withIndex)
                        {
                            ref LuaValue slot = ref withIndex.Find(i.C);
                            if (!slot.IsNil || (withIndex.Metatable is null && LuaTable.IsThere(ref slot)))
                            {
                                Copy(ref slot, ref Unsafe.Add(ref r, (nint)i.B));
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        Events.SetIndex(machine, a, i.C, Unsafe.Add(ref r, (nint)i.B), i.A);
                        break;

                    case Opcode.Self:
                    {
                        LuaValue receiver = Unsafe.Add(ref r, (nint)i.B);
                        Unsafe.Add(ref a, 1) = receiver;
                        if (receiver.Reference is LuaTable table)
                        {
                            ref LuaValue found = ref table.FindConstant(Unsafe.As<LuaString>(Unsafe.Add(ref k,
                                i.C).Reference!));
                            if (!found.IsNil)
                            {
                                a = found;
                                continue;
                            }
                        }
                        else if (receiver.Reference is LuaString
                            && machine.StringMetatable.FindConstant(CommonStrings.Index).Reference is LuaTable methods)
                        {
                            ref LuaValue found = ref methods.FindConstant(Unsafe.As<LuaString>(Unsafe.Add(ref k,
                                i.C).Reference!));
                            if (!found.IsNil)
                            {
                                a = found;
                                continue;
                            }
                        }

                        frame.Pc = (int)pc;
                        Events.Index(machine, receiver, Unsafe.Add(ref k, i.C), start + i.A, i.B);
                        break;
                    }

                    case Opcode.NewTable:
                        frame.Pc = (int)pc;
                        a = new LuaTable(machine.Account, i.B, i.C);
                        if (--machine.Budget >= 0) continue;
                        return false;
                    case Opcode.SetList:
                        frame.Pc = (int)pc;
                        Making.SetList(coroutine, start + i.A, i.B, i.C);
                        continue;

                    case Opcode.Add:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        ref LuaValue right = ref Unsafe.Add(ref r, i.C);
                        if (left.Reference is null && right.Reference is null)
                        {
                            a.Number = left.Number + right.Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.Power;
                    }

                    case Opcode.Subtract:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        ref LuaValue right = ref Unsafe.Add(ref r, i.C);
                        if (left.Reference is null && right.Reference is null)
                        {
                            a.Number = left.Number - right.Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.Power;
                    }

                    case Opcode.Multiply:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        ref LuaValue right = ref Unsafe.Add(ref r, i.C);
                        if (left.Reference is null && right.Reference is null)
                        {
                            a.Number = left.Number * right.Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.Power;
                    }

                    case Opcode.Divide:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        ref LuaValue right = ref Unsafe.Add(ref r, i.C);
                        if (left.Reference is null && right.Reference is null)
                        {
                            a.Number = left.Number / right.Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.Power;
                    }

                    case Opcode.Modulo:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        ref LuaValue right = ref Unsafe.Add(ref r, i.C);
                        if (left.Reference is null && right.Reference is null)
                        {
                            a.Number = Arithmetic.Modulo(left.Number, right.Number);
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.Power;
                    }

                    case Opcode.Power:      // and what of the others is no plain numbers
                        frame.Pc = (int)pc;
                        Events.Arithmetic(machine, i.Op, Unsafe.Add(ref r, (nint)i.B), Unsafe.Add(ref r, i.C),
                            start + i.A, i.B, i.C);
                        break;

                    case Opcode.AddK:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        if (left.Reference is null)
                        {
                            a.Number = left.Number + Unsafe.Add(ref k, i.C).Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.PowerK;
                    }

                    case Opcode.SubtractK:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        if (left.Reference is null)
                        {
                            a.Number = left.Number - Unsafe.Add(ref k, i.C).Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.PowerK;
                    }

                    case Opcode.MultiplyK:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        if (left.Reference is null)
                        {
                            a.Number = left.Number * Unsafe.Add(ref k, i.C).Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.PowerK;
                    }

                    case Opcode.DivideK:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        if (left.Reference is null)
                        {
                            a.Number = left.Number / Unsafe.Add(ref k, i.C).Number;
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.PowerK;
                    }

                    case Opcode.ModuloK:
                    {
                        ref LuaValue left = ref Unsafe.Add(ref r, (nint)i.B);
                        if (left.Reference is null)
                        {
                            a.Number = Arithmetic.Modulo(left.Number, Unsafe.Add(ref k, i.C).Number);
                            a.Reference = null;
                            continue;
                        }

                        goto case Opcode.PowerK;
                    }

                    case Opcode.PowerK:     // likewise
                        frame.Pc = (int)pc;
                        Events.Arithmetic(machine, i.Op - Opcode.AddK + Opcode.Add, Unsafe.Add(ref r, (nint)i.B),
                            Unsafe.Add(ref k, i.C), start + i.A, i.B, -1);
                        break;

                    case Opcode.Negate:
                    {
                        ref LuaValue operand = ref Unsafe.Add(ref r, (nint)i.B);
                        if (operand.Reference is null)
                        {
                            a.Number = -operand.Number;
                            a.Reference = null;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        Events.Negate(machine, operand, start + i.A, i.B);
                        break;
                    }

                    case Opcode.Not:
                        a = Unsafe.Add(ref r, (nint)i.B).IsTrue ? LuaValue.False : LuaValue.True;
                        continue;

                    case Opcode.Length:
                    {
                        ref LuaValue operand = ref Unsafe.Add(ref r, (nint)i.B);
                        if (operand.Reference is LuaTable table)
                        {
                            a = table.Length;
                            continue;
                        }

                        if (operand.Reference is LuaString text)
                        {
                            a = text.Length;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        Events.Length(machine, operand, start + i.A, i.B);
                        break;
                    }

                    case Opcode.Concat:
                    {
                        frame.Pc = (int)pc;
                        int last = frame.Joined == 0 ? start + i.C : frame.Joined - 1;
                        frame.Joined = 0;
                        int first = start + i.B, before = coroutine.Depth, unwound = machine.Unwound;
                        if (Events.Concat(machine, first, ref last))
                        {
                            coroutine.Stack[start + i.A] = coroutine.Stack[first];
                            break;
                        }

                        // A metamethod runs, or has run: then the rest, unless it has ended this function, too.
                        if (machine.Unwound != unwound) break;
                        coroutine.Frames[before - 1].Joined = last + 1;
                        coroutine.Frames[before - 1].Pc = (int)pc - 1;
                        break;
                    }

                    case Opcode.Jump:
                        pc = i.C;
                        continue;
                    case Opcode.Loop:
                        pc = i.C;
                        if (--machine.Budget >= 0) continue;
                        frame.Pc = (int)pc;
                        return false;
                    case Opcode.JumpIf:
                        if (a.IsTrue) pc = i.C;
                        continue;
                    case Opcode.JumpIfNot:
                        if (!a.IsTrue) pc = i.C;
                        continue;

                    case Opcode.JumpEqual or Opcode.JumpNotEqual:
                    {
                        ref LuaValue right = ref Unsafe.Add(ref r, (nint)i.B);
                        bool jumpIf = i.Op == Opcode.JumpEqual;
                        if (LuaValue.RawEquals(a, right))
                        {
                            if (!ReferenceEquals(a.Reference, right.Reference)) Events.SpendOnText(machine, a);
                            if (jumpIf) pc = i.C;
                            continue;
                        }

                        if (a.Reference is not LuaTable || right.Reference is not LuaTable)
                        {
                            if (!jumpIf) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Events.Equal(machine, a, right, jumpIf)) frame.Pc = i.C;
                        break;
                    }

                    case Opcode.JumpEqualK:
                        if (LuaValue.RawEquals(a, Unsafe.Add(ref k, (nint)i.B))) pc = i.C;
                        continue;
                    case Opcode.JumpNotEqualK:
                        if (!LuaValue.RawEquals(a, Unsafe.Add(ref k, (nint)i.B))) pc = i.C;
                        continue;

                    case Opcode.JumpLess:
                    {
                        ref LuaValue right = ref Unsafe.Add(ref r, (nint)i.B);
                        if (a.Reference is null && right.Reference is null)
                        {
                            if (a.Number < right.Number) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Events.Less(machine, a, right, orEqual: false, jumpIf: true)) frame.Pc = i.C;
                        break;
                    }

                    case Opcode.JumpNotLess:
                    {
                        ref LuaValue right = ref Unsafe.Add(ref r, (nint)i.B);
                        if (a.Reference is null && right.Reference is null)
                        {
                            if (!(a.Number < right.Number)) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Events.Less(machine, a, right, orEqual: false, jumpIf: false)) frame.Pc = i.C;
                        break;
                    }

                    case Opcode.JumpLessOrEqual:
                    {
                        ref LuaValue right = ref Unsafe.Add(ref r, (nint)i.B);
                        if (a.Reference is null && right.Reference is null)
                        {
                            if (a.Number <= right.Number) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Events.Less(machine, a, right, orEqual: true, jumpIf: true)) frame.Pc = i.C;
                        break;
                    }

                    case Opcode.JumpNotLessOrEqual:
                    {
                        ref LuaValue right = ref Unsafe.Add(ref r, (nint)i.B);
                        if (a.Reference is null && right.Reference is null)
                        {
                            if (!(a.Number <= right.Number)) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Events.Less(machine, a, right, orEqual: true, jumpIf: false)) frame.Pc = i.C;
                        break;
                    }

                    case >= Opcode.JumpLessK and <= Opcode.JumpNotGreaterOrEqualK:
                    {
                        double constant = Unsafe.Add(ref k, (nint)i.B).Number;
                        if (a.Reference is null)
                        {
                            if (Comparisons.Holds(i.Op, a.Number, constant)) pc = i.C;
                            continue;
                        }

                        frame.Pc = (int)pc;
                        if (Comparisons.LessThanConstant(machine, i.Op, a, constant)) frame.Pc = i.C;
                        break;
                    }

                    case Opcode.Call:
                    {
                        frame.Pc = (int)pc;
                        if (--machine.Budget < 0)
                        {
                            frame.Pc--;
                            return false;
                        }

                        int function = start + i.A, count = i.B != 0 ? i.B - 1 : coroutine.Top - function - 1;
                        if (a.Reference is Closure called)
                        {
                            Calls.Enter(machine, coroutine, called, function, count, function, i.C - 1, After.Store);
                            break;
                        }

                        if (a.Reference is LuaBuiltin builtin)
                        {
                            int results = Calls.CallBuiltin(machine, coroutine, builtin, function, count);
                            if (results >= 0 && results >= i.C - 1)
                            {
                                // They lie where they are wanted.
                                if (i.C == 0) coroutine.Top = function + results;
                                r = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(coroutine.Stack), start);
                                continue;
                            }

                            Calls.Finish(machine, results, function, count, function, i.C - 1, After.Store);
                        }
                        else
                        {
                            Calls.Call(machine, function, count, function, i.C - 1, After.Store);
                        }

                        if (!GoesOn(machine, coroutine)) return true;
                        break;
                    }

                    case Opcode.TailCall:
                    {
                        frame.Pc = (int)pc;
                        if (--machine.Budget < 0)
                        {
                            frame.Pc--;
                            return false;
                        }

                        Calls.TailCall(machine, coroutine, start + i.A, i.B != 0 ? i.B - 1
                            : coroutine.Top - (start + i.A) - 1);
                        if (!GoesOn(machine, coroutine)) return true;
                        break;
                    }

                    case Opcode.Return:
                    {
                        if (i.B == 1 && frame.After == After.Store && frame.Wanted >= 0)
                        {
                            ref LuaValue target = ref Unsafe.Add(
                                ref MemoryMarshal.GetArrayDataReference(coroutine.Stack), frame.Return);
                            for (int n = 0; n < frame.Wanted; n++) Unsafe.Add(ref target, n) = LuaValue.Nil;
                            frame.Closure = null;
                            coroutine.Depth--;
                            break;
                        }

                        int from = start + i.A, count = i.B != 0 ? i.B - 1 : coroutine.Top - from;
                        Calls.Leave(machine, from, count);
                        if (!GoesOn(machine, coroutine)) return true;
                        break;
                    }

                    case Opcode.Return1:
                        if (frame.After == After.Store && frame.Wanted >= 0)
                        {
                            ref LuaValue target = ref Unsafe.Add(
                                ref MemoryMarshal.GetArrayDataReference(coroutine.Stack), frame.Return);
                            if (frame.Wanted != 0) Copy(ref target, ref a);
                            for (int n = 1; n < frame.Wanted; n++) Unsafe.Add(ref target, n) = LuaValue.Nil;
                            frame.Closure = null;
                            coroutine.Depth--;
                            break;
                        }

                        Calls.Leave(machine, start + i.A, 1);
                        if (!GoesOn(machine, coroutine)) return true;
                        break;

                    case Opcode.Dots:
                        frame.Pc = (int)pc;
                        Calls.TakeDots(machine, coroutine, ref frame, start + i.A, i.B - 1);
                        r = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(coroutine.Stack), start);
                        continue;

                    case Opcode.MakeClosure:
                        frame.Pc = (int)pc;
                        a = Making.MakeClosure(machine, prototype.Functions[i.C], closure, ref r);
                        if (--machine.Budget >= 0) continue;
                        return false;

                    case Opcode.ForPrepare:
                        frame.Pc = (int)pc;
                        ForLoops.Prepare(machine, ref a);
                        pc = i.C;
                        continue;

                    case Opcode.ForLoop:
                    {
                        double step = Unsafe.Add(ref a, 2).Number, next = a.Number + step,
                            end = Unsafe.Add(ref a, 1).Number;
                        if (!(step > 0 ? next <= end : end <= next)) continue;
                        a.Number = next;
                        ref LuaValue shown = ref Unsafe.Add(ref a, 3);
                        shown.Number = next;
                        shown.Reference = null;
                        pc = i.C;
                        if (--machine.Budget >= 0) continue;
                        frame.Pc = (int)pc;
                        return false;
                    }

                    case Opcode.ForEach:
                        frame.Pc = (int)pc;
                        if (ForLoops.TryIterate(machine, ref a, i.B)) continue;
                        ForLoops.CallIterator(machine, coroutine, start + i.A, i.B);
                        if (!GoesOn(machine, coroutine)) return true;
                        break;

                    case Opcode.ForEachLoop:
                        if (Unsafe.Add(ref a, 3).IsNil) continue;
                        Unsafe.Add(ref a, 2) = Unsafe.Add(ref a, 3);
                        pc = i.C;
                        if (--machine.Budget >= 0) continue;
                        frame.Pc = (int)pc;
                        return false;

                    default: throw new InvalidOperationException($"There is no instruction {i.Op}.");
                }

                stays = false;
            }
        }
    }

    /// <summary>Whether a frame of the same coroutine is to be run next.</summary>
    private static bool GoesOn(LuaMachine machine, Coroutine coroutine) =>
        ReferenceEquals(machine.Current, coroutine) && machine.Pending == null && coroutine.Depth != 0;

    /// <summary>Copies a value. Of a number no reference is stored, so there is no write barrier to pay for.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Copy(ref LuaValue target, ref LuaValue source)
    {
        object? reference = source.Reference;
        target.Number = source.Number;
        if (reference is null) target.Reference = null;
        else target.Reference = reference;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ref LuaValue Upvalue(Closure closure, int index) =>
        ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(closure.Upvalues), (nint)index).Value;
}
