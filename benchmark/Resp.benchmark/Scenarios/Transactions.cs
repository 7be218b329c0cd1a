using System.Buffers.Text;
using System.Text;
using Kv.Protocol;

namespace RespBenchmark.Scenarios;

/// <summary>Optimistic transactions: WATCH and GET, then MULTI, SET of one more, EXEC, again from the start when
/// another was faster. Fewer keys, more conflicts.</summary>
/// <remarks>Every commit adds one to its key, so that at the end the values of all keys must add up to the commits:
/// what is missing is a lost update.</remarks>
internal sealed class Transactions : Scenario
{
    private const int Attempts = 0, Conflicts = 1;

    public override string Name => "txn";

    public override IReadOnlyList<string> Commands => ["WATCH", "GET", "MULTI", "EXEC", "SET"];

    public override IReadOnlyList<string> Latencies => ["transaction"];

    public override IReadOnlyList<string> Counts => ["attempts_s", "conflicts"];

    public override bool TakesDepth => false;

    public override IEnumerable<string> Keys(ScenarioStage stage) => stage.Names("key", stage.KeyCount);

    public override IEnumerable<string> Counters(ScenarioStage stage) => Keys(stage);

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder) =>
        [new Transactor(group, stage, recorder)];

    public override IEnumerable<(string Name, double Value)> Figures(
        ScenarioStage stage, Func<string, long> countOf, long ops)
    {
        long attempts = countOf("attempts_s");
        yield return ("retry_rate", attempts > 0 ? (double)countOf("conflicts") / attempts : 0);
    }

    private sealed class Transactor(int number, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private const int ReadReplies = 2, WriteReplies = 3;

        private readonly KeyDraws _draws = stage.Draws(number);
        private byte[] _key = [];
        private Departure _departure;
        private long _value;
        private int _owed;
        private bool _isOpen, _writes, _hasError;

        public override string Role => "session";

        public override bool CanBegin => !_isOpen;

        public override int Outstanding => _isOpen ? 1 : 0;

        public override void Begin(long intended, long now)
        {
            _isOpen = true;
            _departure = new Departure(intended, now);
            _key = Encoding.ASCII.GetBytes(stage.Key("key", _draws.Next()));
            Attempt();
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (_owed == 0) return "a reply that nothing asked for";
            _owed--;
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                _hasError = true;
            }

            if (_owed > 0) return null;
            if (_hasError) _isOpen = false;
            else if (!_writes) Write(reply);
            else End(reply, now);
            return null;
        }

        private void Attempt()
        {
            Recorder.Count(Attempts);
            Requests.Command(2).Add("WATCH"u8).Add(_key).Command(2).Add("GET"u8).Add(_key);
            (_owed, _writes, _hasError) = (ReadReplies, false, false);
        }

        private void Write(RespValue read)
        {
            _value = Utf8Parser.TryParse(read.Bytes, out long value, out _) ? value : 0;
            Requests.Command(1).Add("MULTI"u8).Command(3).Add("SET"u8).Add(_key).Add(_value + 1).Command(1)
                .Add("EXEC"u8);
            (_owed, _writes) = (WriteReplies, true);
        }

        private void End(RespValue executed, long now)
        {
            if (executed.IsNull)
            {
                // Ends: of those that collide one has committed, and it begins no other before its next operation.
                Recorder.Count(Conflicts);
                Attempt();
                return;
            }

            _isOpen = false;
            Recorder.Updates++;
            Recorder.Done(_departure, now);
        }
    }
}
