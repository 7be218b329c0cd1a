using System.Diagnostics;

namespace Kv.Lua.Libraries.Struct;

/// <summary>Reads the format of struct.*: options, with sizes and alignment.</summary>
internal struct StructFormat(LuaString text)
{
    /// <summary>Bytes of the largest integer.</summary>
    public const int IntegerBytesMax = 32;

    private const int LargestAlignment = 8;

    private readonly LuaString _text = text;
    private int _at, _alignment = 1;

    /// <summary>Whether integers have their highest byte first.</summary>
    public bool IsBigEndian { get; private set; }

    public LuaString Text => _text;

    /// <summary>The next option.</summary>
    /// <param name="position">Bytes in front of it.</param>
    /// <param name="option">Its letter.</param>
    /// <param name="size">Its bytes; 0 for those that only set something, or take what there is.</param>
    /// <param name="padding">Bytes between.</param>
    /// <returns>False at the end: of the text, or at a zero byte.</returns>
    public bool TryNext(ref LuaCall call, long position, out byte option, out int size, out int padding)
    {
        Debug.Assert(int.IsPow2(_alignment), "an alignment is a power of two");
        (option, size, padding) = (0, 0, 0);
        if (Current == 0) return false;
        option = Current;
        _at++;
        size = SizeOf(ref call, option);
        if (size == 0 || option == 'c') return true;
        // As C computes it, also for sizes that are no powers of two.
        int aligned = Math.Min(size, _alignment);
        padding = (int)((aligned - (position & (aligned - 1))) & (aligned - 1));
        return true;
    }

    /// <summary>Does what an option says that stands for no value.</summary>
    public void Control(ref LuaCall call, byte option)
    {
        switch (option)
        {
            case (byte)' ': return;
            case (byte)'>': IsBigEndian = true; return;
            case (byte)'<': IsBigEndian = false; return;
            case (byte)'!':
                int alignment = Number(ref call, LargestAlignment);
                if (!int.IsPow2(alignment)) throw call.Failure($"alignment {alignment} is not a power of 2");
                _alignment = alignment;
                return;
            default: throw call.ArgumentError(0, $"invalid format option '{(char)option}'");
        }
    }

    private readonly byte Current => _at < _text.Length ? _text.Span[_at] : (byte)0;

    private int SizeOf(ref LuaCall call, byte option)
    {
        switch (option)
        {
            case (byte)'b' or (byte)'B' or (byte)'x': return 1;
            case (byte)'h' or (byte)'H': return 2;
            case (byte)'f': return 4;
            case (byte)'l' or (byte)'L' or (byte)'T' or (byte)'d': return 8;
            case (byte)'c': return Number(ref call, 1);
            case (byte)'i' or (byte)'I':
                int size = Number(ref call, 4);
                return size <= IntegerBytesMax ? size
                    : throw call.Failure($"integral size {size} is larger than limit of {IntegerBytesMax}");
            default: return 0;
        }
    }

    private int Number(ref LuaCall call, int otherwise)
    {
        if (!NumberSyntax.IsDigit(Current)) return otherwise;
        long number = 0;
        // Ends: each round passes a digit.
        while (NumberSyntax.IsDigit(Current))
        {
            number = (number * 10) + Current - '0';
            if (number > int.MaxValue) throw call.Failure("integral size overflow");
            _at++;
        }

        return (int)number;
    }
}
