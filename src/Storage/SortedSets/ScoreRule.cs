namespace Kv.Storage;

/// <summary>When an element of a sorted set may be added or get another score.</summary>
[Flags]
public enum ScoreRule
{
    /// <summary>Whatever is there.</summary>
    None = 0,

    /// <summary>Only a new member is added; those that are there stay as they are.</summary>
    OnlyNew = 1,

    /// <summary>No member is added.</summary>
    OnlyExisting = 2,

    /// <summary>A score is changed only for a greater one.</summary>
    OnlyGreater = 4,

    /// <summary>A score is changed only for a lower one.</summary>
    OnlyLess = 8,

    /// <summary>What is given is added to the score.</summary>
    Increment = 16,
}

/// <summary>What has become of an element.</summary>
public enum ScoreOutcome
{
    /// <summary>The rule forbade it.</summary>
    Refused,

    /// <summary>It has the score already.</summary>
    Same,

    /// <summary>It is new.</summary>
    Added,

    /// <summary>It has another score now.</summary>
    Changed,

    /// <summary>The sum would be no number: nothing was changed.</summary>
    NotANumber,

    /// <summary>There is no memory: nothing was changed.</summary>
    OutOfMemory,
}

/// <summary>Goes by a rule.</summary>
internal static class ScoreDecision
{
    /// <summary>What becomes of an element.</summary>
    /// <param name="exists">Whether it is there, with the old score.</param>
    /// <param name="score">What is given; what the element has then.</param>
    public static ScoreOutcome Decide(this ScoreRule rule, bool exists, double old, ref double score)
    {
        if (!exists) return (rule & ScoreRule.OnlyExisting) != 0 ? ScoreOutcome.Refused : ScoreOutcome.Added;
        if ((rule & ScoreRule.OnlyNew) != 0) return ScoreOutcome.Refused;
        if ((rule & ScoreRule.Increment) != 0)
        {
            score += old;
            if (double.IsNaN(score)) return ScoreOutcome.NotANumber;
        }

        if ((rule & ScoreRule.OnlyGreater) != 0 && score <= old) return ScoreOutcome.Refused;
        if ((rule & ScoreRule.OnlyLess) != 0 && score >= old) return ScoreOutcome.Refused;
        return score == old ? ScoreOutcome.Same : ScoreOutcome.Changed;
    }
}

/// <summary>What a command is going to add to a sorted set at most; reserved before its first change.</summary>
internal struct ScoreRoom
{
    public int Members;

    /// <summary>Of the items of all members, as a region has them.</summary>
    public long Bytes;

    /// <summary>What they take in a run, with their scores.</summary>
    public long PackedBytes;

    /// <summary>Of the longest member.</summary>
    public int Longest;

    /// <summary>Whether it was reserved.</summary>
    public bool IsReserved;

    /// <summary>What a new set of these will take in its record.</summary>
    public readonly int ExpectedBytes
    {
        get
        {
            long run = PackedRun.HeaderBytes + PackedBytes;
            return Longest < 254 && run <= PackedRun.BytesMax ? (int)run : sizeof(long);
        }
    }

    /// <summary>Counts one more member.</summary>
    /// <param name="score">Or what is added to the score of a single one: what that becomes is looked at when it is
    /// known.</param>
    public void Add(int length, double score)
    {
        Members++;
        Bytes += Region.SizeOf(ScoreItem.SizeOf(length));
        PackedBytes += PackedScores.SizeOf(length, score);
        Longest = Math.Max(Longest, length);
    }
}
