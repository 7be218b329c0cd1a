namespace Kv.Lua.Compilation;

/// <summary>A compiled function: code, constants, and what errors say of it.</summary>
/// <remarks>Threads: never changed once made, but for the mark of walks, so any number of machines may run
/// it.</remarks>
internal sealed class Prototype
{
    public required Instruction[] Code { get; init; }
    public required LuaValue[] Constants { get; init; }
    public required Prototype[] Functions { get; init; }

    /// <summary>For each upvalue: the register of the outer function's cell, or its upvalue as -1 - index.</summary>
    public required int[] Captures { get; init; }

    /// <summary>The line of each instruction.</summary>
    public required int[] Lines { get; init; }

    /// <summary>What errors call the values of registers, by <see cref="NameKey"/>.</summary>
    public required Dictionary<int, OperandName> OperandNames { get; init; }

    /// <summary>The place of a name in <see cref="OperandNames"/>.</summary>
    public static int NameKey(int instruction, int register) => (instruction << 8) | register;

    /// <summary>What an error calls the value that an instruction has in a register; null: nothing.</summary>
    public string? NameOf(int instruction, int register) =>
        OperandNames.TryGetValue(NameKey(instruction, register), out var name) ? name.ToString() : null;

    /// <summary>As errors name the chunk.</summary>
    public required string ChunkName { get; init; }

    public int Parameters { get; init; }
    public bool IsVararg { get; init; }

    /// <summary>The register of the local <c>arg</c>, which takes the extra arguments as a table; -1: there is
    /// none.</summary>
    public int ArgRegister { get; init; } = -1;

    /// <summary>Registers that a frame needs.</summary>
    public int Registers { get; init; }

    /// <summary>Bytes, about, with those of the functions in it.</summary>
    public long Bytes { get; init; }

    /// <summary>Whether a script has made it, with <c>loadstring</c>: then it is memory of the script's.</summary>
    public bool IsOfScript { get; private set; }

    /// <summary>The last memory walk that has seen it.</summary>
    public int Walk { get; set; }

    /// <summary>Makes it, and the functions in it, memory of the script that runs.</summary>
    public void GiveToScript()
    {
        IsOfScript = true;
        foreach (var function in Functions) function.GiveToScript();    // as deep as the parser allows
    }
}
