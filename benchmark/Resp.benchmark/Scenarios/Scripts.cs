using System.Text;
using Kv.Protocol;
using RespBenchmark.Workload;

namespace RespBenchmark.Scenarios;

/// <summary>A Lua script that reads a key, adds one and writes it back, called by its hash: what
/// <see cref="Transactions"/> do in two round trips and more.</summary>
internal sealed class Scripts : Scenario
{
    private const string AddOne =
        "local n = tonumber(redis.call('GET', KEYS[1]) or '0') + 1 redis.call('SET', KEYS[1], n) return n";

    public override string Name => "lua";

    public override IReadOnlyList<string> Commands => ["EVALSHA", "SCRIPT"];

    public override IReadOnlyList<string> Latencies => ["script"];

    public override IReadOnlyList<string> Counts => [];

    public override IReadOnlyList<string> ScriptTexts => [AddOne];

    public override IEnumerable<string> Keys(ScenarioStage stage) => stage.Names("key", stage.KeyCount);

    public override IEnumerable<string> Counters(ScenarioStage stage) => Keys(stage);

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder) =>
        [new Caller(group, stage, recorder)];

    private sealed class Caller(int number, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly KeyDraws _draws = stage.Draws(number);
        private readonly byte[] _hash = Encoding.ASCII.GetBytes(GarnetOps.ShaOf(AddOne));
        private readonly Queue<Departure> _sent = new();

        public override string Role => "session";

        public override bool CanBegin => _sent.Count < stage.Depth;

        public override int Outstanding => _sent.Count;

        public override void Begin(long intended, long now)
        {
            Requests.Command(4).Add("EVALSHA"u8).Add(_hash).Add(1)
                .Add(Encoding.ASCII.GetBytes(stage.Key("key", _draws.Next())));
            _sent.Enqueue(new Departure(intended, now));
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (!_sent.TryDequeue(out Departure departure)) return "a reply that no script gave";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                return null;
            }

            Recorder.Updates++;
            Recorder.Done(departure, now);
            return null;
        }
    }
}
