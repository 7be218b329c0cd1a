namespace Kv.Lua.Syntax;

/// <summary>Finds what a text says of its calls of a host's functions: <see cref="LuaCallSurvey"/>.</summary>
/// <remarks>
/// A local that is set once, where it is declared, is what it is set to: <c>local call = redis.call</c>,
/// <c>local key = KEYS[1]</c>, <c>for _, key in ipairs(KEYS)</c>. All else that the tables are used for makes the
/// survey incomplete, so it errs on one side only. No recursion is deeper than the parser's. Threads: one.
/// </remarks>
internal sealed class CallSurvey
{
    private enum Meaning
    {
        Other,
        Element,
        Values,
        Function,
    }

    private static readonly HashSet<string> Readers = ["unpack", "ipairs", "pairs", "next", "select", "type"];
    private static readonly HashSet<string> ReadingLibraries = ["table.concat", "table.getn", "cjson.encode"];

    // With these a text can run what it does not say.
    private static readonly HashSet<string> Evaluators = ["load", "loadstring", "_G", "getfenv", "setfenv", "module"];

    private readonly string _host, _values;
    private readonly IReadOnlySet<string> _functions;
    private readonly HashSet<LocalVariable> _changed = [];
    private readonly Dictionary<LocalVariable, Meaning> _meanings = [];
    private readonly Stack<FunctionBody> _bodies = [];
    private readonly List<IReadOnlyList<LuaCallArgument>> _calls = [];
    private bool _isComplete = true, _isFindingChanges;

    private CallSurvey(string host, IReadOnlySet<string> functions, string values)
    {
        _host = host;
        _functions = functions;
        _values = values;
    }

    public static LuaCallSurvey Of(FunctionBody body, string host, IReadOnlySet<string> functions, string values)
    {
        var survey = new CallSurvey(host, functions, values) { _isFindingChanges = true };
        survey.Body(body);
        survey._isFindingChanges = false;
        survey._isComplete = true;
        survey._calls.Clear();
        survey.Body(body);
        return new LuaCallSurvey(survey._isComplete, survey._calls);
    }

    private void Body(FunctionBody body)
    {
        _bodies.Push(body);
        Block(body.Block);
        _bodies.Pop();
    }

    private void Block(List<Statement> block)
    {
        foreach (var statement in block) Run(statement);
    }

    private void Run(Statement statement)
    {
        switch (statement)
        {
            case LocalStatement local:
                Declare(local);
                break;
            case LocalFunctionStatement function:
                Body(function.Body);
                break;
            case AssignStatement assign:
                foreach (var value in assign.Values) Use(value);
                foreach (var target in assign.Targets) Assign(target);
                break;
            case CallStatement call:
                Use(call.Call);
                break;
            case BlockStatement block:
                Block(block.Block);
                break;
            case WhileStatement loop:
                Use(loop.Condition);
                Block(loop.Block);
                break;
            case RepeatStatement loop:
                Block(loop.Block);
                Use(loop.Condition);
                break;
            case IfStatement branches:
                foreach (var branch in branches.Branches)
                {
                    if (branch.Condition != null) Use(branch.Condition);
                    Block(branch.Block);
                }

                break;
            case NumericForStatement loop:
                Use(loop.From);
                Use(loop.To);
                if (loop.Step != null) Use(loop.Step);
                Block(loop.Block);
                break;
            case GenericForStatement loop:
                foreach (var value in loop.Values) Use(value);
                if (loop is { Values: [CallExpression { Function: GlobalExpression { Name: var walker } } walk] }
                    && walker.ToString() is "ipairs" or "pairs" && loop.Values[0] is CallExpression
                    { Arguments: [var walked] } && MeaningOf(walked) == Meaning.Values && loop.Variables.Count == 2)
                    Mean(loop.Variables[1], Meaning.Element);
                Block(loop.Block);
                break;
            case ReturnStatement end:
                foreach (var value in end.Values) Use(value);
                break;
        }
    }

    private void Declare(LocalStatement local)
    {
        for (int i = 0; i < local.Values.Count; i++)
        {
            var value = local.Values[i];
            var meaning = MeaningOf(value);
            bool isNamed = i < local.Variables.Count && meaning != Meaning.Other
                && !_changed.Contains(local.Variables[i]);
            // The name stands for it from here on.
            if (isNamed) Mean(local.Variables[i], meaning);
            if (!isNamed || meaning == Meaning.Element) Use(value);
        }
    }

    private void Mean(LocalVariable variable, Meaning meaning)
    {
        if (!_isFindingChanges && !_changed.Contains(variable)) _meanings[variable] = meaning;
    }

    private void Assign(Expression target)
    {
        switch (target)
        {
            case LocalExpression { Variable: var variable }:
                _changed.Add(variable);
                break;
            case UpvalueExpression upvalue:
                if (VariableOf(upvalue) is { } outer) _changed.Add(outer);
                break;
            case GlobalExpression { Name: var name }:
                if (name.ToString() == _values || name.ToString() == _host) _isComplete = false;
                break;
            case IndexExpression index:
                // Also where it is a table of the script's own that has an element: that is its own affair.
                Use(index.Container);
                Use(index.Key);
                break;
        }
    }

    /// <summary>An expression whose value goes anywhere.</summary>
    private void Use(Expression expression)
    {
        switch (expression)
        {
            case FunctionExpression function:
                Body(function.Body);
                break;
            case LocalExpression or UpvalueExpression or GlobalExpression:
                if (MeaningOf(expression) is Meaning.Values or Meaning.Function) _isComplete = false;
                if (expression is GlobalExpression { Name: var name }
                    && (name.ToString() == _host || Evaluators.Contains(name.ToString()))) _isComplete = false;
                break;
            case IndexExpression index:
                UseIndex(index);
                break;
            case CallExpression call:
                Call(call);
                break;
            case MethodCallExpression call:
                Use(call.Receiver);
                foreach (var argument in call.Arguments) Use(argument);
                break;
            case BinaryExpression binary:
                Use(binary.Left);
                Use(binary.Right);
                break;
            case UnaryExpression unary:
                if (unary.Operator != UnaryOperator.Length || MeaningOf(unary.Operand) != Meaning.Values)
                    Use(unary.Operand);
                break;
            case ParenthesizedExpression { Inner: var inner }:
                Use(inner);
                break;
            case TableExpression table:
                foreach (var field in table.Fields)
                {
                    if (field.Key != null) Use(field.Key);
                    Use(field.Value);
                }

                break;
        }
    }

    private void UseIndex(IndexExpression index)
    {
        // A function of the host that is not called here and now might be called anywhere, with anything.
        if (MeaningOf(index) == Meaning.Function) _isComplete = false;
        bool isNamed = index.Container is GlobalExpression { Name: var name } && name.ToString() == _host
            && index.Key is ConstantExpression { Value.IsString: true };
        if (!isNamed && MeaningOf(index.Container) != Meaning.Values) Use(index.Container);
        Use(index.Key);
    }

    private void Call(CallExpression call)
    {
        if (MeaningOf(call.Function) == Meaning.Function)
        {
            var arguments = new LuaCallArgument[call.Arguments.Count];
            for (int i = 0; i < arguments.Length; i++)
                arguments[i] = ArgumentOf(call.Arguments[i], i == arguments.Length - 1);
            _calls.Add(arguments);
            foreach (var argument in call.Arguments) Use(argument);
            return;
        }

        bool reads = IsReader(call.Function);
        Use(call.Function);
        foreach (var argument in call.Arguments)
            if (!reads || MeaningOf(argument) != Meaning.Values) Use(argument);
    }

    private LuaCallArgument ArgumentOf(Expression argument, bool isLast)
    {
        if (argument is ConstantExpression { Value: var value } && value.ToText() is { } text)
            return new LuaCallArgument(LuaArgumentKind.Constant, text);
        if (MeaningOf(argument) == Meaning.Element) return new LuaCallArgument(LuaArgumentKind.Element);
        if (!isLast || !argument.IsMulti) return new LuaCallArgument(LuaArgumentKind.Any);
        bool areElements = argument is CallExpression { Function: GlobalExpression { Name: var name } } call
            && name.ToString() == "unpack" && call.Arguments.Count > 0
            && MeaningOf(call.Arguments[0]) == Meaning.Values;
        return new LuaCallArgument(areElements ? LuaArgumentKind.SeveralElements : LuaArgumentKind.Several);
    }

    private Meaning MeaningOf(Expression expression) => expression switch
    {
        ParenthesizedExpression { Inner: var inner } => MeaningOf(inner),
        GlobalExpression { Name: var name } => name.ToString() == _values ? Meaning.Values : Meaning.Other,
        LocalExpression { Variable: var variable } => _meanings.GetValueOrDefault(variable),
        UpvalueExpression upvalue => VariableOf(upvalue) is { } variable
            ? _meanings.GetValueOrDefault(variable) : Meaning.Other,
        IndexExpression { Container: GlobalExpression { Name: var host }, Key: ConstantExpression { Value: var key } }
            when host.ToString() == _host && key.AsString is { } function =>
            _functions.Contains(function.ToString()) ? Meaning.Function : Meaning.Other,
        IndexExpression { Container: var container } when MeaningOf(container) == Meaning.Values => Meaning.Element,
        _ => Meaning.Other,
    };

    private static bool IsReader(Expression function) => function switch
    {
        GlobalExpression { Name: var name } => Readers.Contains(name.ToString()),
        IndexExpression
        {
            Container: GlobalExpression { Name: var library },
            Key: ConstantExpression { Value: var key },
        } => ReadingLibraries.Contains($"{library}.{key}"),
        _ => false,
    };

    /// <summary>The local that an upvalue is, of whichever function around.</summary>
    private LocalVariable? VariableOf(UpvalueExpression upvalue)
    {
        int index = upvalue.Index;
        // Ends: with the outermost function.
        foreach (var body in _bodies)
        {
            if (index < 0 || index >= body.Upvalues.Count) return null;
            var source = body.Upvalues[index];
            if (source.Local != null) return source.Local;
            index = source.Upvalue;
        }

        return null;
    }
}
