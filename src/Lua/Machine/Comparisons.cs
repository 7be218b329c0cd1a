using System.Runtime.CompilerServices;
using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>Comparisons with a constant number.</summary>
internal static class Comparisons
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool Holds(Opcode op, double left, double right) => op switch
    {
        Opcode.JumpLessK => left < right,
        Opcode.JumpNotLessK => !(left < right),
        Opcode.JumpLessOrEqualK => left <= right,
        Opcode.JumpNotLessOrEqualK => !(left <= right),
        Opcode.JumpGreaterK => left > right,
        Opcode.JumpNotGreaterK => !(left > right),
        Opcode.JumpGreaterOrEqualK => left >= right,
        _ => !(left >= right),
    };

    public static bool LessThanConstant(LuaMachine machine, Opcode op, in LuaValue value, double constant)
    {
        bool jumpIf = ((op - Opcode.JumpLessK) & 1) == 0;
        return op switch
        {
            <= Opcode.JumpNotLessK => Events.Less(machine, value, constant, orEqual: false, jumpIf),
            <= Opcode.JumpNotLessOrEqualK => Events.Less(machine, value, constant, orEqual: true, jumpIf),
            <= Opcode.JumpNotGreaterK => Events.Less(machine, constant, value, orEqual: false, jumpIf),
            _ => Events.Less(machine, constant, value, orEqual: true, jumpIf),
        };
    }
}
