using System.Globalization;
using System.Text;

namespace Kv.Server.Reports;

/// <summary>One figure: a whole number, a fraction with fixed digits, or a text.</summary>
internal readonly struct MetricValue
{
    private readonly long _whole;
    private readonly double _fraction;
    private readonly int _digits;
    private readonly string? _text;

    private MetricValue(long whole, double fraction, int digits, string? text) =>
        (_whole, _fraction, _digits, _text) = (whole, fraction, digits, text);

    public bool IsText => _text != null;

    /// <summary>Whether it is a number with a fraction.</summary>
    public bool IsFraction => _text == null && _digits > 0;

    /// <summary>The figure as a number; NaN for a text.</summary>
    public double Number => _text != null ? double.NaN : _digits > 0 ? _fraction : _whole;

    public static implicit operator MetricValue(long whole) => new(whole, 0, 0, null);
    public static implicit operator MetricValue(bool flag) => new(flag ? 1 : 0, 0, 0, null);
    public static implicit operator MetricValue(string text) => new(0, 0, 0, text);

    /// <summary>A fraction; 0 for what is no number, such as a ratio to 0.</summary>
    public static MetricValue Fraction(double value, int digits) =>
        new(0, double.IsFinite(value) ? value : 0, digits, null);

    /// <summary>Bytes for people: B, K, M, G, T, each 1,024 of the one before.</summary>
    public static MetricValue Size(long bytes) => bytes switch
    {
        < 1L << 10 => $"{bytes}B",
        < 1L << 20 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 10):F2}K"),
        < 1L << 30 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 20):F2}M"),
        < 1L << 40 => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 30):F2}G"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1L << 40):F2}T"),
    };

    public override string ToString()
    {
        var text = new StringBuilder();
        AppendTo(text);
        return text.ToString();
    }

    public void AppendTo(StringBuilder text)
    {
        if (_text != null) text.Append(_text);
        else if (_digits > 0) text.Append(_fraction.ToString("F" + _digits, CultureInfo.InvariantCulture));
        else text.Append(_whole);
    }
}
