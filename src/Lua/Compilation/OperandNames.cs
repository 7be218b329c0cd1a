using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>What errors call the values of expressions.</summary>
internal static class OperandNames
{
    private static readonly LuaString Unknown = LuaString.Name("?");

    /// <summary>What an error calls the value of an expression; null: nothing.</summary>
    public static OperandName? Of(Expression expression) => expression switch
    {
        LocalExpression local => new OperandName("local", local.Variable.Name),
        UpvalueExpression upvalue => new OperandName("upvalue", upvalue.Name),
        GlobalExpression global => new OperandName("global", global.Name),
        IndexExpression { Key: ConstantExpression { Value: var key } } when key.AsString is { } name =>
            new OperandName("field", name),
        IndexExpression => new OperandName("field", Unknown),
        ParenthesizedExpression inner => Of(inner.Inner),
        BinaryExpression both when IsReached(both) => Of(both.Right),
        _ => null,
    };

    // Lua 5.1 finds the name by a walk through the code that takes every jump forward. That of "a" in "a and b or c"
    // and in "(a or b) and c" goes to c; all others go past the last operand, which then has no name.
    private static bool IsReached(BinaryExpression both)
    {
        const BinaryOperator and = BinaryOperator.And, or = BinaryOperator.Or;
        var first = Bare(both.Left) as BinaryExpression;
        if (both.Operator is not (and or or) || first?.Operator != (both.Operator == and ? or : and)) return false;
        // Ends: each round is one operand deeper.
        Expression operand = Bare(first.Left);
        while (operand is BinaryExpression { Operator: and or or } deeper)
        {
            if (deeper.Operator != first.Operator) return false;
            operand = Bare(deeper.Left);
        }

        return true;
    }

    private static Expression Bare(Expression expression)
    {
        // Ends: each round is one pair of parentheses deeper.
        while (expression is ParenthesizedExpression inner) expression = inner.Inner;
        return expression;
    }
}
