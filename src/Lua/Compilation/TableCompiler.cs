using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>Compiles table constructors.</summary>
internal sealed class TableCompiler(FunctionBuilder code, ExpressionCompiler expressions)
{
    /// <summary>Values of a list that are stored at once.</summary>
    private const int ListBatch = 50;

    public void Table(TableExpression table, int target)
    {
        int list = table.Fields.Count(field => field.Key is null), hash = table.Fields.Length - list;
        code.Emit(table.Line, Opcode.NewTable, target, Math.Min(list, ushort.MaxValue), hash);
        // The list's values are stored from the registers above the table's own.
        int container = target == code.Free - 1 ? target : CopyOf(table.Line, target);
        int pending = 0, stored = 0;
        for (int i = 0; i < table.Fields.Length; i++)
        {
            var (key, value) = table.Fields[i];
            if (key != null)
            {
                Field(key, value, container);
                continue;
            }

            if (i == table.Fields.Length - 1 && value.IsMulti)
            {
                expressions.Multi(value, -1);
                code.Emit(table.Line, Opcode.SetList, container, 0, stored);
                code.FreeFrom(container + 1);
                return;
            }

            expressions.Temporary(value);
            if (++pending < ListBatch) continue;
            StoreList(table.Line, container, ref pending, ref stored);
        }

        if (pending > 0) StoreList(table.Line, container, ref pending, ref stored);
    }

    private int CopyOf(int line, int register)
    {
        int copy = code.Take();
        code.Emit(line, Opcode.Move, copy, register);
        return copy;
    }

    private void StoreList(int line, int container, ref int pending, ref int stored)
    {
        code.Emit(line, Opcode.SetList, container, pending, stored);
        code.FreeFrom(container + 1);
        stored += pending;
        pending = 0;
    }

    private void Field(Expression key, Expression value, int container)
    {
        int free = code.Free;
        if (key is ConstantExpression { Value.IsString: true } name)
        {
            int constant = code.Constant(name.Value);
            code.Emit(value.Line, Opcode.SetField, container, expressions.Operand(value), constant);
        }
        else
        {
            int keyRegister = expressions.Operand(key);
            code.Emit(value.Line, Opcode.SetIndex, container, expressions.Operand(value), keyRegister);
        }

        code.FreeFrom(free);
    }
}
