using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Sessions;

/// <summary>Work that clients leave when they go, and that would occupy their worker for long: threads of the pool do
/// it.</summary>
/// <remarks>Threads: any. The server's end waits for the work, so the store is there until it is done.</remarks>
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
        // Ends: no client is left that could add work, and each piece of work ends.
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
            int left = Interlocked.Decrement(ref _count);
            Debug.Assert(left >= 0, "the work was counted");
        }
    }
}
