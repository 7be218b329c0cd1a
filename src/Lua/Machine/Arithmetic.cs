using Kv.Lua.Syntax;

namespace Kv.Lua;

/// <summary>Arithmetic of numbers, as C does it for Lua 5.1.</summary>
internal static class Arithmetic
{
    private const double LongEnd = 9223372036854775808.0;

    public static double Modulo(double left, double right) => left - (Math.Floor(left / right) * right);

    public static double Apply(BinaryOperator op, double left, double right) => op switch
    {
        BinaryOperator.Add => left + right,
        BinaryOperator.Subtract => left - right,
        BinaryOperator.Multiply => left * right,
        BinaryOperator.Divide => left / right,
        BinaryOperator.Modulo => Modulo(left, right),
        _ => Math.Pow(left, right),
    };

    /// <summary>A number cut to an integer without sign, as C does it with what the processor has: what is negative
    /// wraps, what does not fit is 0, and NaN is the highest bit.</summary>
    public static ulong ToUnsigned(double number)
    {
        if (number >= LongEnd) return number < 2 * LongEnd ? (ulong)number : 0;
        return (ulong)ToInteger(number);
    }

    /// <summary>A number cut to an integer, as the processor does it: what does not fit is the least.</summary>
    public static long ToInteger(double number) => number is >= -LongEnd and < LongEnd ? (long)number : long.MinValue;
}
