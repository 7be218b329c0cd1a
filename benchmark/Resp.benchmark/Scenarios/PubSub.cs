using System.Text;
using Kv.Protocol;

namespace RespBenchmark.Scenarios;

/// <summary>Publishers and subscribers: how long a message takes from PUBLISH to each who receives it.</summary>
/// <remarks>A channel a publisher. With more subscribers than publishers each channel has several, with fewer each has
/// several channels. A message to n subscribers is n operations.</remarks>
internal sealed class PubSub : Scenario
{
    private const int Publish = 1, Published = 0;

    public override string Name => "pubsub";

    public override IReadOnlyList<string> Commands => ["SUBSCRIBE", "PUBLISH"];

    public override IReadOnlyList<string> Latencies => ["delivery", "publish"];

    public override IReadOnlyList<string> Counts => ["published_s"];

    public override string PeerName => "subscribers";

    public override IEnumerable<string> Keys(ScenarioStage stage) => [];

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder)
    {
        foreach (int number in stage.Of(group, stage.Sessions))
            yield return new Publisher(stage.Key("channel", number), stage, recorder);
        foreach (int number in stage.Of(group, stage.Peers))
        {
            string[] channels = stage.Peers < stage.Sessions
                ? [.. stage.Of(group, stage.Sessions).Select(publisher => stage.Key("channel", publisher))]
                : [stage.Key("channel", number % stage.Sessions)];
            yield return new Subscriber(channels, recorder);
        }
    }

    public override IEnumerable<(string Name, double Value)> Figures(
        ScenarioStage stage, Func<string, long> countOf, long ops)
    {
        long published = countOf("published_s");
        yield return ("fan_out", published > 0 ? (double)ops / published : 0);
    }

    private sealed class Publisher(string channel, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly byte[] _channel = Encoding.ASCII.GetBytes(channel);
        private readonly Stamp _stamp = new(stage.ValueBytes);
        private readonly Queue<Departure> _sent = new();

        public override string Role => "publisher";

        public override bool CanBegin => _sent.Count < stage.Depth;

        public override int Outstanding => _sent.Count;

        public override void Begin(long intended, long now)
        {
            var departure = new Departure(intended, now);
            Requests.Command(3).Add("PUBLISH"u8).Add(_channel).Add(_stamp.Write(departure));
            _sent.Enqueue(departure);
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (!_sent.TryDequeue(out Departure departure)) return "a reply that no PUBLISH asked for";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                return null;
            }

            // Who receives it may have done so before: then it is below zero for a moment.
            Recorder.Pending += reply.Integer;
            Recorder.Count(Published);
            Recorder.Latency(Publish).Record(now - departure.Sent);
            return null;
        }
    }

    private sealed class Subscriber(string[] channels, ScenarioRecorder recorder) : Actor(recorder)
    {
        private int _confirmed;

        public override string Role => "subscriber";

        public override bool IsReady => _confirmed == channels.Length;

        public override void Prepare()
        {
            Requests.Command(1 + channels.Length).Add("SUBSCRIBE"u8);
            foreach (string channel in channels) Requests.Add(Encoding.ASCII.GetBytes(channel));
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (reply.IsError) return reply.Text;
            if (reply.Elements is not [var kind, _, var body]) return "no message";
            if (kind.Bytes.AsSpan().SequenceEqual("subscribe"u8))
            {
                _confirmed++;
                return null;
            }

            if (!Stamp.TryRead(body.Bytes, out Departure departure)) return "a message that nobody here published";
            Recorder.Pending--;
            Recorder.Done(departure, now);
            return null;
        }
    }
}
