using System.Net;

namespace Kv.Server.Network;

internal sealed class PipelineTransport(KvServer server) : ITransport
{
    public string Name => "pipelines";
    public int WorkerCount => server.Options.WorkerThreads;
    public IReadOnlyList<EndPoint> Endpoints => [];
    public Task StartAsync(CancellationToken cancellation) => Task.CompletedTask;
    public Task StopAsync(CancellationToken cancellation) => Task.CompletedTask;
}
