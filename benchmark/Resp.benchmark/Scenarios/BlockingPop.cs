using System.Text;
using Kv.Protocol;

namespace RespBenchmark.Scenarios;

/// <summary>Pushers and blocked poppers: how long it takes from LPUSH to the element in the hands of who waited in
/// BLPOP.</summary>
/// <remarks>A list a pusher. At most depth elements of a list are neither popped nor pushed, so that somebody waits and
/// the latency is that of waking and not of a queue.</remarks>
internal sealed class BlockingPop : Scenario
{
    private const int Push = 1;

    public override string Name => "blocking";

    public override IReadOnlyList<string> Commands => ["LPUSH", "BLPOP"];

    public override IReadOnlyList<string> Latencies => ["wake", "push"];

    public override IReadOnlyList<string> Counts => [];

    public override string PeerName => "poppers";

    public override IEnumerable<string> Keys(ScenarioStage stage) => stage.Names("list", stage.Sessions);

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder)
    {
        var pushers = stage.Of(group, stage.Sessions)
            .ToDictionary(number => stage.Key("list", number),
                number => new Pusher(stage.Key("list", number), stage, recorder));
        foreach (Pusher pusher in pushers.Values) yield return pusher;
        foreach (int number in stage.Of(group, stage.Peers))
        {
            yield return new Popper(stage.Peers < stage.Sessions ? pushers
                : pushers.Where(pair => pair.Key == stage.Key("list", number % stage.Sessions))
                    .ToDictionary(), recorder);
        }
    }

    private sealed class Pusher(string list, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly byte[] _list = Encoding.ASCII.GetBytes(list);
        private readonly Stamp _stamp = new(stage.ValueBytes);
        private readonly Queue<long> _sent = new();
        private int _waiting;

        public override string Role => "pusher";

        public override bool CanBegin => _waiting < stage.Depth && _sent.Count < stage.Depth;

        public override int Outstanding => Math.Max(_waiting, _sent.Count);

        public override void Begin(long intended, long now)
        {
            Requests.Command(3).Add("LPUSH"u8).Add(_list).Add(_stamp.Write(new Departure(intended, now)));
            _sent.Enqueue(now);
            _waiting++;
        }

        /// <summary>An element of its list is in somebody's hands.</summary>
        public void Popped()
        {
            _waiting--;
            Freed?.Invoke();
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (!_sent.TryDequeue(out long sent)) return "a reply that no LPUSH asked for";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                _waiting--;
            }
            else
            {
                Recorder.Latency(Push).Record(now - sent);
            }

            return null;
        }
    }

    private sealed class Popper(IReadOnlyDictionary<string, Pusher> pushers, ScenarioRecorder recorder)
        : Actor(recorder)
    {
        private readonly byte[][] _lists = [.. pushers.Keys.Select(Encoding.ASCII.GetBytes)];

        public override string Role => "popper";

        public override void Prepare()
        {
            Requests.Command(2 + _lists.Length).Add("BLPOP"u8);
            foreach (byte[] list in _lists) Requests.Add(list);
            Requests.Add(0);
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (reply.IsError) return reply.Text;
            if (reply.Elements is not [var list, var element] || !Stamp.TryRead(element.Bytes, out Departure departure))
                return "no element of ours";
            Recorder.Done(departure, now);
            Prepare();
            pushers[list.Text].Popped();
            return null;
        }
    }
}
