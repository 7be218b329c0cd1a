using System.Diagnostics;

namespace Kv.Lua.Libraries.Struct;

/// <summary>struct.pack, also when it is put aside in between.</summary>
/// <remarks>A machine has one.</remarks>
internal sealed class StructPacker(LuaMachine machine) : Continuation
{
    private const int OptionsBetweenLooks = 64;

    private readonly TextParts _writer = machine.Writer;
    private StructFormat _format;
    private int _argument, _sinceLook;

    public int Begin(ref LuaCall call)
    {
        _format = new StructFormat(call.TextAt(0));
        _writer.Clear();
        _argument = 1;
        return Run(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count) => Run(ref call);

    private int Run(ref LuaCall call)
    {
        // Ends: each round passes a byte of the format.
        while (_format.TryNext(ref call, _writer.Length, out byte option, out int size, out int padding))
        {
            for (; padding > 0; padding--) _writer.Add(0);
            Write(ref call, option, size);
            if (++_sinceLook < OptionsBetweenLooks) continue;
            _sinceLook = 0;
            call.Spend(OptionsBetweenLooks);
            if (call.IsOverBudget) return call.Pause(this);
        }

        int result = _writer.Return(ref call);
        _writer.Clear();
        return result;
    }

    private void Write(ref LuaCall call, byte option, int size)
    {
        switch (option)
        {
            case (byte)'b' or (byte)'B' or (byte)'h' or (byte)'H' or (byte)'l' or (byte)'L' or (byte)'T' or (byte)'i'
                or (byte)'I':
                WriteBits(Arithmetic.ToUnsigned(NumberAt(ref call, _argument++)), size);
                break;
            case (byte)'x':
                _writer.Add(0);
                break;
            case (byte)'f':
                WriteBits(BitConverter.SingleToUInt32Bits((float)NumberAt(ref call, _argument++)), 4);
                break;
            case (byte)'d':
                WriteBits(BitConverter.DoubleToUInt64Bits(NumberAt(ref call, _argument++)), 8);
                break;
            case (byte)'c' or (byte)'s':
                WriteString(ref call, option, size);
                break;
            default:
                _format.Control(ref call, option);
                break;
        }
    }

    private void WriteString(ref LuaCall call, byte option, int size)
    {
        int index = _argument++;
        var text = call.Count > index ? call.TextAt(index) : throw Missing(ref call, index, "string");
        if (text.Length < size) throw call.ArgumentError(_argument, "string too short");
        _writer.Add(text, 0, size == 0 ? text.Length : size);
        if (option == 's') _writer.Add(0);
    }

    private void WriteBits(ulong bits, int size)
    {
        Debug.Assert(size is >= 0 and <= StructFormat.IntegerBytesMax, "a size was checked");
        Span<byte> bytes = stackalloc byte[StructFormat.IntegerBytesMax];
        bytes = bytes[..size];
        for (int i = 0; i < size; i++)
        {
            bytes[_format.IsBigEndian ? size - 1 - i : i] = (byte)bits;
            bits >>= 8;
        }

        _writer.Add(bytes);
    }

    private static double NumberAt(ref LuaCall call, int index) =>
        call.Count > index ? call.NumberAt(index) : throw Missing(ref call, index, "number");

    // The reference has a nil above the arguments.
    private static LuaException Missing(ref LuaCall call, int index, string expected) =>
        call.ArgumentError(index, $"{expected} expected, got nil");
}
