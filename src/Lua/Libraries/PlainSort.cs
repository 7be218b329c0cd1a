using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Lua.Libraries;

/// <summary>Sorts a short range of a table that has numbers only, or strings only.</summary>
/// <remarks>Equal ones cannot be told apart, so nobody sees in which order they are compared.</remarks>
internal static class PlainSort
{
    /// <summary>Longer ranges are divided first, since this cannot be put aside.</summary>
    private const int Longest = 1024;

    public static bool TrySort(LuaTable table, int low, int high)
    {
        Debug.Assert(low < high, "there is something to sort");
        if (high - low >= Longest || table.IsReadOnly) return false;
        Span<LuaValue> range = table.ArrayRange(low, high);
        if (range.IsEmpty) return false;
        if (range[0].IsNumber) return TrySortNumbers(range);
        foreach (ref LuaValue value in range)
            if (!value.IsString) return false;
        range.Sort(static (left, right) => Events.Order(left.AsString!, right.AsString!));
        return true;
    }

    /// <summary>About how many steps it takes to sort <paramref name="count"/> values.</summary>
    public static int StepsFor(int count) => count * (BitOperations.Log2((uint)count | 1) + 1);

    [SkipLocalsInit]
    private static bool TrySortNumbers(Span<LuaValue> range)
    {
        Span<double> numbers = stackalloc double[Longest];
        numbers = numbers[..range.Length];
        for (int i = 0; i < range.Length; i++)
        {
            double number = range[i].Number;
            // NaN has no place in an order, and -0 can be told from 0.
            if (!range[i].IsNumber || double.IsNaN(number) || (number == 0 && double.IsNegative(number))) return false;
            numbers[i] = number;
        }

        numbers.Sort();
        for (int i = 0; i < range.Length; i++) range[i].Number = numbers[i];
        return true;
    }
}
