using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>Takes a whole value out, an integer as its digits.</summary>
internal struct TakeBytes : IValueRead
{
    public byte[]? Bytes;
    public long ExpiryMs;

    public void Read(in ValueView value)
    {
        Bytes = value.Kind == ValueKind.Integer
            ? Encoding.ASCII.GetBytes(value.Integer.ToString(CultureInfo.InvariantCulture))
            : value.Bytes.ToArray();
        ExpiryMs = value.ExpiryMs;
    }
}

/// <summary>Takes the first 8 bytes of a value, and whether all of it is made of them.</summary>
internal struct TakeNumber : IValueRead
{
    public long Number;
    public bool IsTorn;

    public void Read(in ValueView value) => Number = NumberValue.From(value, out IsTorn);
}

/// <summary>Values that say what they are: one number over and over, so that a torn one shows.</summary>
internal static class NumberValue
{
    public static ReadOnlySpan<byte> Fill(Span<byte> into, long number)
    {
        for (int at = 0; at + 8 <= into.Length; at += 8) Unsafe.WriteUnaligned(ref into[at], number);
        return into[..(into.Length & ~7)];
    }

    public static long From(in ValueView value, out bool isTorn)
    {
        isTorn = false;
        if (!value.Exists) return 0;
        if (value.Kind == ValueKind.Integer) return value.Integer;
        ReadOnlySpan<byte> bytes = value.Bytes;
        if (bytes.Length < 8) return 0;
        long number = Unsafe.ReadUnaligned<long>(in bytes[0]);
        for (int at = 8; at + 8 <= bytes.Length; at += 8)
            isTorn |= Unsafe.ReadUnaligned<long>(in bytes[at]) != number;
        return number;
    }
}

/// <summary>APPEND.</summary>
internal ref struct Append(ReadOnlySpan<byte> tail) : IValueUpdate
{
    private readonly ReadOnlySpan<byte> _tail = tail;
    private long _old;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        _old = current.Exists ? current.StringLength : 0;
        next.Kind = ValueKind.GrowingString;
        next.Length = _old + _tail.Length;
        next.KeepContent = true;
        return Change.Replace;
    }

    public readonly void Write(Span<byte> destination) => _tail.CopyTo(destination[(int)_old..]);
}

/// <summary>Sets an integer.</summary>
internal struct SetInteger(long value) : IValueUpdate
{
    public readonly Change Decide(in ValueView current, ref NewValue next)
    {
        next.Kind = ValueKind.Integer;
        next.Integer = value;
        return Change.Replace;
    }

    public readonly void Write(Span<byte> destination)
    {
    }
}

/// <summary>INCRBY: an absent key counts as 0.</summary>
internal struct AddInteger(long add) : IValueUpdate
{
    public long Sum;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        Sum = add + (current.Exists ? current.Integer : 0);
        next.Kind = ValueKind.Integer;
        next.Integer = Sum;
        return Change.Replace;
    }

    public readonly void Write(Span<byte> destination)
    {
    }
}

/// <summary>PEXPIREAT, or PERSIST with -1.</summary>
internal struct ExpireAt(long ms) : IValueUpdate
{
    public readonly Change Decide(in ValueView current, ref NewValue next)
    {
        next.ExpiryMs = ms;
        return Change.Expire;
    }

    public readonly void Write(Span<byte> destination)
    {
    }
}

/// <summary>Collects the keys that a walk visits.</summary>
internal readonly struct CollectKeys(ICollection<string> seen) : IRecordVisit
{
    public void Visit(ReadOnlySpan<byte> key, in ValueView value) => seen.Add(Encoding.ASCII.GetString(key));
}
