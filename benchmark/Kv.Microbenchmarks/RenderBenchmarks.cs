using BenchmarkDotNet.Attributes;
using RespBenchmark.Workload;

namespace Kv.Microbenchmarks;

/// <summary>Rendering requests for one send: the cost of an operation in the load generator before the
/// kernel.</summary>
public class RenderBenchmarks
{
    private const int Commands = 512;

    private RequestSource _source = null!;
    private SessionStream _session;

    /// <summary>GET and SET are patched in place; MIX is rendered command by command; ZIPF is a GET of another
    /// distribution.</summary>
    [Params("GET", "SET", "MIX", "ZIPF")]
    public string Shape { get; set; } = "GET";

    [GlobalSetup]
    public void Setup()
    {
        OpSettings settings = OpSettings.Garnet(16_777_216, 8, 128, zipf: Shape == "ZIPF");
        ShapedWorkload workload = Shape == "MIX"
            ? GarnetOps.OnlineMix([(GarnetOps.Find("GET")!, 80), (GarnetOps.Find("SET")!, 20)], settings)
            : GarnetOps.Throughput(GarnetOps.Find(Shape == "SET" ? "SET" : "GET")!, settings);
        _source = workload.Open(0, 1, 1, 1);
    }

    [Benchmark(OperationsPerInvoke = Commands)]
    public int Render() => _source.Render(ref _session, Commands).Commands;
}
