using System.Globalization;
using System.Text.RegularExpressions;

namespace Kv.Tests.Reports;

/// <summary>A page in Prometheus' text format 0.0.4, read more strictly than Prometheus does: each family once, with
/// HELP and TYPE, its samples together, none twice.</summary>
internal sealed partial class PrometheusPage
{
    private const string Label = @"(?<label>[a-zA-Z_][a-zA-Z0-9_]*)=""([^""\\\r]|\\\\|\\""|\\n)*""";

    private readonly Dictionary<string, double> _samples = [];

    /// <summary>The types of the families, by name.</summary>
    public Dictionary<string, string> Types { get; } = [];

    /// <summary>The samples' names with their labels as they stand there, in order.</summary>
    public IEnumerable<string> Samples => _samples.Keys;

    public double this[string sample] => _samples.TryGetValue(sample, out double value) ? value
        : throw new KeyNotFoundException($"no {sample} on the page");

    /// <exception cref="FormatException">It is no such page.</exception>
    public static PrometheusPage Parse(string text)
    {
        var page = new PrometheusPage();
        if (!text.EndsWith('\n')) throw new FormatException("the last line has no end");
        string family = "", helped = "";
        foreach (string line in text[..^1].Split('\n'))
        {
            if (Help().Match(line) is { Success: true } help)
            {
                helped = help.Groups[1].Value;
                if (page.Types.ContainsKey(helped)) throw new FormatException($"a family twice: {line}");
            }
            else if (Type().Match(line) is { Success: true } type)
            {
                family = type.Groups[1].Value;
                if (helped != family) throw new FormatException($"TYPE without its HELP: {line}");
                if (!page.Types.TryAdd(family, type.Groups[2].Value)) throw new FormatException($"twice: {line}");
            }
            else
            {
                page.AddSample(line, family);
            }
        }

        return page;
    }

    private void AddSample(string line, string family)
    {
        var match = Sample().Match(line);
        if (!match.Success) throw new FormatException($"no sample: {line}");
        if (match.Groups["name"].Value != family) throw new FormatException($"outside of its family: {line}");
        var labels = match.Groups["label"].Captures.Select(label => label.Value).ToList();
        if (labels.Distinct().Count() != labels.Count) throw new FormatException($"a label twice: {line}");
        string number = match.Groups["value"].Value;
        if (!double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out double value))
            throw new FormatException($"no number: {line}");
        if (!_samples.TryAdd(line[..^(number.Length + 1)], value)) throw new FormatException($"twice: {line}");
    }

    [GeneratedRegex(@"^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\\r]|\\\\|\\n)+)$")]
    private static partial Regex Help();

    [GeneratedRegex(@"^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary)$")]
    private static partial Regex Type();

    [GeneratedRegex(@"^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(\{" + Label + "(," + Label + @")*\})? "
        + @"(?<value>[+-]?([0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|Inf)|NaN)$")]
    private static partial Regex Sample();
}
