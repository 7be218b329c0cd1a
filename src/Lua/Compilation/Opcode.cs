namespace Kv.Lua.Compilation;

/// <summary>What an instruction does. R is a register of the frame, K a constant, C a number in the instruction, "to C"
/// a jump.</summary>
/// <remarks>
/// An operand that is a constant has an opcode of its own (…K), so that no operand has to be tested when it is fetched.
/// The conditional jumps come in pairs: one for true and the next for false, since with NaN "not less" is not "greater
/// or equal".
/// </remarks>
internal enum Opcode : byte
{
    Move,           // R[A] = R[B]
    LoadConstant,   // R[A] = K[C]
    LoadNil,        // R[A] … R[B] = nil
    LoadTrue,       // R[A] = true
    LoadFalse,      // R[A] = false
    GetUpvalue,     // R[A] = upvalue B
    SetUpvalue,     // upvalue B = R[A]
    NewCell,        // R[A] = a cell with R[A]
    GetCell,        // R[A] = the content of the cell R[B]
    SetCell,        // the content of the cell R[B] = R[A]
    GetGlobal,      // R[A] = globals[K[C]]
    SetGlobal,      // globals[K[C]] = R[A]
    GetField,       // R[A] = R[B][K[C]]
    GetIndex,       // R[A] = R[B][R[C]]
    GetInteger,     // R[A] = R[B][C]
    SetField,       // R[A][K[C]] = R[B]
    SetIndex,       // R[A][R[C]] = R[B]
    SetInteger,     // R[A][C] = R[B]
    Self,           // R[A + 1] = R[B]; R[A] = R[B][K[C]]
    NewTable,       // R[A] = {}, with room for B in the list and C in the hash part
    SetList,        // R[A][C + i] = R[A + i], for i from 1 to B; B = 0: to the top
    Add,            // R[A] = R[B] + R[C]; likewise the next
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    AddK,           // R[A] = R[B] + K[C]; likewise the next
    SubtractK,
    MultiplyK,
    DivideK,
    ModuloK,
    PowerK,
    Negate,         // R[A] = -R[B]
    Not,            // R[A] = not R[B]
    Length,         // R[A] = #R[B]
    Concat,         // R[A] = R[B] .. … .. R[C]
    Jump,           // to C
    Loop,           // to C, backwards: counts
    JumpIf,         // if R[A]: to C
    JumpIfNot,
    JumpEqual,      // if R[A] == R[B]: to C
    JumpNotEqual,
    JumpEqualK,     // if R[A] == K[B]: to C
    JumpNotEqualK,
    JumpLess,       // if R[A] < R[B]: to C
    JumpNotLess,
    JumpLessOrEqual,
    JumpNotLessOrEqual,
    JumpLessK,      // if R[A] < K[B]: to C
    JumpNotLessK,
    JumpLessOrEqualK,
    JumpNotLessOrEqualK,
    JumpGreaterK,   // if R[A] > K[B]: to C
    JumpNotGreaterK,
    JumpGreaterOrEqualK,
    JumpNotGreaterOrEqualK,
    // R[A] … = R[A](R[A + 1] …), B - 1 arguments (B = 0: to the top), C - 1 results (C = 0: all, and the top)
    Call,
    TailCall,       // return R[A](…), B - 1 arguments
    Return,         // return R[A] …, B - 1 values (B = 0: to the top)
    Return1,        // return R[A]
    Dots,           // R[A] … = ..., B - 1 values (B = 0: all, and the top)
    MakeClosure,    // R[A] = a closure of the function C, which says what it takes
    ForPrepare,     // R[A] first, R[A + 1] last, R[A + 2] step are made numbers; to C, the loop's end
    ForLoop,        // R[A] += R[A + 2]; if not past R[A + 1]: R[A + 3] = R[A], to C
    ForEach,        // R[A + 3] … = R[A](R[A + 1], R[A + 2]), B values; the next instruction decides
    ForEachLoop,    // if R[A + 3] is not nil: R[A + 2] = R[A + 3], to C
}
