using System.Diagnostics;
using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>Compiles expressions: values into registers.</summary>
internal sealed class ExpressionCompiler
{
    /// <summary>Of a call: it ends the function.</summary>
    public const int TailResults = -2;

    private readonly FunctionBuilder _code;
    private readonly TableCompiler _tables;

    public ExpressionCompiler(FunctionBuilder code)
    {
        _code = code;
        _tables = new TableCompiler(code, this);
        Conditions = new ConditionCompiler(code, this);
    }

    public ConditionCompiler Conditions { get; }

    /// <summary>Puts values into the next registers, as many as wanted: the last may give several, the rest is
    /// nil.</summary>
    public void Values(int line, Expression[] values, int wanted)
    {
        int first = _code.Free;
        for (int i = 0; i < values.Length; i++)
        {
            bool isLast = i == values.Length - 1;
            if (isLast && values[i].IsMulti && wanted > i)
            {
                Multi(values[i], wanted - i);
                return;
            }

            if (i < wanted) Temporary(values[i]);
            else Discard(values[i]);
        }

        int missing = wanted - values.Length;
        if (missing <= 0) return;
        int from = _code.Take(missing);
        _code.Emit(line, Opcode.LoadNil, from, first + wanted - 1);
    }

    // A value that nobody takes is computed all the same.
    private void Discard(Expression value)
    {
        int free = _code.Free;
        Temporary(value);
        _code.FreeFrom(free);
    }

    /// <summary>Puts values into the next registers. If the last expression is a call or "...", only the machine knows
    /// how many there are.</summary>
    /// <returns>Whether the number is open in this way.</returns>
    public bool OpenValues(Expression[] values)
    {
        for (int i = 0; i < values.Length; i++)
        {
            if (i == values.Length - 1 && values[i].IsMulti)
            {
                Multi(values[i], -1);
                return true;
            }

            Temporary(values[i]);
        }

        return false;
    }

    /// <summary>Puts several values of one expression into the next registers.</summary>
    /// <param name="wanted">How many; -1: all, up to the top.</param>
    public void Multi(Expression expression, int wanted)
    {
        while (expression is ParenthesizedExpression inner) expression = inner.Inner;
        if (expression is DotsExpression)
        {
            int first = _code.Take(Math.Max(wanted, 1));
            _code.Emit(expression.Line, Opcode.Dots, first, wanted + 1);
        }
        else
        {
            int first = _code.Free;
            Call(expression, wanted);
            _code.FreeFrom(first);
            _code.Take(Math.Max(wanted, 1));
        }
    }

    /// <summary>Calls; the results are from the first register on that was free.</summary>
    /// <param name="results">How many are wanted; -1: all; <see cref="TailResults"/>: the call ends the
    /// function.</param>
    public void Call(Expression call, int results)
    {
        _code.EnsureDepth(call.Line);
        int function = _code.Free, fixedArguments = 0;
        OperandName? name;
        Expression[] arguments;
        if (call is MethodCallExpression method)
        {
            int receiver = Operand(method.Receiver);
            _code.FreeFrom(function);
            _code.Take(2);
            int self = _code.Emit(method.NameLine, Opcode.Self, function, receiver, _code.Constant(method.Name));
            _code.Name(self, receiver, OperandNames.Of(method.Receiver));
            name = new OperandName("method", method.Name);
            arguments = method.Arguments;
            fixedArguments = 1;
        }
        else
        {
            var plain = (CallExpression)call;
            Temporary(plain.Function);
            name = OperandNames.Of(plain.Function);
            arguments = plain.Arguments;
        }

        bool isOpen = OpenValues(arguments);
        int b = isOpen ? 0 : arguments.Length + fixedArguments + 1;
        int emitted = results == TailResults
            ? _code.Emit(call.Line, Opcode.TailCall, function, b)
            : _code.Emit(call.Line, Opcode.Call, function, b, results + 1);
        _code.Name(emitted, function, name);
        // A host's function has been called like any other: its results are returned here.
        if (results == TailResults) _code.Emit(call.Line, Opcode.Return, function, 0);
        _code.FreeFrom(function);
    }

    public void Closure(int line, FunctionBody body, int target)
    {
        _code.Functions.Add(Compiler.Compile(body, _code.ChunkName));
        _code.Emit(line, Opcode.MakeClosure, target, 0, _code.Functions.Count - 1);
    }

    /// <summary>A register that has the value: the local's own, or a new one.</summary>
    public int Operand(Expression expression) => expression switch
    {
        LocalExpression { Variable: { IsCaptured: false } local } => local.Register,
        ParenthesizedExpression inner => Operand(inner.Inner),
        _ => Temporary(expression),
    };

    /// <summary>A new register with the value.</summary>
    public int Temporary(Expression expression)
    {
        int register = _code.Take();
        Into(expression, register);
        return register;
    }

    /// <summary>The whole number that a key is, or null.</summary>
    public static int? IntegerOf(Expression key) =>
        key is ConstantExpression { Value.IsNumber: true } number && number.Value.Number == (int)number.Value.Number
            ? (int)number.Value.Number : null;

    public void Into(Expression expression, int target)
    {
        Debug.Assert(target < _code.Free, "the register was taken");
        _code.EnsureDepth(expression.Line);
        int free = _code.Free, line = expression.Line;
        switch (expression)
        {
            case ConstantExpression constant: Constant(line, constant.Value, target); break;
            case LocalExpression { Variable.IsCaptured: true } cell:
                _code.Emit(line, Opcode.GetCell, target, cell.Variable.Register);
                break;
            case LocalExpression local:
                if (local.Variable.Register != target) _code.Emit(line, Opcode.Move, target, local.Variable.Register);
                break;
            case UpvalueExpression upvalue: _code.Emit(line, Opcode.GetUpvalue, target, upvalue.Index); break;
            case GlobalExpression global:
                _code.Emit(line, Opcode.GetGlobal, target, 0, _code.Constant(global.Name));
                break;
            case IndexExpression index: Index(index, target); break;
            case CallExpression or MethodCallExpression or DotsExpression:
                // Into the last register that was taken: the call may use that one already.
                if (target == free - 1) _code.FreeFrom(target);
                int result = _code.Free;
                Multi(expression, 1);
                if (result != target) _code.Emit(line, Opcode.Move, target, result);
                break;
            case FunctionExpression function: Closure(line, function.Body, target); break;
            case ParenthesizedExpression inner: Into(inner.Inner, target); break;
            case TableExpression table: _tables.Table(table, target); break;
            case UnaryExpression unary: Unary(unary, target); break;
            case BinaryExpression binary: Binary(binary, target); break;
            default: Debug.Fail("an expression of a new kind is compiled here"); break;
        }

        _code.FreeFrom(free);
    }

    private void Constant(int line, LuaValue value, int target)
    {
        if (value.IsNil) _code.Emit(line, Opcode.LoadNil, target, target);
        else if (value.Type == LuaType.Boolean)
            _code.Emit(line, value.IsTrue ? Opcode.LoadTrue : Opcode.LoadFalse, target);
        else _code.Emit(line, Opcode.LoadConstant, target, 0, _code.Constant(value));
    }

    private void Index(IndexExpression index, int target)
    {
        int container = Operand(index.Container), get;
        if (index.Key is ConstantExpression { Value.IsString: true } name)
            get = _code.Emit(index.Line, Opcode.GetField, target, container, _code.Constant(name.Value));
        else if (IntegerOf(index.Key) is { } integer)
            get = _code.Emit(index.Line, Opcode.GetInteger, target, container, integer);
        else
            get = _code.Emit(index.Line, Opcode.GetIndex, target, container, Operand(index.Key));
        _code.Name(get, container, OperandNames.Of(index.Container));
    }

    private void Unary(UnaryExpression unary, int target)
    {
        int operand = Operand(unary.Operand);
        var op = unary.Operator switch
        {
            UnaryOperator.Not => Opcode.Not,
            UnaryOperator.Negate => Opcode.Negate,
            _ => Opcode.Length,
        };
        _code.Name(_code.Emit(unary.Line, op, target, operand), operand, OperandNames.Of(unary.Operand));
    }

    private void Binary(BinaryExpression binary, int target)
    {
        switch (binary.Operator)
        {
            case BinaryOperator.And or BinaryOperator.Or:
                Into(binary.Left, target);
                var skip = binary.Operator == BinaryOperator.And ? Opcode.JumpIfNot : Opcode.JumpIf;
                int end = _code.Emit(binary.Line, skip, target);
                Into(binary.Right, target);
                _code.Land(end);
                break;
            case BinaryOperator.Concat: Concat(binary, target); break;
            case >= BinaryOperator.Equal: Comparison(binary, target); break;
            default: Arithmetic(binary, target); break;
        }
    }

    private void Arithmetic(BinaryExpression binary, int target)
    {
        int left = Operand(binary.Left);
        if (binary.Right is ConstantExpression { Value.IsNumber: true } constant)
        {
            int withConstant = _code.Emit(binary.Line, (Opcode)((int)Opcode.AddK + (int)binary.Operator), target, left,
                _code.Constant(constant.Value));
            _code.Name(withConstant, left, OperandNames.Of(binary.Left));
            return;
        }

        int right = Operand(binary.Right);
        int emitted = _code.Emit(binary.Line, (Opcode)((int)Opcode.Add + (int)binary.Operator), target, left, right);
        _code.Name(emitted, left, OperandNames.Of(binary.Left));
        _code.Name(emitted, right, OperandNames.Of(binary.Right));
    }

    // a .. b .. c is one instruction over neighbouring registers.
    private void Concat(BinaryExpression binary, int target)
    {
        int first = _code.Free;
        var names = new List<OperandName?>();
        Expression operand = binary;
        // Ends: each round goes down the tree.
        while (operand is BinaryExpression { Operator: BinaryOperator.Concat } concat)
        {
            Temporary(concat.Left);
            names.Add(OperandNames.Of(concat.Left));
            operand = concat.Right;
        }

        int last = Temporary(operand);
        names.Add(OperandNames.Of(operand));
        Debug.Assert(last == first + names.Count - 1, "what is concatenated lies side by side");
        int emitted = _code.Emit(binary.Line, Opcode.Concat, target, first, last);
        for (int i = 0; i < names.Count; i++) _code.Name(emitted, first + i, names[i]);
    }

    private void Comparison(BinaryExpression binary, int target)
    {
        var whenTrue = new List<int>();
        Conditions.Branch(binary, when: true, whenTrue);
        _code.Emit(binary.Line, Opcode.LoadFalse, target);
        int end = _code.Emit(binary.Line, Opcode.Jump);
        _code.Land(whenTrue);
        _code.Emit(binary.Line, Opcode.LoadTrue, target);
        _code.Land(end);
    }
}
