using Microsoft.Extensions.Logging;

namespace Kv.Server.Scripting;

/// <summary>A thread that reads texts, one after the other. It is there from the first one on.</summary>
/// <remarks>
/// Not one of the pool's: those serve the clients of the portable transport, and texts that take long would keep them.
/// Threads: any.
/// </remarks>
internal sealed class TextThread(string name, ILogger log) : IDisposable
{
    private readonly Queue<Action> _waiting = new();    // also their lock
    private Thread? _thread;
    private bool _isEnding;

    public void Start(Action work)
    {
        lock (_waiting)
        {
            if (_thread == null)
            {
                var thread = new Thread(Run) { Name = name, IsBackground = true };
                thread.Start();     // throws where the system has no more threads: nothing is left behind then
                _thread = thread;
            }

            _waiting.Enqueue(work);
            Monitor.Pulse(_waiting);
        }
    }

    /// <summary>Returns when all of it is done: no client is left that could add to it.</summary>
    public void Dispose()
    {
        lock (_waiting)
        {
            _isEnding = true;
            Monitor.Pulse(_waiting);
        }

        _thread?.Join();
    }

    private void Run()
    {
        while (Take() is { } work)
        {
            try
            {
                work();
            }
            catch (Exception exception)
            {
                log.LogCritical(exception, "A text could not be read");
            }
        }
    }

    private Action? Take()
    {
        lock (_waiting)
        {
            // Ends: what comes wakes it, and so does the end.
            while (true)
            {
                if (_waiting.TryDequeue(out var work)) return work;
                if (_isEnding) return null;
                Monitor.Wait(_waiting);
            }
        }
    }
}
