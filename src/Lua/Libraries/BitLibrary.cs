using System.Numerics;

namespace Kv.Lua.Libraries;

/// <summary>bit.*: operations on 32 bits.</summary>
/// <remarks>A number is taken modulo 2^32; the result is signed. Shift counts are taken modulo 32.</remarks>
internal static class BitLibrary
{
    // Adding it leaves a number's lower 32 bits, rounded to the nearest even, in the lower bits of the mantissa.
    private const double Magic = 6755399441055744.0;

    public static void AddTo(LuaMachine machine)
    {
        var library = StandardLibraries.AddLibrary(machine, "bit");
        StandardLibraries.Add(library, "tobit", (ref LuaCall call) => call.Return(BitsAt(ref call, 0)));
        StandardLibraries.Add(library, "bnot", (ref LuaCall call) => call.Return(~BitsAt(ref call, 0)));
        StandardLibraries.Add(library, "bswap", (ref LuaCall call) =>
            call.Return(System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(BitsAt(ref call, 0))));
        AddAll(library, "band", (a, b) => a & b);
        AddAll(library, "bor", (a, b) => a | b);
        AddAll(library, "bxor", (a, b) => a ^ b);
        AddShift(library, "lshift", (bits, count) => bits << count);
        AddShift(library, "rshift", (bits, count) => (int)((uint)bits >> count));
        AddShift(library, "arshift", (bits, count) => bits >> count);
        AddShift(library, "rol", (bits, count) => (int)BitOperations.RotateLeft((uint)bits, count));
        AddShift(library, "ror", (bits, count) => (int)BitOperations.RotateRight((uint)bits, count));
        StandardLibraries.Add(library, "tohex", ToHex);
    }

    private static int BitsAt(ref LuaCall call, int index) =>
        (int)BitConverter.DoubleToInt64Bits(call.NumberAt(index) + Magic);

    private static void AddAll(LuaTable library, string name, Func<int, int, int> combine) =>
        StandardLibraries.Add(library, name, (ref LuaCall call) =>
        {
            int bits = BitsAt(ref call, 0);
            // The last first: which argument an error names.
            for (int i = call.Count - 1; i > 0; i--) bits = combine(bits, BitsAt(ref call, i));
            return call.Return(bits);
        });

    private static void AddShift(LuaTable library, string name, Func<int, int, int> shift) =>
        StandardLibraries.Add(library, name, (ref LuaCall call) =>
            call.Return(shift(BitsAt(ref call, 0), BitsAt(ref call, 1) & 31)));

    private static int ToHex(ref LuaCall call)
    {
        uint bits = (uint)BitsAt(ref call, 0);
        int digits = call.Count > 1 ? BitsAt(ref call, 1) : 8;
        bool upper = digits < 0;
        // The least number has no positive twin: it is cut like any other.
        long count = Math.Min(8, Math.Abs((long)digits));
        Span<byte> text = stackalloc byte[8];
        ReadOnlySpan<byte> alphabet = upper ? "0123456789ABCDEF"u8 : "0123456789abcdef"u8;
        for (int i = (int)count - 1; i >= 0; i--)
        {
            text[i] = alphabet[(int)(bits & 15)];
            bits >>= 4;
        }

        return call.Return(call.Text(text[..(int)count]));
    }
}
