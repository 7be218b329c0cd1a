using System.Buffers.Text;
using System.Text;
using Kv.Protocol;
using RespBenchmark.Workload;

namespace RespBenchmark.Scenarios;

/// <summary>A lock as applications keep it: SET NX PX until it is got, GET and SET of a counter under it, release by a
/// script that deletes only the own token. Fewer keys, more contention.</summary>
/// <remarks>Every holder adds one to its key's counter, so that two holders at once show as a lost update.</remarks>
internal sealed class Locks : Scenario
{
    private const string Release =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private const int Hold = 1, Tries = 0, Refused = 1;
    private const int LeaseMs = 60_000;

    public override string Name => "lock";

    public override IReadOnlyList<string> Commands => ["SET", "GET", "EVALSHA", "SCRIPT"];

    public override IReadOnlyList<string> Latencies => ["acquire", "hold"];

    public override IReadOnlyList<string> Counts => ["tries_s", "refused"];

    public override bool TakesDepth => false;

    public override IReadOnlyList<string> ScriptTexts => [Release];

    public override IEnumerable<string> Keys(ScenarioStage stage) =>
        stage.Names("lock", stage.KeyCount).Concat(Counters(stage));

    public override IEnumerable<string> Counters(ScenarioStage stage) => stage.Names("count", stage.KeyCount);

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder) =>
        [new Holder(group, stage, recorder)];

    public override IEnumerable<(string Name, double Value)> Figures(
        ScenarioStage stage, Func<string, long> countOf, long ops)
    {
        long tries = countOf("tries_s");
        yield return ("retry_rate", tries > 0 ? (double)countOf("refused") / tries : 0);
    }

    private enum Step
    {
        Idle,
        Acquire,
        Read,
        Write,
        Release,
    }

    private sealed class Holder(int number, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly KeyDraws _draws = stage.Draws(number);
        private readonly byte[] _token = Encoding.ASCII.GetBytes($"{stage.Run}-{number}"),
            _hash = Encoding.ASCII.GetBytes(GarnetOps.ShaOf(Release));
        private byte[] _lock = [], _counter = [];
        private Departure _departure;
        private long _acquired;
        private Step _step;

        public override string Role => "session";

        public override bool CanBegin => _step == Step.Idle;

        public override int Outstanding => _step == Step.Idle ? 0 : 1;

        public override void Begin(long intended, long now)
        {
            long key = _draws.Next();
            (_lock, _counter) = (Encoding.ASCII.GetBytes(stage.Key("lock", key)),
                Encoding.ASCII.GetBytes(stage.Key("count", key)));
            _departure = new Departure(intended, now);
            Try();
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (_step == Step.Idle) return "a reply that nothing asked for";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                // What is held is given back all the same, unless it was that which failed.
                if (_step is Step.Read or Step.Write) GiveBack();
                else _step = Step.Idle;
                return null;
            }

            switch (_step)
            {
                case Step.Acquire:
                    Acquire(reply, now);
                    break;
                case Step.Read:
                    long value = Utf8Parser.TryParse(reply.Bytes, out long read, out _) ? read : 0;
                    Requests.Command(3).Add("SET"u8).Add(_counter).Add(value + 1);
                    _step = Step.Write;
                    break;
                case Step.Write:
                    Recorder.Updates++;
                    GiveBack();
                    break;
                default:
                    Recorder.Latency(Hold).Record(now - _acquired);
                    _step = Step.Idle;
                    break;
            }

            return null;
        }

        private void Try()
        {
            Recorder.Count(Tries);
            Requests.Command(6).Add("SET"u8).Add(_lock).Add(_token).Add("NX"u8).Add("PX"u8).Add(LeaseMs);
            _step = Step.Acquire;
        }

        private void Acquire(RespValue reply, long now)
        {
            if (reply.IsNull)
            {
                // Ends: a holder does two commands and gives the lock back; one that is gone loses it with its lease.
                Recorder.Count(Refused);
                Try();
                return;
            }

            _acquired = now;
            Recorder.Done(_departure, now);
            Requests.Command(2).Add("GET"u8).Add(_counter);
            _step = Step.Read;
        }

        private void GiveBack()
        {
            Requests.Command(5).Add("EVALSHA"u8).Add(_hash).Add(1).Add(_lock).Add(_token);
            _step = Step.Release;
        }
    }
}
