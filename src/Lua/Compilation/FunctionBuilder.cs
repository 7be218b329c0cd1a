using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Lua.Syntax;

namespace Kv.Lua.Compilation;

/// <summary>The code of a function while it is written: instructions, constants, registers.</summary>
internal sealed class FunctionBuilder(FunctionBody body, string chunkName)
{
    public const int RegistersMax = 250;
    private const int ConstantsMax = 1 << 26, OperandMax = ushort.MaxValue;

    private readonly List<Instruction> _code = [];
    private readonly List<int> _lines = [];
    private readonly List<LuaValue> _constants = [];
    private readonly Dictionary<double, int> _numbers = [];
    private readonly Dictionary<LuaString, int> _strings = [];
    private readonly Dictionary<int, OperandName> _names = [];
    private int _most;

    public FunctionBody Body { get; } = body;

    /// <summary>As errors name the chunk.</summary>
    public string ChunkName { get; } = chunkName;

    public List<Prototype> Functions { get; } = [];

    /// <summary>The first free register.</summary>
    public int Free { get; private set; }

    /// <summary>Jumps of break statements that wait for the end of their loop, innermost last.</summary>
    public Stack<List<int>> Breaks { get; } = new();

    public int ArgRegister { get; set; } = -1;

    /// <summary>Where the next instruction will be.</summary>
    public int Here => _code.Count;

    /// <summary>A chunk of very many operators in a row is a deep tree: it is refused before the thread's stack is used
    /// up.</summary>
    public void EnsureDepth(int line)
    {
        if (!RuntimeHelpers.TryEnsureSufficientExecutionStack())
            throw new LuaException($"{ChunkName}:{line}: chunk has too many syntax levels");
    }

    /// <summary>Takes registers.</summary>
    /// <returns>The first of them.</returns>
    public int Take(int count = 1)
    {
        int first = Free;
        Debug.Assert(count >= 0, "registers are counted");
        Free += count;
        int line = _lines.Count > 0 ? _lines[^1] : Body.Line;
        if (Free > RegistersMax) throw new LuaException($"{ChunkName}:{line}: function or expression too complex");
        _most = Math.Max(_most, Free);
        return first;
    }

    /// <summary>Gives back all registers from one on.</summary>
    public void FreeFrom(int register)
    {
        Debug.Assert(register >= 0 && register <= Free, "only what was taken is given back");
        Free = register;
    }

    public int Emit(int line, Opcode op, int a = 0, int b = 0, int c = 0)
    {
        Debug.Assert((uint)a <= byte.MaxValue, "a register has eight bits");
        if ((uint)b > OperandMax) throw new LuaException($"{ChunkName}:{line}: constant table overflow");
        _code.Add(new Instruction(op, a, b, c));
        _lines.Add(line);
        return _code.Count - 1;
    }

    /// <summary>Says what an error of an instruction calls the value of a register.</summary>
    public void Name(int instruction, int register, OperandName? name)
    {
        Debug.Assert((uint)instruction < (uint)Here && register < RegistersMax, "there is such an operand");
        if (name is { } known) _names[Prototype.NameKey(instruction, register)] = known;
    }

    /// <summary>Lets a jump go to the next instruction.</summary>
    public void Land(int jump) => LandAt(jump, Here);

    public void LandAt(int jump, int target)
    {
        Debug.Assert((uint)jump < (uint)Here && (uint)target <= (uint)Here, "a jump is in the code, and stays in it");
        Instruction instruction = _code[jump];
        instruction.C = target;
        _code[jump] = instruction;
    }

    public void Land(List<int> jumps)
    {
        foreach (int jump in jumps) Land(jump);
    }

    /// <summary>A constant's place; equal constants share one (0 and -0, too, as in Lua 5.1).</summary>
    public int Constant(LuaValue value)
    {
        if (_constants.Count == ConstantsMax) throw new LuaException($"{ChunkName}: constant table overflow");
        if (value.IsNumber && !double.IsNaN(value.Number)) return PlaceOf(_numbers, value.Number, value);
        // Its hash is known from here on (LuaTable.FindConstant).
        if (value.AsString is { } text) return PlaceOf(_strings, text, value);
        _constants.Add(value);
        return _constants.Count - 1;
    }

    /// <summary>Whether a constant can be the second operand of an instruction.</summary>
    public static bool FitsOperand(int constant) => constant <= OperandMax;

    private int PlaceOf<TKey>(Dictionary<TKey, int> places, TKey key, LuaValue value) where TKey : notnull
    {
        if (places.TryGetValue(key, out int place)) return place;
        _constants.Add(value);
        places.Add(key, _constants.Count - 1);
        return _constants.Count - 1;
    }

    public Prototype Build() => new()
    {
        Code = [.. _code],
        Constants = [.. _constants],
        Functions = [.. Functions],
        Captures = [.. Body.Upvalues.Select(source =>
            source.Local is { } local ? local.Register : -1 - source.Upvalue)],
        Lines = [.. _lines],
        OperandNames = _names,
        ChunkName = ChunkName,
        Parameters = Body.Parameters.Count,
        IsVararg = Body.IsVararg,
        ArgRegister = ArgRegister,
        Registers = Math.Max(_most, 2),
        Bytes = 400 + (_code.Count * 12L) + (_constants.Count * 80L) + (_names.Count * 60L)
            + _constants.Sum(constant => (long)(constant.AsString?.Length ?? 0))
            + Functions.Sum(function => function.Bytes),
    };
}
