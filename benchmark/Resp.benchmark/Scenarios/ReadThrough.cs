using System.Text;
using Kv.Protocol;
using RespBenchmark.Workload;

namespace RespBenchmark.Scenarios;

/// <summary>A cache in front of something slower, used as applications use one: GET, and on a miss SET.</summary>
/// <remarks>A key has one length in every run of a seed, so that servers are compared over the same bytes. --ttl gives
/// each SET an expiry; --trace says keys, lengths and expiries line by line.</remarks>
internal sealed class ReadThrough : Scenario
{
    private const int Hits = 0, Misses = 1, HitBytes = 2, MissBytes = 3;

    public override string Name => "cache";

    public override IReadOnlyList<string> Commands => ["GET", "SET"];

    public override IReadOnlyList<string> Latencies => ["read", "hit", "fill"];

    public override IReadOnlyList<string> Counts => ["hits_s", "misses_s", "hit_bytes_s", "miss_bytes_s"];

    public override TrackedShare? Share => new("hit_ratio", "hits_s", "misses_s");

    public override bool TakesSizes => true;

    public override IEnumerable<string> Keys(ScenarioStage stage) =>
        stage.Trace is null ? stage.Names("key", stage.KeyCount) : [];

    public override IEnumerable<Actor> Group(int group, ScenarioStage stage, ScenarioRecorder recorder) =>
        [new Reader(group, stage, recorder)];

    public override IEnumerable<(string Name, double Value)> Figures(
        ScenarioStage stage, Func<string, long> countOf, long ops)
    {
        yield return ("byte_hit_ratio", TrackedShare.Of(countOf("hit_bytes_s"), countOf("miss_bytes_s")));
    }

    /// <summary>A key that is wanted, and what it is filled with.</summary>
    /// <param name="TtlSeconds">0: it does not expire.</param>
    private readonly record struct Wanted(byte[] Key, int Bytes, long TtlSeconds);

    private readonly record struct Step(Departure Departure, Wanted Wanted, bool IsFill, long Sent);

    private sealed class Reader(int number, ScenarioStage stage, ScenarioRecorder recorder) : Actor(recorder)
    {
        // What is in a value is of no interest; the longest one is as long as all of them together.
        private static byte[] _filler = [];

        private readonly KeyDraws _draws = stage.Draws(number);
        private readonly Queue<Step> _steps = new();
        private Xoshiro256 _ttls = new(SplitMix.Mix(stage.Seed ^ (ulong)number));

        public override string Role => "session";

        public override bool CanBegin => _steps.Count < stage.Depth;

        public override int Outstanding => _steps.Count;

        public override void Begin(long intended, long now)
        {
            Wanted wanted = Next();
            Requests.Command(2).Add("GET"u8).Add(wanted.Key);
            _steps.Enqueue(new Step(new Departure(intended, now), wanted, IsFill: false, now));
        }

        public override string? Receive(RespValue reply, long now)
        {
            if (!_steps.TryDequeue(out Step step)) return "a reply that nothing asked for";
            if (reply.IsError)
            {
                Recorder.Error(reply.Bytes);
                return null;
            }

            if (step.IsFill)
            {
                Recorder.Latency(2).Record(now - step.Sent);
            }
            else if (reply.IsNull)
            {
                Recorder.Count(Misses);
                Recorder.Count(MissBytes, step.Wanted.Bytes);
                Fill(step, now);
                return null;
            }
            else
            {
                if (stage.Trace is null && reply.Bytes.Length != step.Wanted.Bytes)
                    return $"a value of {reply.Bytes.Length} bytes where {step.Wanted.Bytes} were written";
                Recorder.Count(Hits);
                Recorder.Count(HitBytes, step.Wanted.Bytes);
                Recorder.Latency(1).Record(now - step.Sent);
            }

            Recorder.Done(step.Departure, now);
            return null;
        }

        private void Fill(in Step step, long now)
        {
            Wanted wanted = step.Wanted;
            Requests.Command(wanted.TtlSeconds > 0 ? 5 : 3).Add("SET"u8).Add(wanted.Key).Add(Filler(wanted.Bytes));
            if (wanted.TtlSeconds > 0) Requests.Add("EX"u8).Add(wanted.TtlSeconds);
            _steps.Enqueue(step with { IsFill = true, Sent = now });
        }

        private Wanted Next()
        {
            if (stage.Trace is { } trace)
            {
                TraceLine line = trace.Next();
                return new Wanted(line.Key, line.Bytes, line.TtlSeconds);
            }

            long key = _draws.Next();
            var own = new Xoshiro256(SplitMix.Mix(stage.Seed + SplitMix.Mix((ulong)key)));
            return new Wanted(Encoding.ASCII.GetBytes(stage.Key("key", key)), (int)stage.Sizes.Next(ref own),
                stage.Ttl?.Next(ref _ttls) ?? 0);
        }

        private static ReadOnlySpan<byte> Filler(int bytes)
        {
            byte[] filler = _filler;
            if (filler.Length < bytes)
            {
                // Several loops may make one; each is as good.
                filler = new byte[Math.Max(bytes, 4096)];
                new Random(1).NextBytes(filler);
                _filler = filler;
            }

            return filler.AsSpan(0, bytes);
        }
    }
}
