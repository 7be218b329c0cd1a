using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using Kv.Lua;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Scripting;

//  one allocation:   | Argument 0 | Argument 1 | ... | bytes of 0 | bytes of 1 | ... | 8 bytes' room |

/// <summary>The arguments of a command that a script calls, where commands look for theirs: in native memory.</summary>
/// <remarks>Threads: one script's. What is kept between calls is charged to the store.</remarks>
internal sealed unsafe class ScriptArguments(Store store) : IDisposable
{
    /// <summary>What parsers read beyond the end of an argument.</summary>
    private const int PaddingBytes = 8;

    /// <summary>More is given back when the script is done.</summary>
    private const int KeptBytes = 64 * 1024;

    private const int NumberBytesMax = 40;

    private byte* _memory;
    private long _bytes;

    public Argument* Items => (Argument*)_memory;

    public int Count { get; private set; }

    /// <summary>Of those of the last call.</summary>
    public long Bytes { get; private set; }

    /// <summary>Copies the arguments of a call.</summary>
    /// <returns>False when one is neither a string nor a number.</returns>
    public bool TryCopy(ref LuaCall call)
    {
        Count = call.Count;
        long bytes = ((long)Count * Argument.SizeBytes) + PaddingBytes;
        for (int i = 0; i < Count; i++)
        {
            var value = call[i];
            if (value.AsString is { } text) bytes += text.Length;
            else if (value.IsNumber) bytes += NumberBytesMax;
            else return false;
        }

        Reserve(bytes);
        byte* at = _memory + (Count * Argument.SizeBytes);
        for (int i = 0; i < Count; i++)
        {
            var place = new Span<byte>(at, (int)Math.Min(int.MaxValue, _memory + _bytes - at));
            int length = Copy(call[i], place);
            Items[i] = new Argument { Pointer = at, Length = length };
            at += length;
        }

        *(ulong*)at = 0;
        Bytes = at - _memory;
        Debug.Assert(Bytes <= _bytes - sizeof(ulong), "the arguments and the room after them were counted");
        return true;
    }

    /// <summary>The script is done.</summary>
    public void Trim()
    {
        if (_bytes > KeptBytes) Dispose();
    }

    public void Dispose()
    {
        NativeMemory.Free(_memory);
        _memory = null;
        store.Charge(-_bytes);
        _bytes = 0;
    }

    private static int Copy(in LuaValue value, Span<byte> place)
    {
        if (value.AsString is { } text)
        {
            text.Span.CopyTo(place);
            return text.Length;
        }

        double number = value.AsNumber;
        if (number == (long)number && Math.Abs(number) < 1e17 && !(number == 0 && double.IsNegative(number)))
            return NumberText.FormatInt64((long)number, place);
        // 17 digits, as C's %.17g.
        string digits = double.IsFinite(number) ? number.ToString("G17", CultureInfo.InvariantCulture).Replace('E', 'e')
            : double.IsNaN(number) ? (double.IsNegative(number) ? "-nan" : "nan") : number > 0 ? "inf" : "-inf";
        return System.Text.Encoding.ASCII.GetBytes(digits, place);
    }

    private void Reserve(long bytes)
    {
        if (bytes <= _bytes) return;
        Dispose();
        bytes = Math.Max(bytes, 1024);
        _memory = (byte*)NativeMemory.Alloc((nuint)bytes);
        _bytes = bytes;
        store.Charge(bytes);
    }
}
