using System.Globalization;
using System.Text;

namespace Kv.Server.Diagnostics;

/// <summary>LATENCY GRAPH: samples as columns of characters, the oldest at the left, each with its age written
/// downwards below it.</summary>
internal static class LatencyGraph
{
    private const int Columns = 80, Rows = 4;

    /// <summary>What ends a column, by the third of its row that it fills.</summary>
    private const string Tips = "_o#";

    private const int Levels = Rows * 3;

    public static string Draw(LatencySeries series, long nowUnixSeconds)
    {
        var samples = series.Samples;
        long high = samples.Max(sample => sample.Milliseconds), low = samples.Min(sample => sample.Milliseconds);
        var text = new StringBuilder(2048);
        text.Append(CultureInfo.InvariantCulture,
            $"{series.Name} - high {high} ms, low {low} ms (all time high {series.WorstMilliseconds} ms)\n");
        text.Append('-', Columns).Append('\n');
        for (int from = 0; from < samples.Length; from += Columns)
        {
            if (from > 0) text.Append('\n');
            DrawBlock(text, samples.AsSpan(from, Math.Min(Columns, samples.Length - from)), low, high, nowUnixSeconds);
        }

        return text.ToString();
    }

    private static void DrawBlock(StringBuilder text, ReadOnlySpan<LatencySample> samples, long low, long high,
        long nowUnixSeconds)
    {
        long range = Math.Max(1, high - low);
        for (int row = Rows - 1; row >= 0; row--)
        {
            foreach (var sample in samples)
            {
                long level = Math.Min((sample.Milliseconds - low) * Levels / range, Levels - 1);
                text.Append((level - (row * Tips.Length)) switch
                {
                    < 0 => ' ',
                    long third and < 3 => Tips[(int)third],
                    _ => '|',
                });
            }

            text.Append('\n');
        }

        text.Append(' ', samples.Length).Append('\n');
        AppendAges(text, samples, nowUnixSeconds);
    }

    private static void AppendAges(StringBuilder text, ReadOnlySpan<LatencySample> samples, long nowUnixSeconds)
    {
        var ages = new string[samples.Length];
        for (int i = 0; i < ages.Length; i++) ages[i] = AgeOf(Math.Max(0, nowUnixSeconds - samples[i].UnixSeconds));
        int longest = ages.Max(age => age.Length);
        for (int line = 0; line < longest; line++)
        {
            foreach (string age in ages) text.Append(line < age.Length ? age[line] : ' ');
            text.Append('\n');
        }
    }

    private static string AgeOf(long seconds) => seconds switch
    {
        < 60 => Invariant($"{seconds}s"),
        < 3600 => Invariant($"{seconds / 60}m"),
        < 86400 => Invariant($"{seconds / 3600}h"),
        _ => Invariant($"{seconds / 86400}d"),
    };

    private static string Invariant(FormattableString text) => FormattableString.Invariant(text);
}
