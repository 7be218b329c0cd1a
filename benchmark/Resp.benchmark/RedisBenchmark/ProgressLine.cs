using System.Globalization;

namespace RespBenchmark.RedisBenchmark;

/// <summary>The line that redis-benchmark draws over itself while a test runs, and how it is cleared.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class ProgressLine(TextWriter output, bool legacy)
{
    private int _drawn;

    /// <summary>A test begins: nothing of it is drawn yet.</summary>
    public void Begin() => _drawn = 0;

    /// <summary>Blanks what was drawn last; one blank if nothing was. The old form just writes over it.</summary>
    public void Clear()
    {
        if (!legacy) output.Write(" ".PadLeft(Math.Max(1, _drawn)) + "\r");
    }

    /// <summary>Draws a test's state.</summary>
    /// <param name="rate">Requests a second since the last line.</param>
    /// <param name="overallRate">Since the test began; NaN: it has not.</param>
    /// <param name="latencyMs">Mean since the last line; NaN: no sample.</param>
    /// <param name="overallMs">Mean since the test began; NaN: no sample.</param>
    public void Draw(string title, double rate, double overallRate, double latencyMs, double overallMs) => Draw(legacy
        ? string.Create(CultureInfo.InvariantCulture, $"{title}: {(double.IsNaN(overallRate) ? 0 : overallRate):F2}\r")
        : $"{title}: rps={Fixed(rate, "F1")} (overall: {Fixed(overallRate, "F1")}) "
            + $"avg_msec={Fixed(latencyMs, "F3")} (overall: {Fixed(overallMs, "F3")})\r");

    /// <summary>Draws how many connections stand idle.</summary>
    public void DrawIdle(int clients) => Draw($"clients: {clients}\r");

    private void Draw(string text)
    {
        Clear();
        output.Write(text);
        output.Flush();
        _drawn = text.Length;
    }

    // C prints 0.0/0.0 with a sign.
    private static string Fixed(double value, string format) =>
        double.IsNaN(value) ? "-nan" : value.ToString(format, CultureInfo.InvariantCulture);
}
