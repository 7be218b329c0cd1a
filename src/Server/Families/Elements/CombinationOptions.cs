using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The options of ZUNION and its kin after the keys: WEIGHTS, AGGREGATE, WITHSCORES.</summary>
internal struct CombinationOptions
{
    public bool WithScores;
    public ScoreAggregate Aggregate;

    /// <summary>One for each set; null if none were given.</summary>
    public double[]? Weights;

    /// <summary>Reads the options; <see cref="CommandArguments.Finish"/> writes the error of a bad one.</summary>
    /// <param name="sets">How many sets are combined.</param>
    /// <param name="mayWeigh">Whether WEIGHTS and AGGREGATE are allowed: not for differences.</param>
    /// <param name="stores">Whether the result is stored, so that WITHSCORES is not allowed.</param>
    public static CombinationOptions Read(ref CommandArguments arguments, int sets, bool mayWeigh, bool stores)
    {
        Debug.Assert(sets > 0, "sets are counted");
        var options = default(CombinationOptions);
        while (arguments.Remaining > 0)
        {
            if (mayWeigh && arguments.Remaining > sets && arguments.TryKeyword("WEIGHTS"u8))
                options.Weights = ReadWeights(ref arguments, sets);
            else if (mayWeigh && arguments.Remaining > 1 && arguments.TryKeyword("AGGREGATE"u8))
                options.Aggregate = ReadAggregate(ref arguments);
            else if (!stores && arguments.TryKeyword("WITHSCORES"u8)) options.WithScores = true;
            else arguments.SyntaxError();
        }

        return options;
    }

    /// <summary>Reads the LIMIT of SINTERCARD and ZINTERCARD.</summary>
    /// <returns>How far to count; for LIMIT 0, which is no limit, the greatest number.</returns>
    public static long ReadLimit(ref CommandArguments arguments)
    {
        long limit = 0;
        while (arguments.Remaining > 0)
        {
            if (arguments.Remaining > 1 && arguments.TryKeyword("LIMIT"u8))
                limit = arguments.NextInt64(0, long.MaxValue, "ERR LIMIT can't be negative"u8);
            else arguments.SyntaxError();
        }

        return limit == 0 ? long.MaxValue : limit;
    }

    private static double[] ReadWeights(ref CommandArguments arguments, int sets)
    {
        Debug.Assert(sets > 0 && arguments.Remaining >= sets, "there is a weight for each set");
        double[] weights = new double[sets];
        for (int i = 0; i < sets; i++)
        {
            if (!Kv.Protocol.NumberText.TryParseDouble(arguments.NextBytes(), out weights[i]))
                arguments.Fail("ERR weight value is not a float"u8);
        }

        return weights;
    }

    private static ScoreAggregate ReadAggregate(ref CommandArguments arguments)
    {
        if (arguments.TryKeyword("SUM"u8)) return ScoreAggregate.Sum;
        if (arguments.TryKeyword("MIN"u8)) return ScoreAggregate.Least;
        if (!arguments.TryKeyword("MAX"u8)) arguments.SyntaxError();
        return ScoreAggregate.Greatest;
    }
}
