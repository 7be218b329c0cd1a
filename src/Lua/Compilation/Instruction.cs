using System.Runtime.InteropServices;

namespace Kv.Lua.Compilation;

//   0      1      2             4                          8
//  +------+------+-------------+--------------------------+
//  |  op  |  A   |  B          |  C                       |     A a register; B a register, constant or count;
//  +------+------+-------------+--------------------------+     C any of these, or where a jump goes

/// <summary>One instruction of the machine.</summary>
[StructLayout(LayoutKind.Sequential, Size = 8)]
internal struct Instruction(Opcode op, int a, int b, int c)
{
    public Opcode Op = op;
    public byte A = (byte)a;
    public ushort B = (ushort)b;
    public int C = c;
}
