using System.Globalization;
using System.Text;

namespace RespBenchmark.Measure;

/// <summary>Writes a histogram log (.hlog), format 1.3: a line an interval, times in seconds since the start, maxima in
/// ms.</summary>
/// <remarks>UTF-8 without a mark, lines end with \n. The caller owns the stream.</remarks>
internal sealed class HistogramLog : IDisposable
{
    private readonly StreamWriter _writer;

    public HistogramLog(Stream stream, DateTimeOffset started, string program)
    {
        _writer = new StreamWriter(stream, new UTF8Encoding(encoderShouldEmitUTF8Identifier: false),
            leaveOpen: true) { NewLine = "\n" };
        double epoch = started.ToUnixTimeMilliseconds() / 1000.0;
        _writer.WriteLine($"#[Logged with {program}]");
        _writer.WriteLine("#[Histogram log format version 1.3]");
        _writer.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"#[StartTime: {epoch:F3} (seconds since epoch), {started.UtcDateTime:ddd MMM dd HH:mm:ss} UTC "
            + $"{started.UtcDateTime:yyyy}]"));
        _writer.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"#[BaseTime: {epoch:F3} (seconds since epoch)]"));
        _writer.WriteLine("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"");
    }

    /// <param name="tag">What the interval is of, an op's name; a comma, space or line end in it becomes a low
    /// line.</param>
    /// <param name="start">Since the start of the log.</param>
    public void Write(string tag, TimeSpan start, TimeSpan length, Histogram histogram) =>
        _writer.WriteLine(string.Create(CultureInfo.InvariantCulture, $"Tag={Plain(tag)},{start.TotalSeconds:F3},"
            + $"{length.TotalSeconds:F3},{histogram.Max / 1e6:F3},{HdrEncoding.ToText(histogram)}"));

    public void Dispose() => _writer.Dispose();

    private static string Plain(string tag) =>
        string.Concat(tag.Select(letter => letter is ',' or ' ' or '\r' or '\n' or '\t' ? '_' : letter));
}
