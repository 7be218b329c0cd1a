using System.Diagnostics;

namespace Kv.Lua.Syntax;

/// <summary>Finds what a text says of its calls of a host's functions: <see cref="LuaCallSurvey"/>.</summary>
/// <remarks>
/// A local that is set once, where it is declared, is what it is set to: <c>local call = redis.call</c>,
/// <c>local key = KEYS[1]</c>, <c>for _, key in ipairs(KEYS)</c>. A parameter of a local function is what all its
/// callers give (<see cref="LocalFunctions"/>). All else that the tables are used for makes the survey incomplete, so
/// it errs on one side only. No recursion is deeper than the parser's. Threads: one.
/// </remarks>
internal sealed class CallSurvey
{
    /// <summary>Of a text that takes more, whose functions call each other very deeply, nothing is said.</summary>
    private const int PassesMax = 8;

    private static readonly LuaString Unpack = LuaString.Name("unpack"), IndexPairs = LuaString.Name("ipairs"),
        Pairs = LuaString.Name("pairs");

    private static readonly HashSet<LuaString> Readers =
        [Unpack, IndexPairs, Pairs, LuaString.Name("next"), LuaString.Name("select"), LuaString.Name("type")];

    private static readonly HashSet<string> ReadingLibraries = ["table.concat", "table.getn", "cjson.encode"];

    // With these a text can run what it does not say.
    private static readonly HashSet<LuaString> Evaluators = SetOf(
        ["load", "loadstring", "_G", "getfenv", "setfenv", "module"]);

    private readonly LuaString _host;
    private readonly LuaString? _values, _registrar;
    private readonly HashSet<LuaString> _functions;
    private readonly LocalFunctions _locals = new();
    private readonly Dictionary<LocalVariable, SurveyMeaning> _meanings = [];
    private readonly Dictionary<FunctionBody, BodyCalls> _found = [];
    private readonly Dictionary<LuaString, List<FunctionBody>> _registered = [];
    private readonly Stack<FunctionBody> _around = [];

    private CallSurvey(FunctionBody text, string host, IReadOnlySet<string> functions, string? values,
        string? registrar)
    {
        _host = LuaString.Name(host);
        _functions = SetOf(functions);
        _values = values == null ? null : LuaString.Name(values);
        _registrar = registrar == null ? null : LuaString.Name(registrar);
        int passes = 0;
        do
        {
            _meanings.Clear();
            _found.Clear();
            _registered.Clear();
            Body(text, areCallersSeen: false);
        }
        while (_locals.BeginPass() && ++passes < PassesMax);

        if (passes == PassesMax) _found[text].IsComplete = false;
    }

    private static HashSet<LuaString> SetOf(IEnumerable<string> words) => [.. words.Select(LuaString.Name)];

    private BodyCalls Here => _found[_around.Peek()];

    public static LuaCallSurvey Of(FunctionBody text, string host, IReadOnlySet<string> functions, string values) =>
        BodyCalls.Reached([text], new CallSurvey(text, host, functions, values, null)._found);

    public static IReadOnlyDictionary<LuaString, LuaCallSurvey> OfRegistered(FunctionBody text, string host,
        IReadOnlySet<string> functions, string registrar)
    {
        var survey = new CallSurvey(text, host, functions, null, registrar);
        return survey._registered.ToDictionary(row => row.Key,
            row => BodyCalls.Reached([text, .. row.Value], survey._found));
    }

    private void Body(FunctionBody body, bool areCallersSeen)
    {
        _found[body] = new BodyCalls();
        _around.Push(body);
        if (areCallersSeen)
            foreach (var parameter in body.Parameters) Mean(parameter, _locals.MeaningOf(parameter));
        Block(body.Block);
        Debug.Assert(_around.Peek() == body, "functions end in the order in which they begin");
        _around.Pop();
    }

    /// <summary>A function that can be run by whoever has its value, as soon as this one has made it.</summary>
    private void FreeBody(FunctionBody body)
    {
        Debug.Assert(_around.Count > 0, "only the text itself is around nothing");
        Here.Callees.Add(body);
        Body(body, areCallersSeen: false);
    }

    private void Block(Statement[] block)
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
                Declare(function.Variable, function.Body);
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
                if (loop is { Values: [CallExpression { Function: GlobalExpression walker, Arguments: [var walked] }] }
                    && (walker.Name.Equals(IndexPairs) || walker.Name.Equals(Pairs)) && loop.Variables.Count == 2)
                    Mean(loop.Variables[1], ElementOf(MeaningOf(walked)));
                Block(loop.Block);
                break;
            case ReturnStatement end:
                foreach (var value in end.Values) Use(value);
                break;
        }
    }

    private void Declare(LocalStatement local)
    {
        for (int i = 0; i < local.Values.Length; i++)
        {
            var value = local.Values[i];
            var variable = i < local.Variables.Count ? local.Variables[i] : null;
            if (variable != null && value is FunctionExpression { Body: var body })
            {
                Declare(variable, body);
                continue;
            }

            var meaning = MeaningOf(value);
            bool isNamed = variable != null && meaning != SurveyMeaning.Other && !_locals.IsChanged(variable);
            // The name stands for it from here on.
            if (isNamed) Mean(variable!, meaning);
            if (!isNamed || meaning == SurveyMeaning.Element) Use(value);
        }
    }

    private void Declare(LocalVariable variable, FunctionBody body)
    {
        _locals.Declare(variable, body);
        if (_locals.Find(variable) == null) FreeBody(body);
        else Body(body, areCallersSeen: true);
    }

    private void Mean(LocalVariable variable, SurveyMeaning meaning)
    {
        if (!_locals.IsChanged(variable)) _meanings[variable] = meaning;
    }

    private void Assign(Expression target)
    {
        switch (target)
        {
            case LocalExpression { Variable: var variable }:
                _locals.Change(variable);
                break;
            case UpvalueExpression upvalue:
                if (VariableOf(upvalue) is { } outer) _locals.Change(outer);
                break;
            case GlobalExpression { Name: var name }:
                if (name.Equals(_values) || name.Equals(_host)) Here.IsComplete = false;
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
                FreeBody(function.Body);
                break;
            case LocalExpression or UpvalueExpression or GlobalExpression:
                if (LocalOf(expression) is { } local) _locals.Escape(local);
                if (MeaningOf(expression) is SurveyMeaning.Values or SurveyMeaning.Function) Here.IsComplete = false;
                if (expression is GlobalExpression { Name: var name }
                    && (name.Equals(_host) || Evaluators.Contains(name))) Here.IsComplete = false;
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
                if (unary.Operator != UnaryOperator.Length || MeaningOf(unary.Operand) != SurveyMeaning.Values)
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
        if (MeaningOf(index) == SurveyMeaning.Function) Here.IsComplete = false;
        bool isNamed = index.Container is GlobalExpression { Name: var name } && name.Equals(_host)
            && index.Key is ConstantExpression { Value.IsString: true };
        if (!isNamed && MeaningOf(index.Container) != SurveyMeaning.Values) Use(index.Container);
        Use(index.Key);
    }

    private void Call(CallExpression call)
    {
        if (MeaningOf(call.Function) == SurveyMeaning.Function)
        {
            var arguments = new LuaCallArgument[call.Arguments.Length];
            for (int i = 0; i < arguments.Length; i++)
                arguments[i] = ArgumentOf(call.Arguments[i], i == arguments.Length - 1);
            Here.Calls.Add(arguments);
            foreach (var argument in call.Arguments) Use(argument);
            return;
        }

        if (MeaningOf(call.Function) == SurveyMeaning.Registrar && TryRegister(call.Arguments)) return;
        if (LocalOf(call.Function) is { } local && _locals.Find(local) is { } body)
        {
            Here.Callees.Add(body);
            Give(body, call.Arguments);
            return;
        }

        bool reads = IsReader(call.Function);
        Use(call.Function);
        foreach (var argument in call.Arguments)
            if (!reads || MeaningOf(argument) != SurveyMeaning.Values) Use(argument);
    }

    /// <summary>Gives the parameters of a function what a call of it has.</summary>
    private void Give(FunctionBody body, Expression[] arguments)
    {
        var parameters = body.Parameters;
        for (int i = 0; i < arguments.Length; i++)
        {
            bool isLast = i == arguments.Length - 1, isOpen = isLast && arguments[i].IsMulti;
            var meaning = isOpen && ArgumentOf(arguments[i], isLast).Kind == LuaArgumentKind.SeveralElements
                ? SurveyMeaning.Element : MeaningOf(arguments[i]);
            for (int at = i; at < parameters.Count && (at == i || isOpen); at++)
                _locals.Give(parameters[at], meaning);
            // The table is followed where the parameter stands for it, whoever calls.
            bool isFollowed = meaning == SurveyMeaning.Values && i < parameters.Count
                && _locals.MeaningOf(parameters[i]) is SurveyMeaning.Values or SurveyMeaning.Unseen;
            if (!isFollowed) Use(arguments[i]);
        }
    }

    /// <summary>Takes note of a function that is given to the host.</summary>
    /// <returns>False when its name, or what it is, is not plain.</returns>
    private bool TryRegister(Expression[] arguments)
    {
        Expression? name = null, function = null;
        if (arguments is [TableExpression table])
        {
            foreach (var field in table.Fields)
            {
                if (field.Key is not ConstantExpression { Value: var key }) return false;
                if (key.AsString?.ToString() == "function_name") name = field.Value;
                else if (key.AsString?.ToString() == "callback" && function == null) function = field.Value;
                else if (key.AsString?.ToString() == "callback") return false;
                else Use(field.Value);
            }
        }
        else if (arguments.Length == 2)
        {
            (name, function) = (arguments[0], arguments[1]);
        }

        if (name is not ConstantExpression { Value.AsString: { } text } || function == null) return false;
        var local = LocalOf(function);
        var body = local == null ? (function as FunctionExpression)?.Body : _locals.Find(local);
        if (body == null) return false;
        for (int i = 0; i < body.Parameters.Count; i++)
            _locals.Give(body.Parameters[i], i == 0 ? SurveyMeaning.Values : SurveyMeaning.Other);
        if (local == null) Body(body, areCallersSeen: true);
        if (!_registered.TryGetValue(text, out var bodies)) _registered[text] = bodies = [];
        bodies.Add(body);
        return true;
    }

    private LuaCallArgument ArgumentOf(Expression argument, bool isLast)
    {
        if (argument is ConstantExpression { Value: var value } && value.ToText() is { } text)
            return new LuaCallArgument(LuaArgumentKind.Constant, text);
        if (MeaningOf(argument) == SurveyMeaning.Element) return new LuaCallArgument(LuaArgumentKind.Element);
        if (!isLast || !argument.IsMulti) return new LuaCallArgument(LuaArgumentKind.Any);
        bool areElements = argument is CallExpression { Function: GlobalExpression { Name: var name } } call
            && name.Equals(Unpack) && call.Arguments.Length > 0
            && MeaningOf(call.Arguments[0]) == SurveyMeaning.Values;
        return new LuaCallArgument(areElements ? LuaArgumentKind.SeveralElements : LuaArgumentKind.Several);
    }

    private SurveyMeaning MeaningOf(Expression expression) => expression switch
    {
        ParenthesizedExpression { Inner: var inner } => MeaningOf(inner),
        GlobalExpression { Name: var name } => name.Equals(_values) ? SurveyMeaning.Values : SurveyMeaning.Other,
        LocalExpression or UpvalueExpression => LocalOf(expression) is { } variable
            ? _meanings.GetValueOrDefault(variable) : SurveyMeaning.Other,
        IndexExpression { Container: GlobalExpression { Name: var host }, Key: ConstantExpression { Value: var key } }
            when host.Equals(_host) && key.AsString is { } function =>
            _functions.Contains(function) ? SurveyMeaning.Function
                : function.Equals(_registrar) ? SurveyMeaning.Registrar : SurveyMeaning.Other,
        IndexExpression { Container: var container } => ElementOf(MeaningOf(container)),
        _ => SurveyMeaning.Other,
    };

    /// <summary>What an element of something is.</summary>
    private static SurveyMeaning ElementOf(SurveyMeaning container) => container switch
    {
        SurveyMeaning.Values => SurveyMeaning.Element,
        SurveyMeaning.Unseen => SurveyMeaning.Unseen,
        _ => SurveyMeaning.Other,
    };

    private static bool IsReader(Expression function) => function switch
    {
        GlobalExpression { Name: var name } => Readers.Contains(name),
        IndexExpression
        {
            Container: GlobalExpression { Name: var library },
            Key: ConstantExpression { Value: var key },
        } => ReadingLibraries.Contains($"{library}.{key}"),
        _ => false,
    };

    /// <summary>The local that an expression names.</summary>
    private LocalVariable? LocalOf(Expression expression) => expression switch
    {
        LocalExpression { Variable: var variable } => variable,
        UpvalueExpression upvalue => VariableOf(upvalue),
        _ => null,
    };

    /// <summary>The local that an upvalue is, of whichever function around.</summary>
    private LocalVariable? VariableOf(UpvalueExpression upvalue)
    {
        Debug.Assert(_around.Count > 0, "an outer variable is used in a function");
        int index = upvalue.Index;
        // Ends: with the outermost function.
        foreach (var body in _around)
        {
            if (index < 0 || index >= body.Upvalues.Count) return null;
            var source = body.Upvalues[index];
            if (source.Local != null) return source.Local;
            index = source.Upvalue;
        }

        return null;
    }
}
