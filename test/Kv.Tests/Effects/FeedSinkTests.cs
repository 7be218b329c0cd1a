using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Sinks that do not read, come, go and throw while clients write.</summary>
public sealed class FeedSinkTests
{
    private const int Clients = 4;

    [Fact]
    public async Task Writers_wait_for_a_sink_that_does_not_read_and_nothing_grows_or_is_lost()
    {
        const int commands = 400, limit = 1 << 20, value = 10_000;
        using var kv = KvInstance.Start("--feed-buffer-limit", $"{limit}", "--worker-threads", "2");
        var sink = new TestSink();
        Pause(kv, _ => kv.Server.Feed.Attach(sink));
        sink.Stop();
        int done = 0;
        var writers = Task.WhenAll(Enumerable.Range(0, Clients).Select(number => Task.Factory.StartNew(() =>
        {
            using var writer = kv.Connect();
            for (int i = 0; i < commands; i++)
            {
                // One at a time, many, in EXEC and scripts.
                if (i % 4 == 0) writer.Say($"MULTI\nSET k{number} {new string('v', value)}\nINCR n{number}\nEXEC");
                else if (i % 4 == 1)
                    writer.Ok($"EVAL \"redis.call('SET', KEYS[1], ARGV[1]); redis.call('INCR', KEYS[2])\" 2 k{number} "
                        + $"n{number} {new string('w', value)}");
                else writer.Say($"SET k{number} {new string('x', value)}\nINCR n{number}");
                Interlocked.Increment(ref done);
            }
        }, TaskCreationOptions.LongRunning)));
        try
        {
            Eventually.Holds(() => kv.Server.Feed.IsFull, () => $"{kv.Server.Feed.QueuedBytes} bytes");
            using var reader = kv.Connect();
            int before = -1;
            // Until nobody gets on any more: all have come to the limit.
            Eventually.Holds(() => before == (before = Volatile.Read(ref done)) && Waiting(kv) == Clients,
                () => $"{done} were done, {Waiting(kv)} wait");
            Assert.InRange(kv.Server.Feed.QueuedBytes, limit, limit + (64 * (64 << 10)));
            for (int i = 0; i < 100; i++) Assert.NotEqual("", reader.Ok("GET n0").String);
            reader.Ok("PING");
            Assert.Equal(before, Volatile.Read(ref done));
            Assert.True(before < Clients * commands);
        }
        finally
        {
            sink.GoOn();
        }

        await writers;
        AwaitGiven(kv);
        Assert.Equal(Clients * commands, sink.Count("INCR"));
        Assert.Equal(Clients * commands, sink.Count("SET"));
        Assert.Equal(Clients * commands / 2, sink.Count("EXEC"));
        Assert.InRange(kv.Server.Feed.QueuedBytes, 0, limit);
    }

    [Fact]
    public async Task A_cut_is_between_what_was_done_before_and_after_it()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        var sink = new TestSink();
        Pause(kv, _ => kv.Server.Feed.Attach(sink));
        bool isOver = false;
        var writers = Write(kv, () => Volatile.Read(ref isOver));
        using var client = kv.Connect();
        for (int round = 0; round < 200; round++)
        {
            long position = 0, seen = -1, count = -1, atCut = -1;
            int length = 0;
            Pause(kv, session =>
            {
                position = kv.Server.Feed.Position;
                count = ValueOf(session, "n");
                kv.Server.Feed.CutAt(position, () =>
                {
                    Volatile.Write(ref seen, sink.LastTicket);
                    length = sink.Text.Length;
                    Volatile.Write(ref atCut, sink.Count("INCR"));
                });
            });
            Eventually.Holds(() => Volatile.Read(ref atCut) >= 0, () => "nothing is cut");
            Assert.Equal((position, count), (seen, atCut));
            Eventually.Holds(() => sink.Text.Length > length + 6, () => "nothing follows");
            Assert.StartsWith("*2\r\n$6\r\nSELECT\r\n", sink.Text[length..], StringComparison.Ordinal);
            if (sink.Text.Length > 4 << 20) break;
        }

        Volatile.Write(ref isOver, true);
        await writers;
    }

    [Fact]
    public async Task Sinks_that_come_and_go_get_exactly_what_is_done_meanwhile()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        bool isOver = false;
        var writers = Write(kv, () => Volatile.Read(ref isOver));
        for (int round = 0; round < 100; round++)
        {
            var sink = new TestSink();
            long before = 0, after = 0;
            Pause(kv, session =>
            {
                before = ValueOf(session, "n");
                kv.Server.Feed.Attach(sink);
            });
            Eventually.Holds(() => sink.Writes > 1, () => "nothing comes");
            using var ended = new ManualResetEventSlim();
            Pause(kv, session =>
            {
                after = ValueOf(session, "n");
                kv.Server.Feed.Detach(sink, ended.Set);
                Assert.False(kv.Server.Feed.IsOn);
            });
            Assert.True(ended.Wait(60_000), "it ends");
            Assert.Equal(after - before, sink.Count("INCR"));
            Assert.InRange(sink.Flushes, 1, int.MaxValue);
        }

        Volatile.Write(ref isOver, true);
        await writers;
        AwaitGiven(kv);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void A_sink_that_throws_gets_nothing_more_and_others_get_all(bool areOthers)
    {
        using var log = new CapturedLog();
        using var kv = KvInstance.Start(log, "--feed-buffer-limit", "1048576");
        TestSink thrower = new(), other = new();
        Pause(kv, _ =>
        {
            kv.Server.Feed.Attach(thrower);
            if (areOthers) kv.Server.Feed.Attach(other);
        });
        using var client = kv.Connect();
        client.Ok("INCR n");
        AwaitGiven(kv);
        thrower.Throws = true;
        string value = new('v', 10_000);
        for (int i = 0; i < 500; i++) client.Say($"SET k {value}\nINCR n");     // more than the limit
        AwaitGiven(kv);
        thrower.Throws = false;
        client.Ok("INCR n");
        AwaitGiven(kv);
        Assert.Equal(1, thrower.Count("INCR"));
        if (areOthers) Assert.Equal(502, other.Count("INCR"));
        Assert.True(thrower.HasFailed);
        Assert.False(other.HasFailed);
        Assert.Single(log.Lines, line => line.Contains("could not be published", StringComparison.Ordinal));
        using var ended = new ManualResetEventSlim();
        Pause(kv, _ => kv.Server.Feed.Detach(thrower, ended.Set));
        Assert.True(ended.Wait(60_000), "it ends");
    }

    [Theory]
    [InlineData(70_000)]
    [InlineData(300_000)]
    [InlineData(5_000_000)]
    public void Entries_larger_than_a_chunk_or_the_whole_limit_are_whole(int bytes)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--feed-buffer-limit", "1048576");
        using var redis = RedisServer.Start("--proto-max-bulk-len", "512mb");
        using var sink = new ReferenceSink(redis);
        Pause(kv, _ => kv.Server.Feed.Attach(sink));
        using var client = kv.Connect();
        for (int i = 0; i < 5; i++)
        {
            string value = new((char)('a' + i), bytes + i);
            client.Say($"SET k{i} {value}\nINCR n");
            client.Say($"MULTI\nSET in{i} {value}\nSELECT 1\nAPPEND other {value}\nEXEC");
            client.Ok("EVAL \"redis.call('SET', KEYS[1], ARGV[1]); redis.call('APPEND', KEYS[1], ARGV[1])\" 1 s"
                + $"{i} {value}");
            client.Ok("SELECT 0");
        }

        FeedState.AssertEqual(kv, redis, sink, "");
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void What_one_transaction_or_script_writes_is_bounded(bool standsAlone)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        Pause(kv, _ => kv.Server.Feed.Attach(sink));
        kv.Server.Feed.EntryBytesMax = 50_000;
        using var client = kv.Connect();
        string value = new('v', 20_000), first = standsAlone ? "SWAPDB 3 4\n" : "";
        client.Say($"MULTI\n{first}SET a {value}\nSET b {value}\nSET c {value}\nSET d {value}\nGET a\nEXEC");
        Assert.Equal([1, 1, 1, 0], ((string[])["a", "b", "c", "d"]).Select(key => client.Ok($"EXISTS {key}").Integer));
        string refusal = client.Command("EVAL \"for i = 1, 9 do redis.call('APPEND', KEYS[1], ARGV[1]) end\" 1 s "
            + value).String;
        Assert.StartsWith("ERR more than 512 MB were written by one transaction or script", refusal,
            StringComparison.Ordinal);
        Assert.Equal(60_000, client.Ok("STRLEN s").Integer);
        client.Ok("SET after 1");
        FeedState.AssertEqual(kv, redis, sink, "");
    }

    // A thread of the pool runs the rest of it.
    [Fact]
    public void What_a_script_does_is_one_entry_however_long_it_takes()
    {
        using var kv = KvInstance.Start("--busy-reply-threshold", "1");
        var sink = new TestSink();
        Pause(kv, _ => kv.Server.Feed.Attach(sink));
        using var client = kv.Connect();
        client.Ok("EVAL \"for i = 1, 100000 do redis.call('SET', 'k' .. i % 1000, i) end\" 0");
        AwaitGiven(kv);
        Assert.Equal(1, sink.Count("MULTI"));
        Assert.Equal(100_000, sink.Count("SET"));
        Assert.Equal(1, sink.Count("EXEC"));
    }

    private static int Waiting(KvInstance kv) =>
        kv.Server.Connections.Snapshot().Count(session => session.Held != null);

    private static long ValueOf(StoreSession session, string key)
    {
        var text = new TakeText();
        session.Read(session.Key(RespText.Bytes(key)), DataType.String, ref text);
        return text.Text == null ? 0 : long.Parse(text.Text);
    }

    private struct TakeText : IValueRead
    {
        public string? Text;

        public void Read(in ValueView value) => Text = value.Kind == ValueKind.Integer
            ? $"{System.Buffers.Binary.BinaryPrimitives.ReadInt64LittleEndian(value.Bytes)}" : Reply.Latin(value.Bytes);
    }

    private static Task Write(KvInstance kv, Func<bool> isOver) => Task.WhenAll(Enumerable.Range(0, Clients)
        .Select(number => Task.Factory.StartNew(() =>
        {
            using var writer = kv.Connect();
            if (number == 1) writer.Ok("SELECT 1");
            while (!isOver())
            {
                if (number == 0) writer.Say("MULTI\nINCR n\nDECR m\nINCR n\nEXEC");
                else if (number == 1) writer.Ok("SET elsewhere 1");
                else writer.Ok("INCR n");
            }
        }, TaskCreationOptions.LongRunning)));

    private static void AwaitGiven(KvInstance kv)
    {
        long position = kv.Server.Feed.Position;
        Eventually.Holds(() => kv.Server.Feed.Given >= position, () => "the feed stands still");
    }

    /// <summary>Does something while all sessions stand still.</summary>
    private static void Pause(KvInstance kv, Action<StoreSession> action)
    {
        using var guard = kv.Server.Store.Enter();
        Eventually.Holds(guard.Session.Presence.TryPauseNow, () => "others go on");
        try
        {
            action(guard.Session);
        }
        finally
        {
            guard.Session.EndPause();
        }
    }
}
