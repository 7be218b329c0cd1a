using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>Compiles conditions: jumps that are taken when an expression is true, or when it is false.</summary>
internal sealed class ConditionCompiler(FunctionBuilder code, ExpressionCompiler expressions)
{
    /// <summary>Jumps when a condition is true, or when it is false; else goes on with the next instruction.</summary>
    public void Branch(Expression condition, bool when, List<int> jumps)
    {
        code.EnsureDepth(condition.Line);
        int free = code.Free;
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
                if (constant.Value.IsTrue == when) jumps.Add(code.Emit(condition.Line, Opcode.Jump));
                break;
            default:
                var jump = when ? Opcode.JumpIf : Opcode.JumpIfNot;
                jumps.Add(code.Emit(condition.Line, jump, expressions.Operand(condition)));
                break;
        }

        code.FreeFrom(free);
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
        code.Land(skips);
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
        int first = expressions.Operand(left), second = expressions.Operand(right);
        if (op is BinaryOperator.Greater or BinaryOperator.GreaterOrEqual) (first, second) = (second, first);
        return code.Emit(comparison.Line, when ? opcode : opcode + 1, first, second);
    }

    private int Emit(int line, Opcode plain, Opcode withConstant, Expression left, Expression right, bool mayBeConstant)
    {
        int first = expressions.Operand(left);
        if (mayBeConstant)
        {
            int constant = code.Constant(((ConstantExpression)right).Value);
            if (FunctionBuilder.FitsOperand(constant)) return code.Emit(line, withConstant, first, constant);
            if (plain == 0) throw new LuaException($"{code.ChunkName}:{line}: constant table overflow");
        }

        return code.Emit(line, plain, first, expressions.Operand(right));
    }
}
