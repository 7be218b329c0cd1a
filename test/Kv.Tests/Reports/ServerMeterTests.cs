using System.Diagnostics.Metrics;
using Kv.Server.Reports;
using Kv.Tests.Harness;

namespace Kv.Tests.Reports;

/// <summary>The meter "Kv.Server", as a program with a server inside sees it.</summary>
public class ServerMeterTests
{
    [Fact]
    public void Instruments_show_the_figures_of_their_server()
    {
        using var kv = KvInstance.Start();
        using var other = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("SET a 1");
        client.Ok("GET a");
        client.Ok("GET none");
        var seen = Observe(kv);
        Assert.Equal(1, seen["kv.connected_clients"]);
        Assert.Equal(1, seen["kv.keyspace_hits"]);
        Assert.Equal(2, seen["kv.commands cmd=get"]);
        Assert.Equal(1, seen["kv.db_keys db=db0"]);
        Assert.InRange(seen["kv.memory_used"], 1, 1L << 40);
        Assert.Equal(0, Observe(other)["kv.connected_clients"]);
    }

    [Fact]
    public void Every_metric_of_the_page_is_an_instrument_with_its_unit_and_text()
    {
        using var kv = KvInstance.Start();
        var published = Instruments(kv);
        var expected = MetricTable.Rows.Where(row => row.Page != null)
            .Select(row => (row.Page!, row.Kind, row.Summary))
            .Concat(SeriesTable.Rows.Select(row => (row.Page, row.Kind, row.Summary)))
            .Select(row => (ServerMeter.InstrumentOf(row.Item1, row.Kind), row.Summary,
                row.Kind == MetricKind.Counter ? typeof(ObservableCounter<double>) : typeof(ObservableGauge<double>)));
        Assert.Equal(expected.OrderBy(row => row.Item1.Name, StringComparer.Ordinal),
            published.Select(one => ((one.Name, one.Unit), one.Description!, one.GetType()))
                .OrderBy(row => row.Item1.Name, StringComparer.Ordinal));
        Assert.Equal(published.Count, published.Select(one => one.Name).Distinct().Count());
        Assert.Equal(("kv.memory_used", "By"), ServerMeter.InstrumentOf("redis_memory_used_bytes", MetricKind.Gauge));
        Assert.Equal(("kv.gc_pause", "s"), ServerMeter.InstrumentOf("kv_gc_pause_seconds_total", MetricKind.Counter));
    }

    [Fact]
    public void A_server_that_has_ended_has_no_instruments()
    {
        var kv = KvInstance.Start();
        using var listener = Listen(kv, (_, _) => { });
        kv.Dispose();
        Assert.Empty(Instruments(kv));
        listener.RecordObservableInstruments();
    }

    /// <summary>Whoever observes while the server ends reads nothing that was freed.</summary>
    [Fact]
    public async Task A_server_may_end_while_it_is_observed()
    {
        for (int i = 0; i < 10; i++)
        {
            var kv = KvInstance.Start();
            int count = 0;
            using var listener = Listen(kv, (_, _) => Interlocked.Increment(ref count));
            using var stop = new CancellationTokenSource();
            var observing = Task.Run(() =>
            {
                while (!stop.IsCancellationRequested) listener.RecordObservableInstruments();
            });
            Eventually.Holds(() => Volatile.Read(ref count) > 0, () => "nothing is observed");
            kv.Dispose();
            await stop.CancelAsync();
            await observing;
        }
    }

    private static Dictionary<string, double> Observe(KvInstance kv)
    {
        var seen = new Dictionary<string, double>();
        using var listener = Listen(kv, (name, value) => seen.Add(name, value));
        listener.RecordObservableInstruments();
        return seen;
    }

    private static List<Instrument> Instruments(KvInstance kv)
    {
        var instruments = new List<Instrument>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, _) =>
            {
                if (IsOf(instrument, kv)) instruments.Add(instrument);
            },
        };
        listener.Start();
        return instruments;
    }

    private static MeterListener Listen(KvInstance kv, Action<string, double> take)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, self) =>
            {
                if (IsOf(instrument, kv)) self.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
        {
            string labels = "";
            foreach (var (name, text) in tags) labels += $" {name}={text}";
            take(instrument.Name + labels, value);
        });
        listener.Start();
        return listener;
    }

    private static bool IsOf(Instrument instrument, KvInstance kv) =>
        instrument.Meter.Name == ServerMeter.Name && ReferenceEquals(instrument.Meter.Scope, kv.Server);
}
