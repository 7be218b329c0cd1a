using System.Globalization;
using System.Text;
using Kv.Server.Diagnostics;
using Kv.Server.Users;

namespace Kv.Server.Reports;

/// <summary>By what hot keys are sorted.</summary>
internal enum HotKeyOrder
{
    Uses,
    Reads,
    Writes,
}

/// <summary>The keys that are used most, in order, for somebody who may know of them.</summary>
internal static class HotKeyRanking
{
    /// <summary>Keys that INFO has, and KV.HOTKEYS without COUNT.</summary>
    public const int CountByDefault = 16;

    /// <summary>The first keys of an order.</summary>
    /// <param name="rules">Of who asks: keys that they may not read are left out. Null: they may read all.</param>
    public static List<HotKey> First(HotKeyReading reading, UserRules? rules, HotKeyOrder order, int countMax) =>
    [
        .. reading.Keys.Where(key => WorthOf(key, order) > 0 && (rules == null || rules.MayKnow(key.Name, key.IsCut)))
            .OrderByDescending(key => WorthOf(key, order)).Take(countMax),
    ];

    /// <summary>How much of all uses are of the key that is used most, 0 to 1.</summary>
    public static double ShareOfFirst(HotKeyReading reading) =>
        reading.ShareOf(reading.Keys.Select(key => key.UsesPerSecond).DefaultIfEmpty().Max());

    public static double WorthOf(in HotKey key, HotKeyOrder order) => order switch
    {
        HotKeyOrder.Reads => key.ReadsPerSecond,
        HotKeyOrder.Writes => key.WritesPerSecond,
        _ => key.UsesPerSecond,
    };

    /// <summary>Appends lines of INFO.</summary>
    public static void AppendTo(StringBuilder text, HotKeyReading reading, UserRules? rules)
    {
        int number = 0;
        foreach (var key in First(reading, rules, HotKeyOrder.Uses, CountByDefault))
        {
            text.Append(CultureInfo.InvariantCulture, $"kv_hotkey_{number++}:db={key.Database},key=");
            text.AppendKey(key.Name, key.IsCut);
            text.Append(CultureInfo.InvariantCulture, $",reads_per_sec={key.ReadsPerSecond:F2}");
            text.Append(CultureInfo.InvariantCulture, $",writes_per_sec={key.WritesPerSecond:F2}");
            text.Append(CultureInfo.InvariantCulture, $",percent={100 * reading.ShareOf(key.UsesPerSecond):F2}\r\n");
        }
    }
}
