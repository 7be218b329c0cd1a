using System.Numerics;

namespace Kv.Tests.Stress;

/// <summary>Searches for an order of calls, each between its begin and its end, in which every answer is
/// right.</summary>
/// <remarks>Source: Wing and Gong 1993, with the memory of (calls done, state) of Lowe 2017.</remarks>
internal sealed class SequentialSearch<TState>(
    IReadOnlyList<(long Call, long Return)> times, SequentialSearch<TState>.Step step, ulong[]? after = null,
    int stepsMax = 200_000)
    where TState : IEquatable<TState>
{
    public const int CallsMax = 64;

    private readonly HashSet<(ulong Done, TState State)> _seen = [];
    private int _steps;

    /// <summary>Does a call in a state.</summary>
    /// <returns>False when it would not have answered so.</returns>
    public delegate bool Step(TState state, int call, out TState next);

    /// <param name="begin">The state before all calls.</param>
    /// <returns>Null: there is such an order; "unknown" when the step budget did not do; else what is wrong.</returns>
    public string? Run(TState begin)
    {
        ulong all = times.Count == CallsMax ? ulong.MaxValue : (1UL << times.Count) - 1;
        if (Explains(all, 0, begin)) return null;
        return _steps > stepsMax ? "unknown" : "no order of the calls explains what they answered";
    }

    private bool Explains(ulong all, ulong done, TState state)
    {
        if (done == all) return true;
        if (++_steps > stepsMax || !_seen.Add((done, state))) return false;
        long firstReturn = long.MaxValue;
        for (ulong left = all & ~done; left != 0; left &= left - 1)
            firstReturn = Math.Min(firstReturn, times[BitOperations.TrailingZeroCount(left)].Return);
        for (ulong left = all & ~done; left != 0; left &= left - 1)
        {
            int call = BitOperations.TrailingZeroCount(left);
            // Another one had returned before this one was called; or the same client sent another one first.
            if (times[call].Call > firstReturn || (after != null && (after[call] & ~done) != 0)) continue;
            if (step(state, call, out TState next) && Explains(all, done | 1UL << call, next)) return true;
        }

        return false;
    }
}
