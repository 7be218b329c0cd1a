using System.Net;
using System.Net.Sockets;

namespace Kv.Server.Network;

/// <summary>Plain TCP and unix sockets on Linux: a fixed set of worker threads, each with an epoll and its share of the connections.</summary>
internal sealed class EpollTransport(KvServer server) : ITransport
{
    private EpollWorker[] _workers = [];
    private Acceptor? _acceptor;
    private string _unixPath = "";

    public string Name => "epoll";

    public int WorkerCount => _workers.Length;

    public IReadOnlyList<EndPoint> Endpoints { get; private set; } = [];

    public Task StartAsync(CancellationToken cancellation)
    {
        var listeners = Listener.OpenAll(server.Options);
        int count = server.Options.WorkerThreads > 0 ? server.Options.WorkerThreads : Environment.ProcessorCount;
        var workers = new EpollWorker[count];
        for (int i = 0; i < count; i++) workers[i] = new EpollWorker(server, i);
        _workers = workers;
        foreach (var worker in workers) worker.Start();
        Endpoints = [.. listeners.Select(listener => listener.LocalEndPoint!)];
        _unixPath = server.Options.UnixSocket;
        server.Options.OnChange("timeout", _ => Attend());
        _acceptor = new Acceptor(server, workers, [.. listeners]);
        _acceptor.Start();
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellation) => Task.Factory.StartNew(Stop, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private void Stop()
    {
        _acceptor?.Stop();
        if (_acceptor != null && _unixPath.Length > 0) File.Delete(_unixPath);
        long deadline = server.TickMs + (server.Options.ShutdownTimeout * 1000L);
        foreach (var worker in _workers) worker.BeginStop(deadline);
        foreach (var worker in _workers) worker.Join();
    }

    /// <summary>Sleeping workers learn of an option that makes them look from time to time.</summary>
    private string? Attend()
    {
        foreach (var worker in _workers) worker.Attend();
        return null;
    }
}
