using System.Diagnostics.Metrics;
using System.Runtime.CompilerServices;
using Kv.Server.Configuration;

namespace Kv.Server.Reports;

/// <summary>The meter "Kv.Server": each metric that is on the page for Prometheus as an observable instrument, for
/// programs that have a server inside.</summary>
/// <remarks>
/// Threads: any, by a lock. Cost: nothing while nobody listens. Whoever listens asks for one instrument after the
/// other, so that what is read for one serves all for a tenth of a second.
/// </remarks>
internal sealed class ServerMeter : IDisposable
{
    public const string Name = "Kv.Server";

    private const long ReadingMsMax = 100;

    private static readonly (string Suffix, string Unit)[] Units =
        [("_bytes", "By"), ("_in_seconds", "s"), ("_seconds", "s"), ("_ms", "ms")];

    private readonly KvServer _server;
    private readonly Lock _guard = new();
    private readonly Meter _meter;
    private ServerReading? _reading;
    private long _readTickMs;
    private bool _isDisposed;

    /// <param name="port">Tells servers of one process apart.</param>
    public ServerMeter(KvServer server, int port)
    {
        _server = server;
        _meter = new Meter(new MeterOptions(Name)
        {
            Version = ServerVersion.KvVersion, Scope = server, Tags = [new("server.port", port)],
        });
        foreach (var row in MetricTable.Rows)
        {
            if (row.Page != null)
                Add(row.Page, row.Kind, row.Summary, () => Observe([], reading =>
                    [new Sample(row.ReadForPage(reading))]));
        }

        foreach (var row in SeriesTable.Rows)
            Add(row.Page, row.Kind, row.Summary, () => Observe(row.Labels, row.Read));
    }

    /// <summary>Loads the assembly that meters are in.</summary>
    public static void Load() => RuntimeHelpers.RunClassConstructor(typeof(Meter).TypeHandle);

    /// <summary>The instrument of a metric on the page: "kv." and the page's name, without its first word, its unit and
    /// "_total".</summary>
    public static (string Name, string? Unit) InstrumentOf(string page, MetricKind kind)
    {
        string name = page[(page.IndexOf('_') + 1)..];
        if (kind == MetricKind.Counter && name.EndsWith("_total", StringComparison.Ordinal)) name = name[..^6];
        foreach (var (suffix, unit) in Units)
            if (name.EndsWith(suffix, StringComparison.Ordinal)) return ("kv." + name[..^suffix.Length], unit);
        return ("kv." + name, null);
    }

    public void Dispose()
    {
        _meter.Dispose();
        // Whoever observes now is done before the store is freed.
        lock (_guard)
        {
            _isDisposed = true;
            _reading = null;
        }
    }

    private void Add(string page, MetricKind kind, string summary, Func<IEnumerable<Measurement<double>>> observe)
    {
        var (name, unit) = InstrumentOf(page, kind);
        if (kind == MetricKind.Counter) _meter.CreateObservableCounter(name, observe, unit, summary);
        else _meter.CreateObservableGauge(name, observe, unit, summary);
    }

    private IReadOnlyList<Measurement<double>> Observe(string[] labels,
        Func<ServerReading, IEnumerable<Sample>> read)
    {
        lock (_guard)
        {
            if (_isDisposed) return [];
            long now = _server.TickMs;
            if (_reading == null || now - _readTickMs > ReadingMsMax)
                (_reading, _readTickMs) = (new ServerReading(_server), now);
            return [.. read(_reading).Select(sample => new Measurement<double>(sample.Number, Tags(labels, sample)))];
        }
    }

    private static KeyValuePair<string, object?>[] Tags(string[] labels, Sample sample)
    {
        var tags = new KeyValuePair<string, object?>[labels.Length];
        for (int i = 0; i < labels.Length; i++) tags[i] = new(labels[i], sample.Labels[i]);
        return tags;
    }
}
