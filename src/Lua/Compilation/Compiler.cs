using System.Runtime.CompilerServices;
using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>Turns the tree of a chunk into code for the machine.</summary>
/// <remarks>
/// Locals have registers of their own; what an expression needs meanwhile is above them. A local that an inner function
/// uses is a <see cref="Cell"/> in its register from its declaration on, so leaving a block has nothing to close.
/// </remarks>
internal sealed class Compiler
{
    private const int ListBatch = 50;

    private readonly string _chunkName;
    private readonly FunctionBuilder _code;

    private Compiler(FunctionBody body, string chunkName)
    {
        _chunkName = chunkName;
        _code = new FunctionBuilder(body, chunkName);
    }

    /// <summary>Compiles a function and all inside of it.</summary>
    /// <exception cref="LuaException">It needs more registers, constants or depth than there can be.</exception>
    public static Prototype Compile(FunctionBody body, string chunkName)
    {
        var compiler = new Compiler(body, chunkName);
        compiler.Function(body);
        return compiler._code.Build();
    }

    private void Function(FunctionBody body)
    {
        foreach (var parameter in body.Parameters) parameter.Register = _code.Take();
        if (body.ArgTable is { } arg && !body.UsesDots)
        {
            arg.Register = _code.Take();
            _code.ArgRegister = arg.Register;
            if (arg.IsCaptured) _code.Emit(body.Line, Opcode.NewCell, arg.Register);
        }
        else if (body.ArgTable is { } unused)
        {
            // With "..." in use there is no table: the name is a local that is nil.
            unused.Register = _code.Take();
            _code.Emit(body.Line, Opcode.LoadNil, unused.Register, unused.Register);
            if (unused.IsCaptured) _code.Emit(body.Line, Opcode.NewCell, unused.Register);
        }

        foreach (var parameter in body.Parameters)
            if (parameter.IsCaptured) _code.Emit(body.Line, Opcode.NewCell, parameter.Register);
        Block(body.Block);
        _code.Emit(body.LastLine, Opcode.Return, 0, 1);
    }

    // A chunk of very many operators in a row is a deep tree: it is refused before the thread's stack is used up.
    private void EnsureDepth(int line)
    {
        if (!RuntimeHelpers.TryEnsureSufficientExecutionStack())
            throw new LuaException($"{_chunkName}:{line}: chunk has too many syntax levels");
    }

    private void Block(List<Statement> block)
    {
        int free = _code.Free;
        foreach (var statement in block) Compile(statement);
        _code.FreeFrom(free);
    }

    private void Compile(Statement statement)
    {
        switch (statement)
        {
            case LocalStatement local: Compile(local); break;
            case AssignStatement assign: Compile(assign); break;
            case CallStatement call: Call(call.Call, 0); break;
            case LocalFunctionStatement function: Compile(function); break;
            case BlockStatement block: Block(block.Block); break;
            case WhileStatement loop: Compile(loop); break;
            case RepeatStatement loop: Compile(loop); break;
            case IfStatement branches: Compile(branches); break;
            case NumericForStatement loop: Compile(loop); break;
            case GenericForStatement loop: Compile(loop); break;
            case ReturnStatement end: Compile(end); break;
            case BreakStatement: _code.Breaks.Peek().Add(_code.Emit(statement.Line, Opcode.Jump)); break;
        }
    }

    private void Compile(LocalStatement local)
    {
        int first = _code.Free;
        Values(local.Line, local.Values, local.Variables.Count);
        for (int i = 0; i < local.Variables.Count; i++) Declare(local.Line, local.Variables[i], first + i);
    }

    /// <summary>Makes a register with a value the local's own.</summary>
    private void Declare(int line, LocalVariable variable, int register)
    {
        variable.Register = register;
        if (variable.IsCaptured) _code.Emit(line, Opcode.NewCell, register);
    }

    private void Compile(LocalFunctionStatement function)
    {
        int register = _code.Take();
        if (!function.Variable.IsCaptured)
        {
            function.Variable.Register = register;
            Closure(function.Line, function.Body, register);
            return;
        }

        _code.Emit(function.Line, Opcode.LoadNil, register, register);
        Declare(function.Line, function.Variable, register);
        int made = _code.Take();
        Closure(function.Line, function.Body, made);
        _code.Emit(function.Line, Opcode.SetCell, made, register);
        _code.FreeFrom(made);
    }

    private void Compile(AssignStatement assign)
    {
        int free = _code.Free;
        if (assign.Targets.Count == 1 && assign.Values.Count == 1)
            AssignOne(assign.Line, assign.Targets[0], assign.Values[0]);
        else AssignMany(assign);
        _code.FreeFrom(free);
    }

    private void AssignOne(int line, Expression target, Expression value)
    {
        if (target is LocalExpression { Variable.IsCaptured: false } local)
        {
            if (WritesLast(value))
            {
                Into(value, local.Variable.Register);
                return;
            }

            int made = _code.Take();
            Into(value, made);
            _code.Emit(line, Opcode.Move, local.Variable.Register, made);
            return;
        }

        var place = PlaceOf(target, copies: false);
        Store(line, place, Operand(value));
    }

    private void AssignMany(AssignStatement assign)
    {
        // All places first, then all values, then the stores, the last first. A local that indexes is copied: it may be
        // assigned, too.
        var places = assign.Targets.ConvertAll(target => PlaceOf(target, copies: true));
        int first = _code.Free;
        Values(assign.Line, assign.Values, assign.Targets.Count);
        for (int i = places.Count - 1; i >= 0; i--) Store(assign.Line, places[i], first + i);
    }

    // Whether the target is written when all operands have been read, so that it may be one of them.
    private static bool WritesLast(Expression value) => value switch
    {
        TableExpression or CallExpression or MethodCallExpression or DotsExpression => false,
        BinaryExpression { Operator: BinaryOperator.And or BinaryOperator.Or } => false,
        ParenthesizedExpression inner => WritesLast(inner.Inner),
        _ => true,
    };

    /// <summary>Where a value is to go: its container and key are in registers.</summary>
    private readonly record struct Place(Expression Target, int Container, int Key, int KeyConstant, int? KeyInteger);

    private Place PlaceOf(Expression target, bool copies)
    {
        if (target is not IndexExpression index) return new Place(target, 0, 0, -1, null);
        int container = copies ? Temporary(index.Container) : Operand(index.Container);
        if (index.Key is ConstantExpression { Value.IsString: true } name)
            return new Place(target, container, 0, _code.Constant(name.Value), null);
        if (IntegerOf(index.Key) is { } integer) return new Place(target, container, 0, -1, integer);
        return new Place(target, container, copies ? Temporary(index.Key) : Operand(index.Key), -1, null);
    }

    private static int? IntegerOf(Expression key) =>
        key is ConstantExpression { Value.IsNumber: true } number && number.Value.Number == (int)number.Value.Number
            ? (int)number.Value.Number : null;

    private void Store(int line, in Place place, int value)
    {
        switch (place.Target)
        {
            case LocalExpression { Variable: { IsCaptured: true } cell }:
                _code.Emit(line, Opcode.SetCell, value, cell.Register);
                break;
            case LocalExpression local: _code.Emit(line, Opcode.Move, local.Variable.Register, value); break;
            case UpvalueExpression upvalue: _code.Emit(line, Opcode.SetUpvalue, value, upvalue.Index); break;
            case GlobalExpression global:
                _code.Emit(line, Opcode.SetGlobal, value, 0, _code.Constant(global.Name));
                break;
            case IndexExpression index:
                int store = place.KeyConstant >= 0
                    ? _code.Emit(line, Opcode.SetField, place.Container, value, place.KeyConstant)
                    : place.KeyInteger is { } integer
                        ? _code.Emit(line, Opcode.SetInteger, place.Container, value, integer)
                    : _code.Emit(line, Opcode.SetIndex, place.Container, value, place.Key);
                _code.Name(store, place.Container, NameOf(index.Container));
                break;
        }
    }

    private void Compile(WhileStatement loop)
    {
        int top = _code.Here;
        var exits = new List<int>();
        Branch(loop.Condition, when: false, exits);
        _code.Breaks.Push(exits);
        Block(loop.Block);
        _code.Emit(loop.Line, Opcode.Loop, 0, 0, top);
        _code.Land(_code.Breaks.Pop());
    }

    private void Compile(RepeatStatement loop)
    {
        int top = _code.Here, free = _code.Free;
        _code.Breaks.Push([]);
        foreach (var statement in loop.Block) Compile(statement);
        var exits = new List<int>();
        Branch(loop.Condition, when: true, exits);
        _code.Emit(loop.Line, Opcode.Loop, 0, 0, top);
        _code.Land(exits);
        _code.FreeFrom(free);
        _code.Land(_code.Breaks.Pop());
    }

    private void Compile(IfStatement branches)
    {
        var ends = new List<int>();
        for (int i = 0; i < branches.Branches.Count; i++)
        {
            var branch = branches.Branches[i];
            var skips = new List<int>();
            if (branch.Condition != null) Branch(branch.Condition, when: false, skips);
            Block(branch.Block);
            if (i < branches.Branches.Count - 1) ends.Add(_code.Emit(branches.Line, Opcode.Jump));
            _code.Land(skips);
        }

        _code.Land(ends);
    }

    private void Compile(NumericForStatement loop)
    {
        int first = _code.Free;
        Temporary(loop.From);
        Temporary(loop.To);
        if (loop.Step != null) Temporary(loop.Step);
        else _code.Emit(loop.Line, Opcode.LoadConstant, _code.Take(), 0, _code.Constant(1));
        int prepare = _code.Emit(loop.Line, Opcode.ForPrepare, first);
        int top = _code.Here;
        Declare(loop.Line, loop.Variable, _code.Take());
        _code.Breaks.Push([]);
        Block(loop.Block);
        _code.Land(prepare);
        _code.Emit(loop.Line, Opcode.ForLoop, first, 0, top);
        _code.Land(_code.Breaks.Pop());
        _code.FreeFrom(first);
    }

    private void Compile(GenericForStatement loop)
    {
        int first = _code.Free;
        Values(loop.Line, loop.Values, 3);
        int start = _code.Emit(loop.Line, Opcode.Jump);
        int top = _code.Here;
        foreach (var variable in loop.Variables) Declare(loop.Line, variable, _code.Take());
        _code.Take(3 - Math.Min(3, loop.Variables.Count));      // room for the call of the iterator
        _code.Breaks.Push([]);
        Block(loop.Block);
        _code.Land(start);
        _code.Emit(loop.Line, Opcode.ForEach, first, loop.Variables.Count);
        _code.Emit(loop.Line, Opcode.ForEachLoop, first, 0, top);
        _code.Land(_code.Breaks.Pop());
        _code.FreeFrom(first);
    }

    private void Compile(ReturnStatement end)
    {
        int free = _code.Free;
        if (end.Values is [CallExpression or MethodCallExpression])
        {
            Call(end.Values[0], TailResults);
        }
        else if (end.Values is [{ IsMulti: false } single])
        {
            _code.Emit(end.Line, Opcode.Return1, Operand(single));
        }
        else
        {
            bool isOpen = OpenValues(end.Values);
            _code.Emit(end.Line, Opcode.Return, free, isOpen ? 0 : end.Values.Count + 1);
        }

        _code.FreeFrom(free);
    }

    /// <summary>Puts values into the next registers, as many as wanted: the last may give several, the rest is
    /// nil.</summary>
    private void Values(int line, List<Expression> values, int wanted)
    {
        int first = _code.Free;
        for (int i = 0; i < values.Count; i++)
        {
            bool isLast = i == values.Count - 1;
            if (isLast && values[i].IsMulti && wanted > i)
            {
                Multi(values[i], wanted - i);
                return;
            }

            if (i < wanted) Temporary(values[i]);
            else Discard(values[i]);
        }

        int missing = wanted - values.Count;
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

    /// <summary>Puts values into the next registers; when the last gives any number, so many that only the machine
    /// knows.</summary>
    /// <returns>Whether it does.</returns>
    private bool OpenValues(List<Expression> values)
    {
        for (int i = 0; i < values.Count; i++)
        {
            if (i == values.Count - 1 && values[i].IsMulti)
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
    private void Multi(Expression expression, int wanted)
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

    private const int TailResults = -2;

    /// <summary>Calls; the results are from the first register on that was free.</summary>
    /// <param name="results">How many are wanted; -1: all; <see cref="TailResults"/>: the call ends the
    /// function.</param>
    private void Call(Expression call, int results)
    {
        EnsureDepth(call.Line);
        int function = _code.Free, fixedArguments = 0;
        string? name;
        List<Expression> arguments;
        if (call is MethodCallExpression method)
        {
            int receiver = Operand(method.Receiver);
            _code.FreeFrom(function);
            _code.Take(2);
            int self = _code.Emit(call.Line, Opcode.Self, function, receiver, _code.Constant(method.Name));
            _code.Name(self, receiver, NameOf(method.Receiver));
            name = $"method '{method.Name}'";
            arguments = method.Arguments;
            fixedArguments = 1;
        }
        else
        {
            var plain = (CallExpression)call;
            Temporary(plain.Function);
            name = NameOf(plain.Function);
            arguments = plain.Arguments;
        }

        bool isOpen = OpenValues(arguments);
        int b = isOpen ? 0 : arguments.Count + fixedArguments + 1;
        int emitted = results == TailResults
            ? _code.Emit(call.Line, Opcode.TailCall, function, b)
            : _code.Emit(call.Line, Opcode.Call, function, b, results + 1);
        _code.Name(emitted, function, name);
        // A host's function has been called like any other: its results are returned here.
        if (results == TailResults) _code.Emit(call.Line, Opcode.Return, function, 0);
        _code.FreeFrom(function);
    }

    private void Closure(int line, FunctionBody body, int target)
    {
        _code.Functions.Add(Compile(body, _chunkName));
        _code.Emit(line, Opcode.MakeClosure, target, 0, _code.Functions.Count - 1);
    }

    /// <summary>A register that has the value: the local's own, or a new one.</summary>
    private int Operand(Expression expression) => expression switch
    {
        LocalExpression { Variable: { IsCaptured: false } local } => local.Register,
        ParenthesizedExpression inner => Operand(inner.Inner),
        _ => Temporary(expression),
    };

    /// <summary>A new register with the value.</summary>
    private int Temporary(Expression expression)
    {
        int register = _code.Take();
        Into(expression, register);
        return register;
    }

    /// <summary>What an error calls the value of an expression; null: nothing.</summary>
    private static string? NameOf(Expression expression) => expression switch
    {
        LocalExpression local => $"local '{local.Variable.Name}'",
        UpvalueExpression upvalue => $"upvalue '{upvalue.Name}'",
        GlobalExpression global => $"global '{global.Name}'",
        IndexExpression { Key: ConstantExpression { Value.IsString: true } key } => $"field '{UpToZero(key.Value)}'",
        IndexExpression => "field '?'",
        ParenthesizedExpression inner => NameOf(inner.Inner),
        _ => null,
    };

    // C's strings end at a zero byte.
    private static string UpToZero(LuaValue name)
    {
        string text = name.ToString();
        int end = text.IndexOf('\0', StringComparison.Ordinal);
        return end < 0 ? text : text[..end];
    }

    private void Into(Expression expression, int target)
    {
        EnsureDepth(expression.Line);
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
            case TableExpression table: Table(table, target); break;
            case UnaryExpression unary: Unary(unary, target); break;
            case BinaryExpression binary: Binary(binary, target); break;
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
        _code.Name(get, container, NameOf(index.Container));
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
        _code.Name(_code.Emit(unary.Line, op, target, operand), operand, NameOf(unary.Operand));
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
            _code.Name(withConstant, left, NameOf(binary.Left));
            return;
        }

        int right = Operand(binary.Right);
        int emitted = _code.Emit(binary.Line, (Opcode)((int)Opcode.Add + (int)binary.Operator), target, left, right);
        _code.Name(emitted, left, NameOf(binary.Left));
        _code.Name(emitted, right, NameOf(binary.Right));
    }

    // a .. b .. c is one instruction over neighbouring registers.
    private void Concat(BinaryExpression binary, int target)
    {
        int first = _code.Free;
        var names = new List<string?>();
        Expression operand = binary;
        // Ends: each round goes down the tree.
        while (operand is BinaryExpression { Operator: BinaryOperator.Concat } concat)
        {
            Temporary(concat.Left);
            names.Add(NameOf(concat.Left));
            operand = concat.Right;
        }

        int last = Temporary(operand);
        names.Add(NameOf(operand));
        int emitted = _code.Emit(binary.Line, Opcode.Concat, target, first, last);
        for (int i = 0; i < names.Count; i++) _code.Name(emitted, first + i, names[i]);
    }

    private void Comparison(BinaryExpression binary, int target)
    {
        var whenTrue = new List<int>();
        Branch(binary, when: true, whenTrue);
        _code.Emit(binary.Line, Opcode.LoadFalse, target);
        int end = _code.Emit(binary.Line, Opcode.Jump);
        _code.Land(whenTrue);
        _code.Emit(binary.Line, Opcode.LoadTrue, target);
        _code.Land(end);
    }

    /// <summary>Jumps when a condition is true, or when it is false; else goes on with the next instruction.</summary>
    private void Branch(Expression condition, bool when, List<int> jumps)
    {
        EnsureDepth(condition.Line);
        int free = _code.Free;
        switch (condition)
        {
            case ParenthesizedExpression inner: Branch(inner.Inner, when, jumps); break;
            case UnaryExpression { Operator: UnaryOperator.Not } not: Branch(not.Operand, !when, jumps); break;
            case BinaryExpression { Operator: BinaryOperator.And or BinaryOperator.Or } both:
                BranchOfBoth(both, when, jumps);
                break;
            case BinaryExpression { Operator: >= BinaryOperator.Equal } comparison:
                jumps.Add(CompareAndJump(comparison, when));
                break;
            case ConstantExpression constant:
                if (constant.Value.IsTrue == when) jumps.Add(_code.Emit(condition.Line, Opcode.Jump));
                break;
            default:
                var jump = when ? Opcode.JumpIf : Opcode.JumpIfNot;
                jumps.Add(_code.Emit(condition.Line, jump, Operand(condition)));
                break;
        }

        _code.FreeFrom(free);
    }

    private void BranchOfBoth(BinaryExpression both, bool when, List<int> jumps)
    {
        // "a and b" jumps for false when either is false; for true when neither is. "or" the other way round.
        bool decides = both.Operator == BinaryOperator.Or;
        if (decides == when)
        {
            Branch(both.Left, when, jumps);
            Branch(both.Right, when, jumps);
            return;
        }

        var skips = new List<int>();
        Branch(both.Left, decides, skips);
        Branch(both.Right, when, jumps);
        _code.Land(skips);
    }

    private int CompareAndJump(BinaryExpression comparison, bool when)
    {
        var (op, left, right) = (comparison.Operator, comparison.Left, comparison.Right);
        if (op is BinaryOperator.Equal or BinaryOperator.NotEqual)
        {
            if (left is ConstantExpression) (left, right) = (right, left);
            bool jumpsWhenEqual = op == BinaryOperator.Equal == when;
            return Emit(comparison.Line, jumpsWhenEqual ? Opcode.JumpEqual : Opcode.JumpNotEqual,
                jumpsWhenEqual ? Opcode.JumpEqualK
                    : Opcode.JumpNotEqualK, left, right, mayBeConstant: right is ConstantExpression);
        }

        if (right is ConstantExpression { Value.IsNumber: true })
        {
            var withConstant = op switch
            {
                BinaryOperator.Less => Opcode.JumpLessK,
                BinaryOperator.LessOrEqual => Opcode.JumpLessOrEqualK,
                BinaryOperator.Greater => Opcode.JumpGreaterK,
                _ => Opcode.JumpGreaterOrEqualK,
            };
            return Emit(comparison.Line, 0, when ? withConstant : withConstant + 1, left, right, mayBeConstant: true);
        }

        var opcode = op is BinaryOperator.Less or BinaryOperator.Greater ? Opcode.JumpLess : Opcode.JumpLessOrEqual;
        int first = Operand(left), second = Operand(right);
        if (op is BinaryOperator.Greater or BinaryOperator.GreaterOrEqual) (first, second) = (second, first);
        return _code.Emit(comparison.Line, when ? opcode : opcode + 1, first, second);
    }

    private int Emit(int line, Opcode plain, Opcode withConstant, Expression left, Expression right, bool mayBeConstant)
    {
        int first = Operand(left);
        if (mayBeConstant)
        {
            int constant = _code.Constant(((ConstantExpression)right).Value);
            if (FunctionBuilder.FitsOperand(constant)) return _code.Emit(line, withConstant, first, constant);
            if (plain == 0) throw new LuaException($"{_chunkName}:{line}: constant table overflow");
        }

        return _code.Emit(line, plain, first, Operand(right));
    }

    private void Table(TableExpression table, int target)
    {
        int list = table.Fields.Count(field => field.Key is null), hash = table.Fields.Count - list;
        _code.Emit(table.Line, Opcode.NewTable, target, Math.Min(list, ushort.MaxValue), hash);
        // The list's values are stored from the registers above the table's own.
        int container = target == _code.Free - 1 ? target : CopyOf(table.Line, target);
        int pending = 0, stored = 0;
        for (int i = 0; i < table.Fields.Count; i++)
        {
            var (key, value) = table.Fields[i];
            if (key != null)
            {
                Field(key, value, container);
                continue;
            }

            if (i == table.Fields.Count - 1 && value.IsMulti)
            {
                Multi(value, -1);
                _code.Emit(table.Line, Opcode.SetList, container, 0, stored);
                _code.FreeFrom(container + 1);
                return;
            }

            Temporary(value);
            if (++pending < ListBatch) continue;
            StoreList(table.Line, container, ref pending, ref stored);
        }

        if (pending > 0) StoreList(table.Line, container, ref pending, ref stored);
    }

    private int CopyOf(int line, int register)
    {
        int copy = _code.Take();
        _code.Emit(line, Opcode.Move, copy, register);
        return copy;
    }

    private void StoreList(int line, int container, ref int pending, ref int stored)
    {
        _code.Emit(line, Opcode.SetList, container, pending, stored);
        _code.FreeFrom(container + 1);
        stored += pending;
        pending = 0;
    }

    private void Field(Expression key, Expression value, int container)
    {
        int free = _code.Free;
        if (key is ConstantExpression { Value.IsString: true } name)
        {
            int constant = _code.Constant(name.Value);
            _code.Emit(value.Line, Opcode.SetField, container, Operand(value), constant);
        }
        else
        {
            int keyRegister = Operand(key);
            _code.Emit(value.Line, Opcode.SetIndex, container, Operand(value), keyRegister);
        }

        _code.FreeFrom(free);
    }
}
