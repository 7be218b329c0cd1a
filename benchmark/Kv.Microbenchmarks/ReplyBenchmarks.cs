using System.Text;
using BenchmarkDotNet.Attributes;
using RespBenchmark.Engine;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace Kv.Microbenchmarks;

/// <summary>What a reply costs the load generator behind the kernel: cut out of what was received, checked, counted,
/// timed.</summary>
public class ReplyBenchmarks
{
    private const int Replies = 512;

    private byte[] _input = null!;
    private int _bytes;
    private ReplyFramer _framer = null!;
    private Session _session = null!;
    private long _now = 1;

    /// <summary>HIT: values of 8 bytes. SHORT: +OK. MIXED: a value, a nil, a value ..., so that no reply is like the
    /// one before.</summary>
    [Params("HIT", "SHORT", "MIXED")]
    public string Shape { get; set; } = "HIT";

    [GlobalSetup]
    public void Setup()
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(Shape == "SHORT" ? "SET" : "GET")!,
            OpSettings.Garnet(1024, 8, 8));
        string wire = Shape switch
        {
            "HIT" => Repeat("$8\r\nabcdefgh\r\n", Replies),
            "SHORT" => Repeat("+OK\r\n", Replies),
            _ => Repeat("$8\r\nabcdefgh\r\n$-1\r\n", Replies / 2),
        };
        _input = Encoding.Latin1.GetBytes(wire + new string('\0', ReplyFramer.Slack));
        _bytes = wire.Length;
        _session = new Session(0, null, new CellPlan { Target = new Target(), Workload = workload });
        _framer = new ReplyFramer(workload, new Recorder(workload.Kinds, openLoop: false), latency: true,
            verifyShare: 0, seed: 1);
    }

    [Benchmark(OperationsPerInvoke = Replies)]
    public int Frame()
    {
        _session.Inflight.Add(Replies, 0, _now, _now);
        _now += 1_000_000;
        return _framer.Read(_session, _input.AsSpan(0, _bytes), _now);
    }

    private static string Repeat(string text, int count) => string.Concat(Enumerable.Repeat(text, count));
}
