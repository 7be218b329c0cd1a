using System.Collections.Concurrent;

namespace Kv.Tests.Harness;

/// <summary>A few Kv (or the server of KV_TEST_SERVER) and a few redis-servers for all tests that leave a server as it
/// was.</summary>
/// <remarks>
/// Threads: whoever borrows one holds it alone until disposed; it comes emptied. So tests of any collection may run
/// side by side, and hardly ever wait for each other: another one is started when all are lent.
/// </remarks>
public static class SharedServers
{
    private const int Most = 4;

    private static readonly Pool OfKv = RemoteServer.Address is { } address
        ? new Pool(1, () => new RemoteServer(address))
        : new Pool(Most, () => KvInstance.Start("--enable-debug-command", "yes"));

    private static readonly Pool OfRedis = new(Most, () => RedisServer.Start());

    /// <summary>The server under test: KV_TEST_SERVER, else Kv in this process.</summary>
    public static Borrowed Kv() => new(OfKv);

    /// <summary>The reference.</summary>
    public static Borrowed Redis() => new(OfRedis);

    /// <summary>A server in the hands of one test.</summary>
    public sealed class Borrowed : IDisposable
    {
        private readonly Pool _pool;

        internal Borrowed(Pool pool)
        {
            _pool = pool;
            Server = pool.Take();
        }

        public TestServer Server { get; }

        public void Dispose() => _pool.Give(Server);
    }

    /// <summary>Servers that are started when there is none free.</summary>
    internal sealed class Pool(int most, Func<TestServer> start)
    {
        // Not monitors: an asynchronous test gives its server back on another thread than it borrowed it.
        private readonly SemaphoreSlim _turns = new(most);
        private readonly ConcurrentQueue<TestServer> _free = new();

        public TestServer Take()
        {
            _turns.Wait();
            try
            {
                TestServer server = _free.TryDequeue(out TestServer? free) ? free : start();
                server.Clear();
                return server;
            }
            catch
            {
                _turns.Release();
                throw;
            }
        }

        public void Give(TestServer server)
        {
            _free.Enqueue(server);
            _turns.Release();
        }
    }
}
