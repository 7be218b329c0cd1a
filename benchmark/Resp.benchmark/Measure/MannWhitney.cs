namespace RespBenchmark.Measure;

/// <summary>The exact two-sided Mann-Whitney test: could both sets of values be draws from one source?</summary>
internal static class MannWhitney
{
    /// <summary>Values a side below which p cannot reach 0.05: 3 against 3 give 2/20 = 0.10 at best.</summary>
    public const int CountMin = 4;

    /// <summary>The share of all ways to deal the values to the two sides that are at least as uneven as this one. 1
    /// where a side is empty.</summary>
    /// <remarks>Exact with ties too: equal values share the mean of their ranks. Cost: n² · |a| additions, for n
    /// values.</remarks>
    public static double TwoSided(IReadOnlyCollection<double> a, IReadOnlyCollection<double> b)
    {
        if (a.Count == 0 || b.Count == 0) return 1;

        var values = a.Select(value => (value, isA: true)).Concat(b.Select(value => (value, isA: false)))
            .OrderBy(pair => pair.value).ToArray();
        int[] ranks = TwiceRanks([.. values.Select(pair => pair.value)]);
        int sumA = 0;
        for (int index = 0; index < values.Length; index++) sumA += values[index].isA ? ranks[index] : 0;

        double[] ways = WaysToSum(ranks, a.Count);
        // The middle of all sums of |a| doubled ranks; ranks are 1 to n, so all sum to n (n + 1).
        double middle = (double)a.Count * (values.Length + 1);
        double away = Math.Abs(sumA - middle), uneven = 0;
        for (int sum = 0; sum < ways.Length; sum++)
        {
            if (Math.Abs(sum - middle) >= away) uneven += ways[sum];
        }

        return Math.Min(1, uneven / ways.Sum());
    }

    /// <summary>The smallest p of as many values a side: 2 of all ways to choose half of them.</summary>
    public static double SmallestP(int count)
    {
        double ways = 1;
        for (int i = 1; i <= count; i++) ways = ways * (count + i) / i;
        return Math.Min(1, 2 / ways);
    }

    // Doubled, so that the mean rank of two equal values is a whole number.
    private static int[] TwiceRanks(double[] sorted)
    {
        int[] ranks = new int[sorted.Length];
        for (int first = 0; first < sorted.Length;)
        {
            int end = first + 1;
            while (end < sorted.Length && sorted[end] == sorted[first]) end++;
            for (int index = first; index < end; index++) ranks[index] = first + 1 + end;
            first = end;
        }

        return ranks;
    }

    // ways[chosen][sum], one rank after another; from the top down, so that no rank is taken twice.
    private static double[] WaysToSum(int[] ranks, int chosenEnd)
    {
        int sumMax = ranks.Sum();
        var ways = new double[chosenEnd + 1][];
        for (int chosen = 0; chosen <= chosenEnd; chosen++) ways[chosen] = new double[sumMax + 1];
        ways[0][0] = 1;
        foreach (int rank in ranks)
        {
            for (int chosen = chosenEnd; chosen > 0; chosen--)
            {
                for (int sum = rank; sum <= sumMax; sum++) ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }

        return ways[chosenEnd];
    }
}
