using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What ZUNION and its kin are told behind their keys: WEIGHTS, AGGREGATE, WITHSCORES.</summary>
internal struct CombinationOptions
{
    public bool WithScores;
    public ScoreAggregate Aggregate;

    /// <summary>One for each set; null: none were given.</summary>
    public double[]? Weights;

    /// <summary>Reads them; a bad one is the arguments' first error.</summary>
    /// <param name="sets">How many sets are combined.</param>
    /// <param name="mayWeigh">Not for differences.</param>
    /// <param name="stores">The result is stored, so WITHSCORES is no word.</param>
    public static CombinationOptions Read(ref CommandArguments arguments, int sets, bool mayWeigh, bool stores)
    {
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
    /// <returns>How far to count; 0, which stands for no limit, is the greatest number.</returns>
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
