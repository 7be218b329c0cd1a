using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using RespBenchmark.Reports;

namespace RespBenchmark.Native;

/// <summary>What is done about operations that a stalled server kept from being sent (--co).</summary>
/// <remarks>intended: an open loop counts from when operations were due, a closed loop is left as it is. none: service
/// times, also of an open loop. expected:N: a closed loop whose sessions would have sent one every N us; the operations
/// that a longer one held up are added, with what was left of the wait for each.</remarks>
internal sealed class OmissionCorrection
{
    private const string Intended = "intended", None = "none", Expected = "expected:";

    private readonly string _text;
    private readonly long _intervalNs;

    private OmissionCorrection(string text, long intervalNs) => (_text, _intervalNs) = (text, intervalNs);

    /// <summary>As reports name it; null: intended, as ever.</summary>
    public string? Name => _text == Intended ? null : _text;

    /// <summary>Appended to what is said of the latencies.</summary>
    public string About => _text switch
    {
        Intended => "",
        None => " (--co none: service times, whatever was due)",
        _ => $" corrected for coordinated omission by an expected interval of {_text[Expected.Length..]} us",
    };

    /// <exception cref="UsageException">It cannot be read, or does not go with an open loop.</exception>
    public static OmissionCorrection Of(RunVerb verb)
    {
        if (verb.Omission is Intended or None) return new OmissionCorrection(verb.Omission, 0);
        if (!verb.Omission.StartsWith(Expected, StringComparison.Ordinal)
            || !double.TryParse(verb.Omission[Expected.Length..], NumberStyles.AllowDecimalPoint,
                CultureInfo.InvariantCulture, out double us)
            || us < 0.001 || us > Histogram.ValueMax / 1000.0)
            throw new UsageException(
                $"--co takes intended, none or expected:US (the microseconds between a session's operations), not "
                + $"'{verb.Omission}'");
        if (verb.Rate is not null || verb is RateVerb)
            throw new UsageException(
                "--co expected is for a closed loop: with --rate latencies count from when operations were due, and "
                + "must not be corrected twice");
        return new OmissionCorrection(verb.Omission, (long)(us * 1000));
    }

    /// <summary>The repetition with the latencies that this asks for.</summary>
    public Repetition ApplyTo(Repetition repetition, Measurement measured)
    {
        if (_text == Intended) return repetition;
        return repetition with { Co = _text, Response =
            _intervalNs > 0 ? LatencySummary.Of(measured.Service.Corrected(_intervalNs)) : repetition.Response };
    }
}
