using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>table.sort: a quicksort by the median of three whose comparisons may be calls of a script's
/// function.</summary>
/// <remarks>
/// The order in which elements are compared is that of the reference's sort, so that sorts with the same comparisons
/// leave
/// equal elements in the same order, and inconsistent functions fail alike. Between comparisons everything is in
/// fields: a
/// comparison by a script's function ends <see cref="Run"/>, and its result begins it again.
/// Source of the scheme: R. Sedgewick, "Implementing Quicksort programs", CACM 1978, as the Lua 5.1 manual's sort uses
/// it.
/// </remarks>
internal sealed class TableSort(LuaTable table, LuaValue function) : Continuation
{
    private readonly Stack<(int Low, int High)> _ranges = new();
    private int _low = 1, _high = table.Length, _up, _down;
    private LuaValue _pivot = LuaValue.Nil;

    // What is compared. A comparison may write to the table: what is exchanged afterwards is what was compared, and
    // what Up found stays while Down looks for its partner.
    private LuaValue _left = LuaValue.Nil, _right = LuaValue.Nil;
    private Step _step = Step.Range;
    private bool _isPaused;

    // What the next comparison is about, or what comes without one.
    private enum Step
    {
        Range,
        Ends,           // t[high] < t[low]
        MiddleLow,      // t[middle] < t[low]
        MiddleHigh,     // t[high] < t[middle]
        Up,             // t[++up] < pivot
        Down,           // pivot < t[--down]
        Done,
    }

    public int Begin(ref LuaCall call) => Run(ref call);

    public override int Resume(ref LuaCall call, int at, int count)
    {
        if (!_isPaused) Take(ref call, count > 0 && call.Coroutine.Stack[at].IsTrue);
        _isPaused = false;
        return Run(ref call);
    }

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(table);
        walk.Visit(function);
        walk.Visit(_pivot);
        walk.Visit(_left);
        walk.Visit(_right);
    }

    private int Middle => (int)(((uint)_low + (uint)_high) / 2);

    private int Run(ref LuaCall call)
    {
        // Ends: each round compares, or takes a range off the stack; a sort of n elements has finitely many of either.
        while (_step != Step.Done)
        {
            if (call.IsOverBudget)
            {
                _isPaused = true;
                return call.Pause(this);
            }

            if (_step == Step.Range)
            {
                NextRange(ref call);
                continue;
            }

            // Where a function finds its arguments.
            int at = call.Function + 1 + call.Count;
            call.Coroutine.EnsureStack(at + 3 + Coroutine.Spare);
            LuaValue[] stack = call.Coroutine.Stack;
            ref LuaValue left = ref stack[at + 1], right = ref stack[at + 2];
            Operands(ref call, out left, out right);
            if (!function.IsNil)
            {
                stack[at] = function;
                return call.InvokeAt(this, at, 2);
            }

            if (left.IsNumber && right.IsNumber) Take(ref call, left.Number < right.Number);
            else if (left.AsString is { } a && right.AsString is { } b) Take(ref call, Events.Order(a, b) < 0);
            else return CompareByEvent(ref call, left, right);
        }

        return call.Return();
    }

    private int CompareByEvent(ref LuaCall call, in LuaValue left, in LuaValue right)
    {
        LuaValue handler = left.Type == right.Type ? Events.HandlerOf(call.Machine, left, CommonStrings.Lt)
            : LuaValue.Nil;
        if (handler.IsNil || !LuaValue.RawEquals(handler, Events.HandlerOf(call.Machine, right, CommonStrings.Lt)))
            throw Events.CompareError(left, right);
        return call.Invoke(this, handler, [left, right]);
    }

    private void NextRange(ref LuaCall call)
    {
        if (_low < _high)
        {
            if (!function.IsNil || !PlainSort.TrySort(table, _low, _high))
            {
                _step = Step.Ends;
                return;
            }

            call.Spend(PlainSort.StepsFor(_high - _low));
            EndRange();
        }

        if (_ranges.TryPop(out var range)) (_low, _high) = range;
        else _step = Step.Done;
    }

    private void Operands(ref LuaCall call, out LuaValue left, out LuaValue right)
    {
        call.Machine.Budget--;
        switch (_step)
        {
            case Step.Ends:
                left = _left = table.Find(_high);
                right = _right = table.Find(_low);
                break;
            case Step.MiddleLow:
                left = _left = table.Find(Middle);
                right = _right = table.Find(_low);
                break;
            case Step.MiddleHigh:
                right = _right = _left;     // the middle, as it was when it was compared with the low end
                left = _left = table.Find(_high);
                break;
            case Step.Up:
                left = _left = table.Find(++_up);
                right = _pivot;
                break;
            default:
                left = _pivot;
                right = _right = table.Find(--_down);
                break;
        }
    }

    /// <summary>Goes on with what a comparison said.</summary>
    private void Take(ref LuaCall call, bool isLess)
    {
        switch (_step)
        {
            case Step.Ends:
                if (isLess) Exchange(_high, _low);
                _step = _high - _low == 1 ? EndRange() : Step.MiddleLow;
                break;
            case Step.MiddleLow:
                if (isLess) Exchange(Middle, _low);
                _step = isLess ? Partition() : Step.MiddleHigh;
                break;
            case Step.MiddleHigh:
                if (isLess) Exchange(_high, Middle);
                _step = Partition();
                break;
            case Step.Up:
                if (!isLess) _step = Step.Down;
                else if (_up > _high) throw Unordered(ref call);
                break;
            default:
                if (isLess && _down < _low) throw Unordered(ref call);
                if (isLess) break;
                if (_down < _up)
                {
                    _step = Divide();
                    break;
                }

                Exchange(_up, _down);
                _step = Step.Up;
                break;
        }
    }

    // What was compared then is beyond the range, as in the reference.
    private static LuaException Unordered(ref LuaCall call) => call.Failure("invalid order function for sorting");

    private Step EndRange()
    {
        _low = _high;
        return Step.Range;
    }

    private Step Partition()
    {
        Debug.Assert(_high - _low >= 2, "there is something between the ends");
        if (_high - _low == 2) return EndRange();
        int middle = Middle;
        _pivot = table[middle];
        Swap(middle, _high - 1);
        _up = _low;
        _down = _high - 1;
        return Step.Up;
    }

    // The pivot has its place: the smaller side first, the larger one afterwards, so that the stack stays small.
    private Step Divide()
    {
        Swap(_high - 1, _up);
        if (_up - _low < _high - _up)
        {
            _ranges.Push((_up + 1, _high));
            _high = _up - 1;
        }
        else
        {
            _ranges.Push((_low, _up - 1));
            _low = _up + 1;
        }

        return Step.Range;
    }

    private void Swap(int a, int b)
    {
        (_left, _right) = (table.Find(a), table.Find(b));
        Exchange(a, b);
    }

    /// <summary>Gives the place of <see cref="_left"/> the right one, then that of <see cref="_right"/> the
    /// left.</summary>
    private void Exchange(int left, int right)
    {
        table.LetWrite();
        ref LuaValue first = ref table.Find(left), second = ref table.Find(right);
        if (LuaTable.IsThere(ref first) && LuaTable.IsThere(ref second))
        {
            first = _right;
            second = _left;
            return;
        }

        table[left] = _right;
        table[right] = _left;
    }
}
