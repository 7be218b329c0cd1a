using System.Globalization;

namespace RespBenchmark.CommandLine;

/// <summary>Durations as options give them: 2, 2s, 250ms, 50us, 1m.</summary>
internal static class DurationText
{
    private static readonly (string Unit, double Seconds)[] Units =
        [("ms", 1e-3), ("us", 1e-6), ("s", 1), ("m", 60), ("h", 3600)];

    /// <param name="option">Named in the error.</param>
    /// <exception cref="UsageException">No duration, or a negative one.</exception>
    public static TimeSpan Parse(string option, string text)
    {
        double factor = 1;
        string digits = text;
        foreach ((string unit, double seconds) in Units)
        {
            if (!text.EndsWith(unit, StringComparison.Ordinal)) continue;
            digits = text[..^unit.Length];
            factor = seconds;
            break;
        }

        if (!double.TryParse(digits, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double number)
            || number * factor > 1e9)
            throw new UsageException($"{option} takes a duration like 2s, 250ms, 50us or 1m, not '{text}'");
        return TimeSpan.FromTicks((long)(number * factor * TimeSpan.TicksPerSecond));
    }
}
