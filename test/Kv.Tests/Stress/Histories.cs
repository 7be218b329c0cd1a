namespace Kv.Tests.Stress;

/// <summary>What a client called.</summary>
internal enum Called : byte { Get, Set, Delete, Add }

/// <summary>One call on one key: what was asked, what was answered, and when.</summary>
/// <param name="Value">Of Set: the value; of Get: what was read, 0 for none; of Delete: 1 if there was a key; of Add:
/// the sum.</param>
internal readonly record struct Operation(Called Called, long Value, long Call, long Return);

/// <summary>Says whether the calls on one key can have happened one by one, each between its call and its
/// return.</summary>
internal static class Histories
{
    /// <summary>A register with unique values, not 0, that begins as 0 and is only set and read: O(n log n).</summary>
    /// <remarks>
    /// Per value a zone from the smallest return to the largest call among its write and its reads. It is forward when
    /// the return comes first: between the two the register certainly has the value. Right when no read returns before
    /// its write is called, no two forward zones overlap, and no backward zone lies inside of a forward one.
    /// Source: Gibbons and Korach, "Testing shared memories", 1997.
    /// </remarks>
    public static string? CheckRegister(IEnumerable<Operation> operations)
    {
        var zones = new Dictionary<long, (long MinReturn, long MaxCall, long WriteCall)>();
        zones[0] = (long.MinValue, long.MinValue, long.MinValue);     // as if written before everything
        var all = operations.ToList();
        foreach (Operation set in all.Where(one => one.Called == Called.Set))
            if (!zones.TryAdd(set.Value, (set.Return, set.Call, set.Call))) return $"{set.Value} was set twice";
        foreach (Operation get in all.Where(one => one.Called == Called.Get))
        {
            if (!zones.TryGetValue(get.Value, out var zone)) return $"{get.Value} was read and never set";
            if (get.Return < zone.WriteCall) return $"{get.Value} was read before it was set";
            zones[get.Value] = (Math.Min(zone.MinReturn, get.Return), Math.Max(zone.MaxCall, get.Call), zone.WriteCall);
        }

        var forward = zones.Where(zone => zone.Value.MinReturn < zone.Value.MaxCall)
            .Select(zone => (From: zone.Value.MinReturn, To: zone.Value.MaxCall, Value: zone.Key))
                .OrderBy(zone => zone.From).ToList();
        for (int i = 1; i < forward.Count; i++)
            if (forward[i].From < forward[i - 1].To)
                return $"{forward[i - 1].Value} and {forward[i].Value} were there at one time";
        foreach (var (value, zone) in zones)
        {
            if (zone.MinReturn < zone.MaxCall) continue;
            int at = LastFrom(zone.MaxCall);
            if (at >= 0 && forward[at].To > zone.MinReturn)
                return $"{value} came and went while {forward[at].Value} was there";
        }

        return null;

        int LastFrom(long time)     // the last forward zone that begins before this moment
        {
            int low = 0, high = forward.Count;
            while (low < high)
            {
                int middle = (low + high) / 2;
                if (forward[middle].From < time) low = middle + 1;
                else high = middle;
            }

            return low - 1;
        }
    }

    /// <summary>A counter that begins at 0 and is only incremented: every sum once, and none after a larger
    /// one.</summary>
    public static string? CheckCounter(IEnumerable<Operation> operations)
    {
        var sorted = operations.OrderBy(one => one.Value).ToList();
        long earliestReturn = long.MaxValue;
        for (int i = sorted.Count - 1; i >= 0; i--)
        {
            if (sorted[i].Value != i + 1)
                return $"there are {sorted.Count} increments, and {sorted[i].Value} at place {i + 1}";
            if (sorted[i].Call > earliestReturn)
                return $"{sorted[i].Value} was called after a larger sum had been answered";
            earliestReturn = Math.Min(earliestReturn, sorted[i].Return);
        }

        return null;
    }

    /// <summary>Any calls, at most 64 of them, by search.</summary>
    /// <returns>Null when it is right; "unknown" when the step budget did not do.</returns>
    public static string? Search(IReadOnlyList<Operation> operations, int stepsMax = 200_000)
    {
        return new SequentialSearch<long>([.. operations.Select(one => (one.Call, one.Return))], Step,
            stepsMax: stepsMax).Run(0);

        bool Step(long state, int call, out long next)
        {
            Operation one = operations[call];
            next = state;
            switch (one.Called)
            {
                case Called.Get:
                    return one.Value == state;
                case Called.Set:
                    next = one.Value;
                    return true;
                case Called.Delete:
                    next = 0;
                    return one.Value == (state != 0 ? 1 : 0);
                default:
                    next = state + 1;
                    return one.Value == state + 1;
            }
        }
    }
}
