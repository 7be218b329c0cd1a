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

    /// <summary>What recent use counts up to: more would only be copied more often before it goes.</summary>
    private const int RecentHeatMax = 3;

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

    /// <summary>What the heat of a record goes up to; 0: its use is not counted.</summary>
    public int HeatMax => Worth switch
    {
        EvictionWorth.Recency => RecentHeatMax,
        EvictionWorth.Frequency => RecordWord.HeatMax,
        _ => 0,
    };

    /// <summary>Whether those that were evicted young are remembered, to be kept when they come again.</summary>
    public bool RemembersEvicted => HeatMax != 0;

    /// <summary>The heat of a key that is made, and of one that was evicted not long ago.</summary>
    public int NewHeat(bool wasEvicted) => Worth switch
    {
        EvictionWorth.Recency => wasEvicted ? 1 : 0,
        EvictionWorth.Frequency => wasEvicted ? 2 : 1,
        _ => 0,
    };

    /// <summary>The heat of a key of which somebody says how much it was used: how often, of 255, or how long ago.
    /// What the policy does not go by is passed over.</summary>
    /// <param name="heat">As it is.</param>
    public int HeatFrom(int heat, int? frequency, long? idleSeconds) => Worth switch
    {
        EvictionWorth.Frequency when frequency is { } often =>
            ((often * RecordWord.HeatMax) + (ValueView.FrequencyMax / 2)) / ValueView.FrequencyMax,
        EvictionWorth.Recency when idleSeconds > 0 => 0,
        _ => heat,
    };

    /// <summary>The heat of a record that stays, when it has been looked at.</summary>
    /// <param name="secondsOld">Since its segment was written.</param>
    public int Cooled(int heat, long secondsOld)
    {
        long less = Worth switch
        {
            EvictionWorth.Recency => 1,
            EvictionWorth.Frequency when DecayMinutes != 0 => secondsOld / 60 / DecayMinutes,
            _ => 0,
        };
        return (int)Math.Max(0, heat - less);
    }

    /// <summary>What a record is worth, of <see cref="Worths"/>: those that are worth least go first.</summary>
    /// <param name="chance">As good as random, and the same for the record throughout a batch.</param>
    public int WorthOf(ulong word, long msLeft, uint chance) => Worth switch
    {
        EvictionWorth.Recency or EvictionWorth.Frequency => RecordWord.Heat(word),
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
