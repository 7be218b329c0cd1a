using Microsoft.Extensions.Logging;

namespace Kv.Server.Sessions;

/// <summary>What clients leave to be done when they go, and would take their worker for long: a thread of the pool does
/// it.</summary>
/// <remarks>Threads: any. The store is there until all of it is done: the server's end waits for it.</remarks>
internal sealed class Remainders(KvServer server) : IDisposable
{
    private int _count;

    public void Start(Action work)
    {
        // Interlocked: counted before it can be over.
        Interlocked.Increment(ref _count);
        ThreadPool.UnsafeQueueUserWorkItem(static item => item.All.Run(item.Work), (All: this, Work: work),
            preferLocal: false);
    }

    public void Dispose()
    {
        // Ends: no client is left that could add to it, and each has an end.
        for (var wait = new SpinWait(); Volatile.Read(ref _count) != 0;) wait.SpinOnce();
    }

    private void Run(Action work)
    {
        try
        {
            work();
        }
        catch (Exception exception)
        {
            server.Log.LogCritical(exception, "What a client has left could not be done");
        }
        finally
        {
            Interlocked.Decrement(ref _count);
        }
    }
}
