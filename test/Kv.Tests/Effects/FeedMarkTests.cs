using Kv.Server.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Where the feed is cut while a sink is slow.</summary>
public sealed class FeedMarkTests
{
    // The mark was read once, before a sink was waited for. Entries beyond a new one were given; then it never came,
    // and nothing else was given any more.
    [Fact]
    public void What_follows_a_cut_waits_for_it_though_a_sink_was_slow_when_it_was_set()
    {
        // Disposed of at the end only: a thread that does not get on is not waited for.
        var feed = new Feed(static _ => { }, static _ => { }, error => Assert.Fail(error.ToString()));
        var sink = new SlowSink();
        feed.Attach(sink);
        var buffer = feed.BufferOf(0);

        // Two that are not given together: between them, the second is about to be collected.
        Add(bytes: 10);
        Eventually.Holds(() => sink.Begun == 1, () => "nothing is given");
        Add(bytes: 200_000);
        Add(bytes: 200_000);
        sink.Allow(1);
        Eventually.Holds(() => sink.Begun == 2, () => "the second is not given");

        long cut = feed.Position, seen = -1;
        feed.CutAt(cut, () => Volatile.Write(ref seen, sink.LastTicket));
        Add(bytes: 10);
        sink.Allow(100);
        Eventually.Holds(() => Volatile.Read(ref seen) >= 0, () => $"it is not cut, {feed.Given} were given");
        Assert.Equal(cut, seen);
        Eventually.Holds(() => feed.Given == cut + 1, () => $"{feed.Given} were given");
        feed.Dispose();

        void Add(int bytes)
        {
            buffer.Begin(feed.Draw(), FeedRunKind.Commands, database: 0, bytes).Fill((byte)'x');
            buffer.End(bytes);
            feed.Wake();
        }
    }

    private sealed class SlowSink : IFeedSink
    {
        private readonly SemaphoreSlim _allowed = new(0);
        private int _begun;
        private long _lastTicket;

        public int Begun => Volatile.Read(ref _begun);

        public long LastTicket => Volatile.Read(ref _lastTicket);

        public void Allow(int writes) => _allowed.Release(writes);

        public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
        {
            Interlocked.Increment(ref _begun);
            _allowed.Wait();
            Volatile.Write(ref _lastTicket, lastTicket);
        }

        public void Flush()
        {
        }

        public void Fail(Exception exception)
        {
        }
    }
}
