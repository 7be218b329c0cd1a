using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;

namespace RespBenchmark.Reports;

/// <summary>Writes and reads reports as JSON.</summary>
internal static class ReportJson
{
    // By reflection, not generated: generated readers set every property, so that a field that an old file lacks would
    // lose its default.
    private static readonly JsonSerializerOptions Options = new()
    {
        TypeInfoResolver = new DefaultJsonTypeInfoResolver(),
        PropertyNamingPolicy = JsonNamingPolicy.SnakeCaseLower,
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        RespectNullableAnnotations = true,
        WriteIndented = true,
        NewLine = "\n",
        // The files are opened by editors and programs, never by a browser: no need to escape what only HTML minds.
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    };

    public static string Write(Report report) => JsonSerializer.Serialize(report, Options) + "\n";

    /// <exception cref="FormatException">It is no report, or one of a schema to come; the message says
    /// which.</exception>
    public static Report Read(string json)
    {
        Report? report;
        try
        {
            report = JsonSerializer.Deserialize<Report>(json, Options);
        }
        catch (JsonException e)
        {
            throw new FormatException($"not a report: {e.Message}", e);
        }

        if (report is null) throw new FormatException("not a report: null");
        if (report.Schema != Report.SchemaVersion)
        {
            throw new FormatException(
                $"a report of schema {report.Schema}; this version reads schema {Report.SchemaVersion}");
        }

        return report;
    }
}
