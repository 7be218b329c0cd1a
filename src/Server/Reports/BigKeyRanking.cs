using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Reports;

/// <summary>The largest keys, in order, for somebody who may know of them.</summary>
internal static class BigKeyRanking
{
    /// <summary>Keys of each type that INFO has.</summary>
    private const int CountOfInfo = 4;

    /// <summary>The first keys by memory, or by elements; of each type <see cref="BigKeys.ShownMax"/> at most. By
    /// elements strings come only where they are asked for: they have bytes.</summary>
    /// <param name="rules">Of who asks: keys that they may not read are left out. Null: they may read all.</param>
    /// <param name="type">One type, or <see cref="DataType.Any"/>.</param>
    public static List<BigKey> First(IEnumerable<BigKey> keys, UserRules? rules, DataType type, bool byElements,
        int countMax)
    {
        Debug.Assert(countMax > 0, "some are asked for");
        var known = keys.Where(key => (type == DataType.Any ? !byElements || key.Size.Type != DataType.String
            : key.Size.Type == type) && (rules == null || rules.MayKnow(key.Name)));
        return
        [
            .. known.GroupBy(key => key.Size.Type).SelectMany(group => Sort(group, byElements).Take(BigKeys.ShownMax))
                .OrderByDescending(key => WorthOf(key, byElements)).Take(countMax),
        ];
    }

    /// <summary>Appends lines of INFO.</summary>
    public static void AppendTo(StringBuilder text, IReadOnlyList<BigKey> keys, UserRules? rules)
    {
        foreach (var type in DataTypeName.All)
        {
            int number = 0;
            foreach (var key in First(keys, rules, type, byElements: false, CountOfInfo))
            {
                text.Append(CultureInfo.InvariantCulture, $"kv_bigkey_{DataTypeName.TextOf(type)}_{number++}:");
                text.Append(CultureInfo.InvariantCulture, $"db={key.Database},key=");
                text.AppendKey(key.Name, isCut: false);
                text.Append(CultureInfo.InvariantCulture, $",bytes={key.Size.Bytes},elements={key.Size.Elements}\r\n");
            }
        }
    }

    private static IOrderedEnumerable<BigKey> Sort(IEnumerable<BigKey> keys, bool byElements) =>
        keys.OrderByDescending(key => WorthOf(key, byElements));

    private static long WorthOf(BigKey key, bool byElements) => byElements ? key.Size.Elements : key.Size.Bytes;
}
