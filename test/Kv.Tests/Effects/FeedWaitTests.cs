using Kv.Server.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Who waits for room in the feed goes on as soon as there is some.</summary>
public sealed class FeedWaitTests
{
    // They were woken when the sink had taken what made the room: with a slow disk seconds later.
    [Fact]
    public void Writers_go_on_before_a_sink_waits_with_what_has_made_room_for_them()
    {
        const int bytes = 10_000, limit = 1 << 20;
        using var sink = new SlowSink();
        using var feed = new Feed(static _ => { }, static _ => { }, error => Assert.Fail(error.ToString()));
        feed.LimitBytes = limit;
        feed.Attach(sink);
        var buffer = feed.BufferOf(0);
        try
        {
            Add();
            sink.AwaitBegun();
            while (!feed.IsFull) Add();
            bool isWoken = false;
            feed.AddWaiting(() => Volatile.Write(ref isWoken, true));
            Assert.False(Volatile.Read(ref isWoken));
            // It takes what is there for one call of the sink, a fourth of the limit, which frees some chunks.
            sink.Allow(1);
            sink.AwaitBegun();
            Assert.False(feed.IsFull);
            Assert.True(Volatile.Read(ref isWoken), "a writer waits, though there is room");
        }
        finally
        {
            sink.Allow(1000);
        }

        void Add()
        {
            buffer.Begin(feed.Draw(), FeedRunKind.Commands, database: 0, bytes).Fill((byte)'x');
            buffer.End(bytes);
            feed.Wake();
        }
    }

    private sealed class SlowSink : IFeedSink, IDisposable
    {
        private readonly SemaphoreSlim _allowed = new(0), _begun = new(0);

        public void Allow(int writes) => _allowed.Release(writes);

        public void AwaitBegun() => Assert.True(_begun.Wait(60_000), "nothing is given");

        public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
        {
            _begun.Release();
            _allowed.Wait();
        }

        public void Flush()
        {
        }

        public void Fail(Exception exception) => Assert.Fail(exception.ToString());

        public void Dispose()
        {
            _allowed.Dispose();
            _begun.Dispose();
        }
    }
}
