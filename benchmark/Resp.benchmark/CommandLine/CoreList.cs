namespace RespBenchmark.CommandLine;

/// <summary>Lists of processor cores: 0-3,5.</summary>
internal static class CoreList
{
    private const int CoreMax = 4095;

    public static int[] Parse(string option, string text)
    {
        var cores = new List<int>();
        foreach (string part in text.Split(','))
        {
            string[] ends = part.Split('-', 2);
            if (!int.TryParse(ends[0], out int first) || !int.TryParse(ends[^1], out int last) || first < 0
                || last < first || last > CoreMax)
                throw new UsageException($"{option} takes cores like 0-3,5, got '{text}'");
            cores.AddRange(Enumerable.Range(first, last - first + 1));
        }

        return [.. cores.Distinct()];
    }
}
