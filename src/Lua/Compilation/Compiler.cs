using System.Diagnostics;
using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>Turns the tree of a chunk into code for the machine: functions and statements.</summary>
/// <remarks>
/// Locals have registers of their own; what an expression needs meanwhile is above them. A local that an inner function
/// uses is a <see cref="Cell"/> in its register from its declaration on, so leaving a block has nothing to close.
/// </remarks>
internal sealed class Compiler
{
    private readonly FunctionBuilder _code;
    private readonly ExpressionCompiler _expressions;

    private Compiler(FunctionBody body, string chunkName)
    {
        _code = new FunctionBuilder(body, chunkName);
        _expressions = new ExpressionCompiler(_code);
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
        Debug.Assert(_code.Free == body.Parameters.Count, "parameters are the first registers");
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

    private void Block(Statement[] block)
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
            case CallStatement call: _expressions.Call(call.Call, 0); break;
            case LocalFunctionStatement function: Compile(function); break;
            case BlockStatement block: Block(block.Block); break;
            case WhileStatement loop: Compile(loop); break;
            case RepeatStatement loop: Compile(loop); break;
            case IfStatement branches: Compile(branches); break;
            case NumericForStatement loop: Compile(loop); break;
            case GenericForStatement loop: Compile(loop); break;
            case ReturnStatement end: Compile(end); break;
            case BreakStatement: _code.Breaks.Peek().Add(_code.Emit(statement.Line, Opcode.Jump)); break;
            default: Debug.Fail("a statement of a new kind is compiled here"); break;
        }
    }

    private void Compile(LocalStatement local)
    {
        int first = _code.Free;
        _expressions.Values(local.Line, local.Values, local.Variables.Count);
        Debug.Assert(_code.Free == first + local.Variables.Count, "each variable has its register");
        for (int i = 0; i < local.Variables.Count; i++) Declare(local.Line, local.Variables[i], first + i);
    }

    /// <summary>Makes a register with a value the local's own.</summary>
    private void Declare(int line, LocalVariable variable, int register)
    {
        Debug.Assert(register < _code.Free, "the register was taken");
        variable.Register = register;
        if (variable.IsCaptured) _code.Emit(line, Opcode.NewCell, register);
    }

    private void Compile(LocalFunctionStatement function)
    {
        int register = _code.Take();
        if (!function.Variable.IsCaptured)
        {
            function.Variable.Register = register;
            _expressions.Closure(function.Line, function.Body, register);
            return;
        }

        _code.Emit(function.Line, Opcode.LoadNil, register, register);
        Declare(function.Line, function.Variable, register);
        int made = _code.Take();
        _expressions.Closure(function.Line, function.Body, made);
        _code.Emit(function.Line, Opcode.SetCell, made, register);
        _code.FreeFrom(made);
    }

    private void Compile(AssignStatement assign)
    {
        int free = _code.Free;
        if (assign.Targets.Length == 1 && assign.Values.Length == 1)
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
                _expressions.Into(value, local.Variable.Register);
                return;
            }

            int made = _code.Take();
            _expressions.Into(value, made);
            _code.Emit(line, Opcode.Move, local.Variable.Register, made);
            return;
        }

        var place = PlaceOf(target, copies: false);
        Store(line, place, _expressions.Operand(value));
    }

    private void AssignMany(AssignStatement assign)
    {
        // All places first, then all values, then the stores, the last first. A local that indexes is copied: it may be
        // assigned, too.
        var places = Array.ConvertAll(assign.Targets, target => PlaceOf(target, copies: true));
        int first = _code.Free;
        _expressions.Values(assign.Line, assign.Values, assign.Targets.Length);
        Debug.Assert(_code.Free == first + places.Length, "each place has its value");
        for (int i = places.Length - 1; i >= 0; i--) Store(assign.Line, places[i], first + i);
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
        int container = copies ? _expressions.Temporary(index.Container) : _expressions.Operand(index.Container);
        if (index.Key is ConstantExpression { Value.IsString: true } name)
            return new Place(target, container, 0, _code.Constant(name.Value), null);
        if (ExpressionCompiler.IntegerOf(index.Key) is { } integer) return new Place(target, container, 0, -1, integer);
        return new Place(target, container,
            copies ? _expressions.Temporary(index.Key) : _expressions.Operand(index.Key), -1, null);
    }

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
                _code.Name(store, place.Container, OperandNames.Of(index.Container));
                break;
        }
    }

    private void Compile(WhileStatement loop)
    {
        int top = _code.Here;
        var exits = new List<int>();
        _expressions.Conditions.Branch(loop.Condition, when: false, exits);
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
        _expressions.Conditions.Branch(loop.Condition, when: true, exits);
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
            if (branch.Condition != null) _expressions.Conditions.Branch(branch.Condition, when: false, skips);
            Block(branch.Block);
            if (i < branches.Branches.Count - 1) ends.Add(_code.Emit(branches.Line, Opcode.Jump));
            _code.Land(skips);
        }

        _code.Land(ends);
    }

    private void Compile(NumericForStatement loop)
    {
        int first = _code.Free;
        _expressions.Temporary(loop.From);
        _expressions.Temporary(loop.To);
        if (loop.Step != null) _expressions.Temporary(loop.Step);
        else _code.Emit(loop.Line, Opcode.LoadConstant, _code.Take(), 0, _code.Constant(1));
        Debug.Assert(_code.Free == first + 3, "a numeric loop has three values of its own");
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
        _expressions.Values(loop.Line, loop.Values, 3);
        Debug.Assert(_code.Free == first + 3, "a generic loop has three values of its own");
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
            _expressions.Call(end.Values[0], ExpressionCompiler.TailResults);
        }
        else if (end.Values is [{ IsMulti: false } single])
        {
            _code.Emit(end.Line, Opcode.Return1, _expressions.Operand(single));
        }
        else
        {
            bool isOpen = _expressions.OpenValues(end.Values);
            _code.Emit(end.Line, Opcode.Return, free, isOpen ? 0 : end.Values.Length + 1);
        }

        _code.FreeFrom(free);
    }
}
