namespace Kv.Tests.Harness;

/// <summary>One Kv (or the server of KV_TEST_SERVER) and one redis-server for all tests that leave a server as it
/// was.</summary>
/// <remarks>
/// Threads: whoever borrows one holds it alone until disposed; it comes emptied. So tests of any collection may run
/// side by side, and those that share a server take turns.
/// </remarks>
public static class SharedServers
{
    // Semaphores, not monitors: an asynchronous test gives its server back on another thread than it borrowed it.
    private static readonly SemaphoreSlim KvTurn = new(1), RedisTurn = new(1);
    private static TestServer? _kv, _redis;

    /// <summary>The server under test: KV_TEST_SERVER, else Kv in this process.</summary>
    public static Borrowed Kv() => new(KvTurn, () =>
        _kv ??= RemoteServer.Address is { } address
            ? new RemoteServer(address)
            : KvInstance.Start("--enable-debug-command", "yes"));

    /// <summary>The reference.</summary>
    public static Borrowed Redis() => new(RedisTurn, () => _redis ??= RedisServer.Start());

    /// <summary>A server in the hands of one test.</summary>
    public sealed class Borrowed : IDisposable
    {
        private readonly SemaphoreSlim _turn;

        internal Borrowed(SemaphoreSlim turn, Func<TestServer> get)
        {
            _turn = turn;
            turn.Wait();
            try
            {
                Server = get();
                Server.Clear();
            }
            catch
            {
                turn.Release();
                throw;
            }
        }

        public TestServer Server { get; }

        public void Dispose() => _turn.Release();
    }
}
