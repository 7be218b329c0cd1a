using System.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about what .NET does beneath the server: its collector, its thread pool.</summary>
public sealed class RuntimeBugs
{
    // M11. A span that outlived its pin would read or write what has moved: replies and values would be wrong.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_M11_replies_are_right_while_the_collector_moves_every_object(string transport)
    {
        if (OwnProcess.Ran()) return;
        using var server = KvInstance.Start("--transport", transport);
        bool stop = false;
        int collections = 0;
        var collector = new Thread(() =>
        {
            // Small objects of all sizes with holes between them: compacting moves those that stay.
            var kept = new object[1000];
            for (int round = 0; !Volatile.Read(ref stop); round++)
            {
                for (int i = 0; i < kept.Length; i++) kept[(i * 7) % kept.Length] = new byte[16 + (i + round) % 500];
                long begun = Stopwatch.GetTimestamp();
                GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
                // As long as that took nobody ran: without a pause of the same length others would hardly run at all
                // where the heap is large, as it is in the middle of all tests.
                Thread.Sleep(1 + (int)Stopwatch.GetElapsedTime(begun).TotalMilliseconds);
                Volatile.Write(ref collections, round + 1);
            }
        }) { IsBackground = true };
        collector.Start();
        try
        {
            using var client = server.Connect();
            using var subscriber = server.Connect();
            subscriber.Ok("SUBSCRIBE channel");
            Random random = Seed.NewRandom(11);
            var model = new Dictionary<string, byte[]>();
            for (int round = 0; round < 25 || Volatile.Read(ref collections) < 25; round++)
            {
                var sent = new MemoryStream();
                var expected = new List<byte[]?>();
                for (int i = 0; i < 20; i++)
                {
                    string key = "key" + random.Next(30);
                    byte[] value = new byte[random.Next(10) == 0 ? random.Next(200_000) : random.Next(300)];
                    random.NextBytes(value);
                    sent.Write(RespText.Encode([RespText.Bytes("SET"), RespText.Bytes(key), value]));
                    sent.Write(RespText.Encode($"GET {key}"));
                    expected.Add(null);
                    expected.Add(model[key] = value);
                }

                var first = model.First();
                sent.Write(RespText.Encode($"MGET {string.Join(' ', model.Keys)}"));
                sent.Write(RespText.Encode([RespText.Bytes("PUBLISH"), RespText.Bytes("channel"), first.Value]));
                byte[] bytes = sent.ToArray();
                var sending = new Thread(() => client.Send(bytes));
                sending.Start();
                foreach (byte[]? value in expected)
                {
                    var reply = client.Read();
                    if (value == null) Assert.Equal("OK", reply.String);
                    else Assert.Equal(value, RespText.Bytes(reply.String));
                }

                Assert.Equal(model.Values, client.Read().Items!.Select(item => RespText.Bytes(item.String)));
                Assert.Equal(1, client.Read().Integer);
                Assert.Equal(first.Value, RespText.Bytes(subscriber.Read().Items![2].String));
                sending.Join();
            }
        }
        finally
        {
            Volatile.Write(ref stop, true);
            collector.Join();
        }
    }

    // M12. The workers are threads of the server's own: nothing of serving a client waits for the pool.
    [Fact]
    public void Known_M12_the_epoll_transport_serves_while_the_thread_pool_is_saturated()
    {
        if (OwnProcess.Ran()) return;
        Requires.Linux("epoll");
        using var server = KvInstance.Start("--transport", "epoll");
        using var pool = new SaturatedPool();
        using (var client = server.Connect())
        using (var subscriber = server.Connect())
        {
            client.Ok("SET a 1");
            Assert.Equal(2, client.Ok("INCR a").Integer);
            client.Ok($"SETRANGE big 1000000 x");
            Assert.Equal(1_000_001, client.Ok("GET big").String.Length);
            subscriber.Ok("SUBSCRIBE channel");
            Assert.Equal(1, client.Ok("PUBLISH channel message").Integer);
            Assert.Equal("message", subscriber.Read().Items![2].String);
            client.Ok("SET short 1 PX 1");
            // Swept by the store's thread, not by a reader.
            Eventually.Holds(() => client.Ok("DBSIZE").Integer == 2, () => "an expired key is not swept");
            Assert.Equal(1, client.Ok($"CLIENT KILL ADDR {subscriber.Socket.LocalEndPoint}").Integer);
            Assert.True(subscriber.IsClosedByServer());
            Assert.Contains("connected_clients:1", client.Ok("INFO clients").String, StringComparison.Ordinal);
        }

        using (var late = server.Connect()) Assert.Equal("2", late.Ok("GET a").String);
        Assert.False(pool.HasRunAnything, "the pool was not saturated");
    }

    // M12. The portable transport lives on the pool: its clients wait for a thread of it. That they wait is not
    // asserted: .NET runs sockets' work ahead of what is queued, so a thread may serve a client once more before it is
    // taken.
    [Fact]
    public void Known_M12_the_portable_transport_answers_everything_once_a_saturated_thread_pool_is_free_again()
    {
        if (OwnProcess.Ran()) return;
        using var server = KvInstance.Start("--transport", "pipelines");
        using var client = server.Connect();
        client.Ok("SET a 1");
        using (var pool = new SaturatedPool())
        {
            for (int i = 0; i < 1000; i++) client.Send("INCR a");
            Assert.False(pool.HasRunAnything, "the pool was not saturated");
        }

        for (int i = 2; i <= 1001; i++) Assert.Equal(i, client.Read().Integer);
        using var late = server.Connect();
        Assert.Equal("1001", late.Ok("GET a").String);
    }

    /// <summary>The thread pool with as few threads as it may have (two on a machine of two processors), all of them
    /// busy.</summary>
    private sealed class SaturatedPool : IDisposable
    {
        private readonly ManualResetEvent _end = new(false);
        private readonly CountdownEvent _left;
        private readonly int _workersMax, _portsMax, _workersMin, _portsMin;
        private int _ran;

        public SaturatedPool()
        {
            ThreadPool.GetMaxThreads(out _workersMax, out _portsMax);
            ThreadPool.GetMinThreads(out _workersMin, out _portsMin);
            int threads = Math.Max(2, Environment.ProcessorCount);
            ThreadPool.SetMinThreads(Math.Min(_workersMin, threads), _portsMin);
            Assert.True(ThreadPool.SetMaxThreads(threads, _portsMax));
            // Threads from before the limit may still be there: as many again as there may have been.
            int items = threads + ThreadPool.ThreadCount + 16;
            _left = new CountdownEvent(items);
            for (int i = 0; i < items; i++)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ =>
                {
                    _end.WaitOne();
                    _left.Signal();
                }, null);
            }

            // In use, though perhaps not yet by these.
            Eventually.Holds(() =>
            {
                ThreadPool.GetAvailableThreads(out int available, out _);
                return available <= 0;
            }, () => "the pool has threads left");
            // More than there may be threads: this one, behind all of them, waits for their end.
            ThreadPool.UnsafeQueueUserWorkItem(_ => Interlocked.Increment(ref _ran), null);
        }

        /// <summary>Whether what was queued last has been run.</summary>
        public bool HasRunAnything => Volatile.Read(ref _ran) != 0;

        public void Dispose()
        {
            _end.Set();
            ThreadPool.SetMaxThreads(_workersMax, _portsMax);
            ThreadPool.SetMinThreads(_workersMin, _portsMin);
            _left.Wait();
            _left.Dispose();
            _end.Dispose();
        }
    }
}
