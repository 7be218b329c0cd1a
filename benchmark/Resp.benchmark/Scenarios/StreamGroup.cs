using System.Text;
using Kv.Protocol;
using RespBenchmark.Network;

namespace RespBenchmark.Scenarios;

/// <summary>Producers and a consumer group: how long it takes from XADD to the entry in the hands of who waited in
/// XREADGROUP, and that it is acknowledged.</summary>
/// <remarks>A stream a producer, at most depth of its entries not yet received.</remarks>
internal sealed class StreamGroup : Scenario
{
    private const int Add = 1, Acknowledge = 2, Acknowledged = 0;
    private const int EntriesKept = 10_000, EntriesRead = 64;

    public override string Name => "stream-group";

    public override IReadOnlyList<string> Commands => ["XADD", "XGROUP", "XREADGROUP", "XACK"];

    public override IReadOnlyList<string> Latencies => ["delivery", "add", "ack"];

    public override IReadOnlyList<string> Counts => ["acknowledged_s"];

    public override string PeerName => "consumers";

    public override void Prepare(ControlConnection control, ScenarioStage stage)
    {
        foreach (string stream in Keys(stage))
        {
            RespValue made = control.Send("XGROUP", "CREATE", stream, "bench", "$", "MKSTREAM");
            if (made.IsError) throw new TargetException(made.Text);
        }
    }

    public override IEnumerable<string> Keys(ScenarioStage stage) => stage.Names("stream", stage.Sessions);

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder)
    {
        var producers = stage.Of(group, stage.Sessions)
            .ToDictionary(number => stage.Key("stream", number),
                number => new Producer(stage.Key("stream", number), stage, recorder));
        foreach (Producer producer in producers.Values) yield return producer;
        foreach (int number in stage.Of(group, stage.Peers))
        {
            yield return new Consumer(number, stage.Peers < stage.Sessions ? producers
                : producers.Where(pair => pair.Key == stage.Key("stream", number % stage.Sessions))
                    .ToDictionary(), recorder);
        }
    }

    private sealed class Producer(string stream, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly byte[] _stream = Encoding.ASCII.GetBytes(stream);
        private readonly Stamp _stamp = new(stage.ValueBytes);
        private readonly Queue<long> _sent = new();
        private int _waiting;

        public override string Role => "producer";

        public override bool CanBegin => _waiting < stage.Depth && _sent.Count < stage.Depth;

        public override int Outstanding => Math.Max(_waiting, _sent.Count);

        public override void Begin(long intended, long now)
        {
            // What is trimmed was received long ago: fewer are on their way.
            Requests.Command(8).Add("XADD"u8).Add(_stream).Add("MAXLEN"u8).Add("~"u8)
                .Add(EntriesKept + (2L * stage.Depth)).Add("*"u8)
                .Add("m"u8).Add(_stamp.Write(new Departure(intended, now)));
            _sent.Enqueue(now);
            _waiting++;
        }

        /// <summary>Entries of its stream are in somebody's hands.</summary>
        public void Received(int count)
        {
            _waiting -= count;
            Freed?.Invoke();
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (!_sent.TryDequeue(out long sent)) return "a reply that no XADD asked for";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                _waiting--;
            }
            else
            {
                Recorder.Latency(Add).Record(now - sent);
            }

            return null;
        }
    }

    private sealed class Consumer(int number, IReadOnlyDictionary<string, Producer> producers,
        ScenarioRecorder recorder) : Actor(recorder)
    {
        private readonly string[] _streams = [.. producers.Keys];
        private readonly Queue<long> _acknowledging = new();

        public override string Role => "consumer";

        public override int Outstanding => _acknowledging.Count;

        public override void Prepare()
        {
            Requests.Command(9 + (2 * _streams.Length)).Add("XREADGROUP"u8).Add("GROUP"u8).Add("bench"u8).Add(number)
                .Add("COUNT"u8).Add(EntriesRead)
                .Add("BLOCK"u8).Add(0).Add("STREAMS"u8);
            foreach (string stream in _streams) Requests.Add(Encoding.ASCII.GetBytes(stream));
            foreach (string _ in _streams) Requests.Add(">"u8);
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (reply.IsError) return reply.Text;
            if (reply.Type == RespType.Integer)
            {
                if (!_acknowledging.TryDequeue(out long sent)) return "a reply that no XACK asked for";
                Recorder.Count(Acknowledged, reply.Integer);
                Recorder.Latency(Acknowledge).Record(now - sent);
                return null;
            }

            // Pairs of stream and entries: in arrays of two, or in a map.
            IEnumerable<(RespValue Stream, RespValue Entries)> pairs = reply.Type == RespType.Map
                ? reply.Elements.Chunk(2).Select(pair => (pair[0], pair[1]))
                : reply.Elements.Where(pair => pair.Elements.Length == 2)
                    .Select(pair => (pair.Elements[0], pair.Elements[1]));
            var received = new List<(Producer Producer, int Count)>();
            foreach ((RespValue stream, RespValue entries) in pairs)
            {
                if (!producers.TryGetValue(stream.Text, out Producer? producer))
                    return "a stream that nobody asked for";
                if (!Take(entries.Elements, stream.Bytes, now)) return "an entry that nobody here added";
                received.Add((producer, entries.Elements.Length));
            }

            Prepare();
            foreach ((Producer producer, int count) in received) producer.Received(count);
            return null;
        }

        private bool Take(RespValue[] entries, byte[] stream, long now)
        {
            Requests.Command(3 + entries.Length).Add("XACK"u8).Add(stream).Add("bench"u8);
            foreach (RespValue entry in entries)
            {
                if (entry.Elements is not [var id, { Elements: [_, var body] }]
                    || !Stamp.TryRead(body.Bytes, out Departure departure)) return false;
                Requests.Add(id.Bytes);
                Recorder.Done(departure, now);
            }

            _acknowledging.Enqueue(now);
            return true;
        }
    }
}
