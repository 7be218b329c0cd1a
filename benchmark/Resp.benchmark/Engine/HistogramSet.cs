using RespBenchmark.Measure;

namespace RespBenchmark.Engine;

/// <summary>The histograms of one loop, or of all together: service times of each kind, and in an open loop response
/// times and lags of all kinds.</summary>
internal sealed class HistogramSet
{
    public HistogramSet(int kinds, bool openLoop)
    {
        Service = new Histogram[kinds];
        for (int kind = 0; kind < kinds; kind++) Service[kind] = new Histogram();
        if (!openLoop) return;
        Response = new Histogram();
        Lag = new Histogram();
    }

    public Histogram[] Service { get; }

    public Histogram? Response { get; }

    public Histogram? Lag { get; }

    public void Add(HistogramSet other)
    {
        for (int kind = 0; kind < Service.Length; kind++) Service[kind].Add(other.Service[kind]);
        if (Response is null) return;
        Response.Add(other.Response!);
        Lag!.Add(other.Lag!);
    }

    public void Reset()
    {
        foreach (Histogram one in Service) one.Reset();
        Response?.Reset();
        Lag?.Reset();
    }
}
