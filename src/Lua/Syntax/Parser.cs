using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Lua.Syntax;

/// <summary>Reads a chunk into a tree, with every name resolved to a local, an upvalue or a global.</summary>
internal ref struct Parser
{
    /// <summary>Expressions, blocks and functions inside of each other: as Lua 5.1 has it.</summary>
    private const int LevelsMax = 200;

    private const int UnaryPriority = 8;

    private readonly string _chunkName;
    private Lexer _lexer;
    // Of the lists that are being read: each takes its end off when it is whole.
    private readonly List<Expression> _expressions = [];
    private readonly List<Statement> _statements = [];
    private readonly List<TableField> _fields = [];
    private FunctionScope _scope;
    private int _levels;

    private Parser(ReadOnlySpan<byte> text, string chunkName, ReadingWatch watch)
    {
        _chunkName = chunkName;
        _lexer = new Lexer(text, chunkName, watch);
        _scope = new FunctionScope(null, new FunctionBody { IsVararg = true, UsesDots = true });
    }

    /// <summary>Reads a whole chunk: the body of a vararg function.</summary>
    /// <exception cref="LuaException">The text is no chunk; the message has place and word.</exception>
    public static FunctionBody Read(ReadOnlySpan<byte> text, string chunkName, ReadingWatch watch)
    {
        var parser = new Parser(text, chunkName, watch);
        parser._lexer.Next();
        var body = parser._scope.Body;
        body.Block = parser.Block();
        body.LastLine = parser._lexer.Line;
        if (parser._lexer.Kind != TokenKind.EndOfText) throw parser.Expected("<eof>");
        Debug.Assert(parser._levels == 0 && parser._scope.Body == body, "all that was entered was left");
        Debug.Assert(parser._expressions.Count + parser._statements.Count + parser._fields.Count == 0,
            "each list has taken its end off");
        return body;
    }

    private readonly LuaException Expected(string word) => _lexer.Error($"'{word}' expected");

    private bool TryTake(TokenKind kind)
    {
        if (_lexer.Kind != kind) return false;
        _lexer.Next();
        return true;
    }

    private void Take(TokenKind kind, string word)
    {
        if (!TryTake(kind)) throw Expected(word);
    }

    private void TakeMatching(TokenKind kind, string word, string opener, int line)
    {
        if (TryTake(kind)) return;
        throw line == _lexer.Line ? Expected(word)
            : _lexer.Error($"'{word}' expected (to close '{opener}' at line {line})");
    }

    private LuaString TakeName()
    {
        if (_lexer.Kind != TokenKind.Name) throw Expected("<name>");
        var name = _lexer.Text;
        _lexer.Next();
        return name;
    }

    private void Enter()
    {
        if (++_levels > LevelsMax)
            throw new LuaException($"{_chunkName}:{_lexer.Line}: chunk has too many syntax levels");
    }

    private void Leave()
    {
        Debug.Assert(_levels > 0, "what is left was entered");
        _levels--;
    }

    private readonly bool IsBlockEnd =>
        _lexer.Kind is TokenKind.Else or TokenKind.ElseIf or TokenKind.End or TokenKind.Until or TokenKind.EndOfText;

    private Statement[] Block()
    {
        Enter();
        _scope.OpenBlock();
        var block = Statements();
        _scope.CloseBlock();
        Leave();
        return block;
    }

    private Statement[] Statements()
    {
        int start = _statements.Count;
        // Ends: each round takes a word at least, or ends.
        while (!IsBlockEnd)
        {
            bool isLast = _lexer.Kind is TokenKind.Return or TokenKind.Break;
            if (Statement() is { } statement) _statements.Add(statement);
            TryTake(TokenKind.Semicolon);
            if (isLast) break;
        }

        return TakeFrom(_statements, start);
    }

    private static T[] TakeFrom<T>(List<T> list, int start)
    {
        Debug.Assert(start >= 0 && start <= list.Count, "a list within a list is taken off first");
        T[] taken = [.. CollectionsMarshal.AsSpan(list)[start..]];
        list.RemoveRange(start, taken.Length);
        return taken;
    }

    private Statement? Statement()
    {
        int line = _lexer.Line;
        switch (_lexer.Kind)
        {
            case TokenKind.If: return If(line);
            case TokenKind.While: return While(line);
            case TokenKind.Do:
                _lexer.Next();
                var inner = Block();
                TakeMatching(TokenKind.End, "end", "do", line);
                return new BlockStatement(line, inner);
            case TokenKind.For: return For(line);
            case TokenKind.Repeat: return Repeat(line);
            case TokenKind.Function: return Function(line);
            case TokenKind.Local:
                _lexer.Next();
                return TryTake(TokenKind.Function) ? LocalFunction(line) : Local(line);
            case TokenKind.Return: return Return(line);
            case TokenKind.Break:
                _lexer.Next();
                if (_scope.Loops == 0) throw _lexer.Error("no loop to break");
                return new BreakStatement(line);
            default: return ExpressionStatement(line);
        }
    }

    private Statement[] LoopBlock()
    {
        _scope.Loops++;
        var block = Block();
        _scope.Loops--;
        Debug.Assert(_scope.Loops >= 0, "loops end in their function");
        return block;
    }

    private IfStatement If(int line)
    {
        var branches = new List<ConditionalBlock>();
        do
        {
            _lexer.Next();
            var condition = Expression();
            Take(TokenKind.Then, "then");
            branches.Add(new ConditionalBlock(condition, Block()));
        }
        while (_lexer.Kind == TokenKind.ElseIf);

        if (TryTake(TokenKind.Else)) branches.Add(new ConditionalBlock(null, Block()));
        TakeMatching(TokenKind.End, "end", "if", line);
        return new IfStatement(line, branches);
    }

    private WhileStatement While(int line)
    {
        _lexer.Next();
        var condition = Expression();
        Take(TokenKind.Do, "do");
        var block = LoopBlock();
        TakeMatching(TokenKind.End, "end", "while", line);
        return new WhileStatement(line, condition, block);
    }

    // The condition sees the locals of the block.
    private RepeatStatement Repeat(int line)
    {
        _lexer.Next();
        Enter();
        _scope.Loops++;
        _scope.OpenBlock();
        var block = Statements();
        _scope.Loops--;
        TakeMatching(TokenKind.Until, "until", "repeat", line);
        var condition = Expression();
        _scope.CloseBlock();
        Leave();
        return new RepeatStatement(line, block, condition);
    }

    private Statement For(int line)
    {
        _lexer.Next();
        var name = TakeName();
        switch (_lexer.Kind)
        {
            case TokenKind.Assign: return NumericFor(line, name);
            case TokenKind.Comma or TokenKind.In: return GenericFor(line, name);
            default: throw _lexer.Error("'=' or 'in' expected");
        }
    }

    private NumericForStatement NumericFor(int line, LuaString name)
    {
        _lexer.Next();
        var from = Expression();
        Take(TokenKind.Comma, ",");
        var to = Expression();
        Expression? step = TryTake(TokenKind.Comma) ? Expression() : null;
        var variable = new LocalVariable(name);
        return new NumericForStatement(line, variable, from, to, step, ForBlock(line, [variable], hidden: 3));
    }

    private GenericForStatement GenericFor(int line, LuaString name)
    {
        var variables = new List<LocalVariable> { new(name) };
        while (TryTake(TokenKind.Comma)) variables.Add(new LocalVariable(TakeName()));
        Take(TokenKind.In, "in");
        line = _lexer.Line;     // an error of the iterator is said to be where its expression begins
        var values = Expressions();
        return new GenericForStatement(line, variables, values, ForBlock(line, variables, hidden: 3));
    }

    /// <param name="hidden">Locals of the loop itself, which count, too.</param>
    private Statement[] ForBlock(int line, List<LocalVariable> variables, int hidden)
    {
        Take(TokenKind.Do, "do");
        _scope.OpenBlock();
        for (int i = 0; i < hidden; i++) Declare(new LocalVariable(LuaString.Empty));
        foreach (var variable in variables) Declare(variable);
        var block = LoopBlock();
        _scope.CloseBlock();
        TakeMatching(TokenKind.End, "end", "for", line);
        return block;
    }

    private void Declare(LocalVariable variable)
    {
        if (!_scope.TryDeclare(variable)) throw TooMany("local variables", 200);
    }

    private readonly LuaException TooMany(string what, int limit)
    {
        int line = _scope.Body.Line;
        string where = line == 0 ? "main function" : $"function at line {line}";
        return _lexer.ErrorAt(_lexer.Line, $"{where} has more than {limit} {what}");
    }

    private AssignStatement Function(int line)
    {
        Debug.Assert(_lexer.Kind == TokenKind.Function, "the word was looked at");
        _lexer.Next();
        Expression target = Name(_lexer.Line, TakeName());
        bool isMethod = false;
        // Ends: each round takes two words.
        while (!isMethod && _lexer.Kind is TokenKind.Dot or TokenKind.Colon)
        {
            isMethod = _lexer.Kind == TokenKind.Colon;
            _lexer.Next();
            int place = _lexer.Line;
            target = new IndexExpression(place, target, new ConstantExpression(place, TakeName()));
        }

        return new AssignStatement(line, [target], [new FunctionExpression(line, Body(line, isMethod))]);
    }

    private LocalFunctionStatement LocalFunction(int line)
    {
        var variable = new LocalVariable(TakeName());
        Declare(variable);
        return new LocalFunctionStatement(line, variable, Body(_lexer.Line, isMethod: false));
    }

    private LocalStatement Local(int line)
    {
        var variables = new List<LocalVariable>();
        do variables.Add(new LocalVariable(TakeName()));
        while (TryTake(TokenKind.Comma));
        Expression[] values = TryTake(TokenKind.Assign) ? Expressions() : [];
        foreach (var variable in variables) Declare(variable);
        return new LocalStatement(line, variables, values);
    }

    private ReturnStatement Return(int line)
    {
        _lexer.Next();
        Expression[] values = IsBlockEnd || _lexer.Kind == TokenKind.Semicolon ? [] : Expressions();
        return new ReturnStatement(line, values);
    }

    private Statement ExpressionStatement(int line)
    {
        var first = Suffixed();
        if (first is CallExpression or MethodCallExpression) return new CallStatement(line, first);
        if (_lexer.Kind is not (TokenKind.Assign or TokenKind.Comma))
        {
            if (first is ParenthesizedExpression) throw _lexer.Error("syntax error");
            throw Expected("=");
        }

        int start = _expressions.Count;
        // Ends: each round takes a word.
        for (var target = first; ; target = Suffixed())
        {
            if (target is not (LocalExpression or UpvalueExpression or GlobalExpression or IndexExpression))
                throw _lexer.Error("syntax error");
            _expressions.Add(target);
            if (!TryTake(TokenKind.Comma)) break;
        }

        var targets = TakeFrom(_expressions, start);
        Take(TokenKind.Assign, "=");
        var values = Expressions();
        return new AssignStatement(_lexer.LineBefore, targets, values);
    }

    private Expression[] Expressions()
    {
        int start = _expressions.Count;
        do _expressions.Add(Expression());
        while (TryTake(TokenKind.Comma));
        return TakeFrom(_expressions, start);
    }

    private Expression Expression() => Expression(0);

    /// <summary>An expression of operators that bind more tightly than a limit.</summary>
    private Expression Expression(int limit)
    {
        Enter();
        Expression left;
        if (UnaryOf(_lexer.Kind) is { } unary)
        {
            _lexer.Next();
            var operand = Expression(UnaryPriority);
            left = Fold(_lexer.LineBefore, unary, operand);
        }
        else
        {
            left = Simple();
        }

        // Ends: each round takes an operator.
        while (BinaryOf(_lexer.Kind) is { } found && found.Left > limit)
        {
            _lexer.Next();
            var right = Expression(found.Right);
            left = Fold(_lexer.LineBefore, found.Operator, left, right);
        }

        Leave();
        return left;
    }

    private static UnaryOperator? UnaryOf(TokenKind kind) => kind switch
    {
        TokenKind.Not => UnaryOperator.Not,
        TokenKind.Minus => UnaryOperator.Negate,
        TokenKind.Hash => UnaryOperator.Length,
        _ => null,
    };

    // Left and right priority; right associative where the right one is lower.
    private static (BinaryOperator Operator, int Left, int Right)? BinaryOf(TokenKind kind) => kind switch
    {
        TokenKind.Plus => (BinaryOperator.Add, 6, 6),
        TokenKind.Minus => (BinaryOperator.Subtract, 6, 6),
        TokenKind.Star => (BinaryOperator.Multiply, 7, 7),
        TokenKind.Slash => (BinaryOperator.Divide, 7, 7),
        TokenKind.Percent => (BinaryOperator.Modulo, 7, 7),
        TokenKind.Caret => (BinaryOperator.Power, 10, 9),
        TokenKind.Concat => (BinaryOperator.Concat, 5, 4),
        TokenKind.NotEqual => (BinaryOperator.NotEqual, 3, 3),
        TokenKind.Equal => (BinaryOperator.Equal, 3, 3),
        TokenKind.Less => (BinaryOperator.Less, 3, 3),
        TokenKind.LessOrEqual => (BinaryOperator.LessOrEqual, 3, 3),
        TokenKind.Greater => (BinaryOperator.Greater, 3, 3),
        TokenKind.GreaterOrEqual => (BinaryOperator.GreaterOrEqual, 3, 3),
        TokenKind.And => (BinaryOperator.And, 2, 2),
        TokenKind.Or => (BinaryOperator.Or, 1, 1),
        _ => null,
    };

    private static Expression Fold(int line, UnaryOperator op, Expression operand)
    {
        if (ConstantOf(operand) is { } constant)
        {
            if (op == UnaryOperator.Negate && constant.Value.IsNumber)
                return new ConstantExpression(line, -constant.Value.Number);
            if (op == UnaryOperator.Not) return new ConstantExpression(line, !constant.Value.IsTrue);
        }

        return new UnaryExpression(line, op, operand);
    }

    // Folds arithmetic of numbers, but for what is no number or divides by zero, and "and" and "or" that a constant
    // does not decide: as Lua 5.1 does, whose errors name what is left.
    private static Expression Fold(int line, BinaryOperator op, Expression left, Expression right)
    {
        if (ConstantOf(left) is not { } first) return new BinaryExpression(line, op, left, right);
        if (op == (first.Value.IsTrue ? BinaryOperator.And : BinaryOperator.Or))
            return right.IsMulti ? new ParenthesizedExpression(line, right) : right;
        if (op <= BinaryOperator.Power && first.Value.IsNumber
            && ConstantOf(right) is { Value.IsNumber: true } second
            && !(op is BinaryOperator.Divide or BinaryOperator.Modulo && second.Value.Number == 0))
        {
            double result = Arithmetic.Apply(op, first.Value.Number, second.Value.Number);
            if (!double.IsNaN(result)) return new ConstantExpression(line, result);
        }

        return new BinaryExpression(line, op, left, right);
    }

    private static ConstantExpression? ConstantOf(Expression expression)
    {
        // Ends: each round is one pair of parentheses deeper.
        while (expression is ParenthesizedExpression inner) expression = inner.Inner;
        return expression as ConstantExpression;
    }

    private Expression Simple()
    {
        int line = _lexer.Line;
        switch (_lexer.Kind)
        {
            case TokenKind.Number:
                double number = _lexer.Number;
                _lexer.Next();
                return new ConstantExpression(line, number);
            case TokenKind.String:
                var text = _lexer.Text;
                _lexer.Next();
                return new ConstantExpression(line, text);
            case TokenKind.Nil: return Constant(line, LuaValue.Nil);
            case TokenKind.True: return Constant(line, LuaValue.True);
            case TokenKind.False: return Constant(line, LuaValue.False);
            case TokenKind.Dots:
                if (!_scope.Body.IsVararg) throw _lexer.Error("cannot use '...' outside a vararg function");
                _scope.Body.UsesDots = true;
                _lexer.Next();
                return new DotsExpression(line);
            case TokenKind.LeftBrace: return Table();
            case TokenKind.Function:
                _lexer.Next();
                return new FunctionExpression(line, Body(line, isMethod: false));
            default: return Suffixed();
        }
    }

    private ConstantExpression Constant(int line, LuaValue value)
    {
        _lexer.Next();
        return new ConstantExpression(line, value);
    }

    private Expression Primary()
    {
        int line = _lexer.Line;
        if (_lexer.Kind == TokenKind.Name) return Name(line, TakeName());
        if (_lexer.Kind != TokenKind.LeftParenthesis) throw _lexer.Error("unexpected symbol");
        _lexer.Next();
        var inner = Expression();
        TakeMatching(TokenKind.RightParenthesis, ")", "(", line);
        return new ParenthesizedExpression(line, inner);
    }

    private readonly Expression Name(int line, LuaString name)
    {
        if (_scope.FindLocal(name) is { } local) return new LocalExpression(line, local);
        if (!_scope.TryFindUpvalue(name, out int upvalue)) throw TooMany("upvalues", 60);
        return upvalue >= 0 ? new UpvalueExpression(line, upvalue, name) : new GlobalExpression(line, name);
    }

    private Expression Suffixed()
    {
        var expression = Primary();
        // Ends: each round takes a word.
        while (true)
        {
            int line = _lexer.Line;
            switch (_lexer.Kind)
            {
                case TokenKind.Dot:
                    _lexer.Next();
                    var field = TakeName();
                    expression = new IndexExpression(_lexer.LineBefore, expression,
                        new ConstantExpression(line, field));
                    break;
                case TokenKind.LeftBracket:
                    _lexer.Next();
                    var key = Expression();
                    key = ConstantOf(key) ?? key;
                    Take(TokenKind.RightBracket, "]");
                    expression = new IndexExpression(_lexer.LineBefore, expression, key);
                    break;
                case TokenKind.Colon:
                    _lexer.Next();
                    var name = TakeName();
                    int nameLine = _lexer.LineBefore;
                    line = _lexer.Line;
                    expression = new MethodCallExpression(line, expression, nameLine, name, Arguments());
                    break;
                case TokenKind.LeftParenthesis or TokenKind.String or TokenKind.LeftBrace:
                    expression = new CallExpression(line, expression, Arguments());
                    break;
                default: return expression;
            }
        }
    }

    private Expression[] Arguments()
    {
        int line = _lexer.Line;
        switch (_lexer.Kind)
        {
            case TokenKind.String:
                var text = _lexer.Text;
                _lexer.Next();
                return [new ConstantExpression(line, text)];
            case TokenKind.LeftBrace: return [Table()];
            case TokenKind.LeftParenthesis:
                // A call and a new statement that begins with a parenthesis look the same.
                if (line != _lexer.LineBefore) throw _lexer.Error("ambiguous syntax (function call x new statement)");
                _lexer.Next();
                Expression[] arguments = _lexer.Kind == TokenKind.RightParenthesis ? [] : Expressions();
                TakeMatching(TokenKind.RightParenthesis, ")", "(", line);
                return arguments;
            default: throw _lexer.Error("function arguments expected");
        }
    }

    private TableExpression Table()
    {
        int line = _lexer.Line;
        Take(TokenKind.LeftBrace, "{");
        int start = _fields.Count;
        while (_lexer.Kind != TokenKind.RightBrace)
        {
            _fields.Add(Field());
            if (!TryTake(TokenKind.Comma) && !TryTake(TokenKind.Semicolon)) break;
        }

        TakeMatching(TokenKind.RightBrace, "}", "{", line);
        return new TableExpression(line, TakeFrom(_fields, start));
    }

    private TableField Field()
    {
        int line = _lexer.Line;
        if (_lexer.Kind == TokenKind.LeftBracket)
        {
            _lexer.Next();
            var key = Expression();
            Take(TokenKind.RightBracket, "]");
            Take(TokenKind.Assign, "=");
            return new TableField(key, Expression());
        }

        if (_lexer.Kind != TokenKind.Name || _lexer.Peek() != TokenKind.Assign)
            return new TableField(null, Expression());
        var name = new ConstantExpression(line, TakeName());
        _lexer.Next();
        return new TableField(name, Expression());
    }

    private FunctionBody Body(int line, bool isMethod)
    {
        var body = new FunctionBody { Line = line };
        _scope = new FunctionScope(_scope, body);
        _scope.OpenBlock();
        if (isMethod) DeclareParameter(body, CommonStrings.Add("self"));
        Take(TokenKind.LeftParenthesis, "(");
        if (_lexer.Kind != TokenKind.RightParenthesis) Parameters(body);
        Take(TokenKind.RightParenthesis, ")");
        body.Block = Block();
        body.LastLine = _lexer.Line;
        TakeMatching(TokenKind.End, "end", "function", line);
        _scope.CloseBlock();
        Debug.Assert(_scope.Body == body && _scope.Loops == 0, "functions and loops nest");
        _scope = _scope.Outer!;
        return body;
    }

    private void DeclareParameter(FunctionBody body, LuaString name)
    {
        var parameter = new LocalVariable(name);
        Declare(parameter);
        body.Parameters.Add(parameter);
    }

    private void Parameters(FunctionBody body)
    {
        do
        {
            if (TryTake(TokenKind.Dots))
            {
                body.IsVararg = true;
                body.ArgTable = new LocalVariable(CommonStrings.Add("arg"));
                Declare(body.ArgTable);
                return;
            }

            if (_lexer.Kind != TokenKind.Name) throw _lexer.Error("<name> or '...' expected");
            DeclareParameter(body, TakeName());
        }
        while (TryTake(TokenKind.Comma));
    }
}
