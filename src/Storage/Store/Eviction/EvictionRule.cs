using System.Numerics;

namespace Kv.Storage;

/// <summary>What a policy evicts first: how much a record is worth, and how its use is counted. Immutable.</summary>
/// <param name="Policy">The policy by its public name.</param>
/// <param name="Worth">What makes a record worth keeping.</param>
/// <param name="IsVolatile">Whether only keys with an expiry may go.</param>
internal sealed record EvictionRule(MaxMemoryPolicy Policy, EvictionWorth Worth, bool IsVolatile)
{
    /// <summary>One more than the most that a record can be worth.</summary>
    public const int Worths = 64;

    private static readonly EvictionRule[] Rules =
    [
        new(MaxMemoryPolicy.VolatileLru, EvictionWorth.Recency, IsVolatile: true),
        new(MaxMemoryPolicy.VolatileLfu, EvictionWorth.Frequency, IsVolatile: true),
        new(MaxMemoryPolicy.VolatileRandom, EvictionWorth.Chance, IsVolatile: true),
        new(MaxMemoryPolicy.VolatileTtl, EvictionWorth.TimeLeft, IsVolatile: true),
        new(MaxMemoryPolicy.AllKeysLru, EvictionWorth.Recency, IsVolatile: false),
        new(MaxMemoryPolicy.AllKeysLfu, EvictionWorth.Frequency, IsVolatile: false),
        new(MaxMemoryPolicy.AllKeysRandom, EvictionWorth.Chance, IsVolatile: false),
        new(MaxMemoryPolicy.NoEviction, EvictionWorth.Nothing, IsVolatile: false),
    ];

    public static EvictionRule Of(MaxMemoryPolicy policy) => Rules[(int)policy];

    /// <summary>How much rarer a use is counted the higher the count is, where it is a frequency.</summary>
    public int LogFactor { get; init; } = 10;

    /// <summary>Minutes after which a frequency is one less; 0: it never fades.</summary>
    public int DecayMinutes { get; init; } = 1;

    public bool Evicts => Worth != EvictionWorth.Nothing;

    /// <summary>Whether the use of records decides what goes, so that those which are young are apart from those which
    /// were used again, and those that were evicted are remembered, to be kept when they come again.</summary>
    public bool GoesByUse => Worth is EvictionWorth.Recency or EvictionWorth.Frequency;

    /// <summary>The bits of <see cref="RecordUse"/> that are compared to see whether a use is noted already.</summary>
    public int NotedBits => Worth switch
    {
        EvictionWorth.Recency => RecordUse.IntervalBits | RecordUse.HeatBits,
        EvictionWorth.Frequency => RecordUse.CountBits,
        _ => RecordUse.IntervalBits | RecordUse.LeastHeatMax,
    };

    /// <summary>The use of a record that there is nothing more to note of.</summary>
    /// <param name="interval">The current one of <see cref="UseIntervals"/>.</param>
    public int MostUsed(int interval) => Worth switch
    {
        EvictionWorth.Recency => RecordUse.Of(interval, RecordUse.HeatMax),
        EvictionWorth.Frequency => RecordUse.CountMax,
        _ => RecordUse.Of(interval, RecordUse.LeastHeatMax),
    };

    /// <summary>The use of a key that is made.</summary>
    /// <param name="interval">The current one.</param>
    /// <param name="wasEvicted">Not long ago.</param>
    public int NewUse(int interval, bool wasEvicted) => Worth switch
    {
        EvictionWorth.Recency => RecordUse.Of(interval, wasEvicted ? 1 : 0),
        EvictionWorth.Frequency => wasEvicted ? 2 : 1,
        _ => RecordUse.Of(interval, 0),
    };

    /// <summary>The use of a record that is used once more. A count goes up by chance only, which the caller
    /// throws.</summary>
    public int UsedAgain(int use, int interval) => Worth switch
    {
        EvictionWorth.Recency => RecordUse.Of(interval, Math.Min(RecordUse.Heat(use) + 1, RecordUse.HeatMax)),
        EvictionWorth.Frequency => Math.Min(RecordUse.Count(use) + 1, RecordUse.CountMax),
        _ => RecordUse.Of(interval, RecordUse.LeastHeatMax),
    };

    /// <summary>The use of a key of which somebody says that it was used so often, of 255. What the policy does not go
    /// by is passed over.</summary>
    public int UseOfFrequency(int use, int frequency) => Worth != EvictionWorth.Frequency ? use
        : ((frequency * RecordUse.CountMax) + (ValueView.FrequencyMax / 2)) / ValueView.FrequencyMax;

    /// <summary>The use of a key of which somebody says how long it was not used.</summary>
    /// <param name="interval">The one in which it was, about.</param>
    public int UseOfIdle(int use, long idleSeconds, int interval) => Worth == EvictionWorth.Frequency ? use
        : RecordUse.Of(interval, idleSeconds > 0 ? 0 : RecordUse.Heat(use));

    /// <summary>The use of a record that stays, when it has been looked at.</summary>
    /// <param name="secondsOld">Since its segment was written.</param>
    public int Cooled(int use, long secondsOld) => Worth switch
    {
        EvictionWorth.Recency => use - Math.Min(RecordUse.Heat(use), 1),
        EvictionWorth.Frequency when DecayMinutes != 0 =>
            (int)Math.Max(0, RecordUse.Count(use) - (secondsOld / 60 / DecayMinutes)),
        _ => use,
    };

    /// <summary>What a record is worth, of <see cref="Worths"/>: those that are worth least go first.</summary>
    /// <param name="chance">As good as random, and the same for the record throughout a batch.</param>
    public int WorthOf(ulong word, long msLeft, uint chance) => Worth switch
    {
        EvictionWorth.Recency => RecordUse.Heat(RecordWord.Use(word)),
        EvictionWorth.Frequency => RecordUse.Count(RecordWord.Use(word)),
        EvictionWorth.TimeLeft => OfTimeLeft(msLeft),
        _ => (int)(chance % Worths),
    };

    /// <summary>Two steps to each doubling, from half a second to 50 years.</summary>
    private static int OfTimeLeft(long ms)
    {
        if (ms <= 0) return 0;
        int doublings = BitOperations.Log2((ulong)ms);
        int half = doublings == 0 ? 0 : (int)(ms >> (doublings - 1)) & 1;
        return Math.Clamp(2 * doublings + half - 17, 0, Worths - 1);
    }
}

/// <summary>What makes a record worth keeping.</summary>
internal enum EvictionWorth
{
    /// <summary>Nothing is evicted.</summary>
    Nothing,

    /// <summary>That it was used since it was last looked at.</summary>
    Recency,

    /// <summary>That it is used often.</summary>
    Frequency,

    /// <summary>That it has long to live.</summary>
    TimeLeft,

    /// <summary>The throw of a die.</summary>
    Chance,
}
