namespace Kv.Lua.Syntax;

/// <summary>A local variable: known by name while its block is read, by register when it is compiled.</summary>
internal sealed class LocalVariable(LuaString name)
{
    public LuaString Name { get; } = name;

    /// <summary>Whether a function inside uses it, too: then it lives in a <see cref="Cell"/>.</summary>
    public bool IsCaptured { get; set; }

    public int Register { get; set; }
}

/// <summary>What a function takes from the function around it when it is made: a captured local, or an upvalue of that
/// one.</summary>
internal readonly record struct UpvalueSource(LuaString Name, LocalVariable? Local, int Upvalue);

internal sealed class FunctionBody
{
    public int Line { get; set; }
    public int LastLine { get; set; }
    public List<LocalVariable> Parameters { get; } = [];
    public bool IsVararg { get; set; }

    /// <summary>In Lua 5.1 a vararg function that does not use <c>...</c> has its extra arguments in a local
    /// <c>arg</c>.</summary>
    public bool UsesDots { get; set; }

    public LocalVariable? ArgTable { get; set; }
    public List<UpvalueSource> Upvalues { get; } = [];
    public Statement[] Block { get; set; } = [];
}

/// <summary>An expression; the line is that of its operator, or of its first word.</summary>
internal abstract class Expression(int line)
{
    public int Line { get; } = line;

    /// <summary>Whether it can give more or fewer than one value.</summary>
    public virtual bool IsMulti => false;
}

internal sealed class ConstantExpression(int line, LuaValue value) : Expression(line)
{
    public LuaValue Value { get; } = value;
}

internal sealed class DotsExpression(int line) : Expression(line)
{
    public override bool IsMulti => true;
}

internal sealed class FunctionExpression(int line, FunctionBody body) : Expression(line)
{
    public FunctionBody Body { get; } = body;
}

internal sealed class LocalExpression(int line, LocalVariable variable) : Expression(line)
{
    public LocalVariable Variable { get; } = variable;
}

internal sealed class UpvalueExpression(int line, int index, LuaString name) : Expression(line)
{
    public int Index { get; } = index;
    public LuaString Name { get; } = name;
}

internal sealed class GlobalExpression(int line, LuaString name) : Expression(line)
{
    public LuaString Name { get; } = name;
}

internal sealed class IndexExpression(int line, Expression container, Expression key) : Expression(line)
{
    public Expression Container { get; } = container;
    public Expression Key { get; } = key;
}

internal sealed class CallExpression(int line, Expression function, Expression[] arguments) : Expression(line)
{
    public Expression Function { get; } = function;
    public Expression[] Arguments { get; } = arguments;
    public override bool IsMulti => true;
}

internal sealed class MethodCallExpression(int line, Expression receiver, int nameLine, LuaString name,
    Expression[] arguments) : Expression(line)
{
    /// <summary>Where the method is looked up; the call is in the line in which its arguments begin.</summary>
    public int NameLine { get; } = nameLine;

    public Expression Receiver { get; } = receiver;
    public LuaString Name { get; } = name;
    public Expression[] Arguments { get; } = arguments;
    public override bool IsMulti => true;
}

internal enum BinaryOperator
{
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Concat,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

internal enum UnaryOperator
{
    Negate,
    Not,
    Length,
}

internal sealed class BinaryExpression(int line, BinaryOperator op, Expression left, Expression right)
    : Expression(line)
{
    public BinaryOperator Operator { get; } = op;
    public Expression Left { get; } = left;
    public Expression Right { get; } = right;
}

internal sealed class UnaryExpression(int line, UnaryOperator op, Expression operand) : Expression(line)
{
    public UnaryOperator Operator { get; } = op;
    public Expression Operand { get; } = operand;
}

/// <summary>An expression in parentheses, which cuts it to one value.</summary>
internal sealed class ParenthesizedExpression(int line, Expression inner) : Expression(line)
{
    public Expression Inner { get; } = inner;
}

/// <summary>A field of a constructor; without a key it is the next of the list.</summary>
internal readonly record struct TableField(Expression? Key, Expression Value);

internal sealed class TableExpression(int line, TableField[] fields) : Expression(line)
{
    public TableField[] Fields { get; } = fields;
}

internal abstract class Statement(int line)
{
    public int Line { get; } = line;
}

internal sealed class LocalStatement(int line, List<LocalVariable> variables, Expression[] values) : Statement(line)
{
    public List<LocalVariable> Variables { get; } = variables;
    public Expression[] Values { get; } = values;
}

internal sealed class LocalFunctionStatement(int line, LocalVariable variable, FunctionBody body) : Statement(line)
{
    public LocalVariable Variable { get; } = variable;
    public FunctionBody Body { get; } = body;
}

internal sealed class AssignStatement(int line, Expression[] targets, Expression[] values) : Statement(line)
{
    public Expression[] Targets { get; } = targets;
    public Expression[] Values { get; } = values;
}

internal sealed class CallStatement(int line, Expression call) : Statement(line)
{
    public Expression Call { get; } = call;
}

internal sealed class BlockStatement(int line, Statement[] block) : Statement(line)
{
    public Statement[] Block { get; } = block;
}

internal sealed class WhileStatement(int line, Expression condition, Statement[] block) : Statement(line)
{
    public Expression Condition { get; } = condition;
    public Statement[] Block { get; } = block;
}

internal sealed class RepeatStatement(int line, Statement[] block, Expression condition) : Statement(line)
{
    public Statement[] Block { get; } = block;
    public Expression Condition { get; } = condition;
}

internal readonly record struct ConditionalBlock(Expression? Condition, Statement[] Block);

internal sealed class IfStatement(int line, List<ConditionalBlock> branches) : Statement(line)
{
    public List<ConditionalBlock> Branches { get; } = branches;
}

internal sealed class NumericForStatement(int line, LocalVariable variable, Expression from, Expression to,
    Expression? step, Statement[] block) : Statement(line)
{
    public LocalVariable Variable { get; } = variable;
    public Expression From { get; } = from;
    public Expression To { get; } = to;
    public Expression? Step { get; } = step;
    public Statement[] Block { get; } = block;
}

internal sealed class GenericForStatement(int line, List<LocalVariable> variables, Expression[] values,
    Statement[] block) : Statement(line)
{
    public List<LocalVariable> Variables { get; } = variables;
    public Expression[] Values { get; } = values;
    public Statement[] Block { get; } = block;
}

internal sealed class ReturnStatement(int line, Expression[] values) : Statement(line)
{
    public Expression[] Values { get; } = values;
}

internal sealed class BreakStatement(int line) : Statement(line);
