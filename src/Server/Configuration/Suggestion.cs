using System.Diagnostics;

namespace Kv.Server.Configuration;

/// <summary>"Did you mean", for names of options.</summary>
internal static class Suggestion
{
    /// <summary>A question to append to an error, with the nearest known name; empty when none is near.</summary>
    /// <param name="prefix">What names begin with where the mistake was made.</param>
    public static string For(string name, string prefix = "")
    {
        string? nearest = Nearest(name.ToLowerInvariant());
        return nearest is null ? "" : $"; did you mean '{prefix}{nearest}'?";
    }

    /// <summary>The option that was probably meant; null when none is near.</summary>
    public static Option? OptionNear(string name) =>
        Nearest(name.ToLowerInvariant()) is { } near ? CommandLine.Find(near) : null;

    /// <summary>The known name with the fewest letters wrong; null when more than a third are.</summary>
    public static string? Nearest(string name)
    {
        if (name.Length is < 2 or > 64) return null;
        string? best = null;
        int fewest = Math.Min(3, (name.Length + 2) / 3) + 1;
        foreach (var option in OptionTable.Rows)
        {
            foreach (string known in (string[])[option.Name, .. option.Aliases, .. option.Switches])
            {
                int distance = known.Length == 1 ? int.MaxValue : Distance(name, known);
                if (distance >= fewest) continue;
                (fewest, best) = (distance, known);
            }
        }

        return best;
    }

    /// <summary>Letters to insert, delete, replace or swap with their neighbour.</summary>
    private static int Distance(string a, string b)
    {
        var d = new int[a.Length + 1, b.Length + 1];
        for (int i = 0; i <= a.Length; i++) d[i, 0] = i;
        for (int j = 0; j <= b.Length; j++) d[0, j] = j;
        for (int i = 1; i <= a.Length; i++)
        {
            for (int j = 1; j <= b.Length; j++)
            {
                int replaced = d[i - 1, j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
                d[i, j] = Math.Min(replaced, Math.Min(d[i - 1, j], d[i, j - 1]) + 1);
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                    d[i, j] = Math.Min(d[i, j], d[i - 2, j - 2] + 1);
            }
        }

        Debug.Assert(d[a.Length, b.Length] <= Math.Max(a.Length, b.Length), "to write all of it anew is the most");
        return d[a.Length, b.Length];
    }
}
