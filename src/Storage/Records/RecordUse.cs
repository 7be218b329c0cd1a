using System.Diagnostics;

namespace Kv.Storage;

//    5        2 1    0              5   4       0
//   +----------+------+            +---+---------+
//   | interval | heat |            | 0 |  count  |     under LFU policies
//   +----------+------+            +---+---------+
//    interval  when it was last used, UseIntervals     count  how often, a Morris counter
//    heat      how often it was used again: under LRU policies up to 3, and one less when the evictor has looked at it,
//              under others up to 1

/// <summary>Packs what a record's word says of its use: six bits, of which the policy decides what they are.</summary>
internal static class RecordUse
{
    /// <summary>What recent use counts up to: more would only be copied more often before it goes.</summary>
    public const int HeatMax = 3;

    /// <summary>What it counts up to where nobody asks for more than whether there was any.</summary>
    public const int LeastHeatMax = 1;

    /// <summary>What all uses count up to.</summary>
    public const int CountMax = 31;

    private const int IntervalShift = 2;

    /// <summary>What of the six bits is the interval, the heat, and the count.</summary>
    public const int IntervalBits = RecordWord.UseMax & ~HeatMax, HeatBits = HeatMax, CountBits = CountMax;

    public static int Of(int interval, int heat)
    {
        Debug.Assert((uint)heat <= HeatMax && (uint)interval <= IntervalBits >> IntervalShift, "fields fit");
        return (interval << IntervalShift) | heat;
    }

    public static int Interval(int use) => use >> IntervalShift;

    public static int Heat(int use) => use & HeatBits;

    public static int Count(int use) => use & CountBits;
}
