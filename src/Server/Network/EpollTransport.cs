using System.Net;

namespace Kv.Server.Network;

/// <summary>Plain TCP and unix sockets on Linux: a fixed set of worker threads, each with an epoll and its share of the
/// connections. Clients over TLS are served by a <see cref="PipelineTransport"/> beside it.</summary>
internal sealed class EpollTransport(KvServer server) : ITransport
{
    private EpollWorker[] _workers = [];
    private Acceptor? _acceptor;
    private readonly Listeners _listeners = new(server);

    public string Name => "epoll";

    public int WorkerCount => _workers.Length;

    public IReadOnlyList<EndPoint> Endpoints => _listeners.EndPoints;

    public Task StartAsync(CancellationToken cancellation)
    {
        _listeners.Open();
        int count = server.Options.WorkerThreads > 0 ? server.Options.WorkerThreads : Environment.ProcessorCount;
        var workers = new EpollWorker[count];
        for (int i = 0; i < count; i++) workers[i] = new EpollWorker(server, i);
        _workers = workers;
        foreach (var worker in workers) worker.Start();
        server.Options.OnChange("timeout", _ => Attend());
        _acceptor = new Acceptor(server, workers);
        _listeners.Serve(_acceptor.Add, _acceptor.Remove, server.AcceptTls);
        _acceptor.Start();
        return Task.CompletedTask;
    }

    public bool MakesProgress(int withinMs)
    {
        long deadline = server.TickMs + withinMs;
        foreach (var worker in _workers) worker.Attend();
        foreach (var worker in _workers)
        {
            // Ends: at the deadline.
            while (!worker.HasAttended)
            {
                if (server.TickMs >= deadline) return false;
                Thread.Sleep(1);
            }
        }

        return true;
    }

    public Task<bool> StopAsync(CancellationToken cancellation) =>
        Task.Factory.StartNew(Stop, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private bool Stop()
    {
        _listeners.Close();
        _acceptor?.Stop();
        long deadline = server.TickMs + (server.Options.ShutdownTimeout * 1000L);
        foreach (var worker in _workers) worker.BeginStop(deadline);
        bool ended = true;
        // One deadline for all: a worker that is stuck in a command takes nothing from the others.
        foreach (var worker in _workers)
            ended &= worker.Join((int)Math.Clamp(deadline + ITransport.StopGraceMs - server.TickMs, 0, int.MaxValue));
        return ended;
    }

    /// <summary>Wakes the workers, since an option may now make them look at their clients from time to time.</summary>
    private string? Attend()
    {
        foreach (var worker in _workers) worker.Attend();
        return null;
    }
}
