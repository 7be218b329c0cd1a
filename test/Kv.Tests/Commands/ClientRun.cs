using System.Runtime.CompilerServices;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Clients on threads of their own for a bounded time; what goes wrong on any of them fails the
/// test.</summary>
internal sealed class ClientRun(TestServer server, TimeBudget budget) : IDisposable
{
    private readonly TestThreads _threads = new();

    /// <summary>Adds a client that does one thing again and again, at least once.</summary>
    public void Add(Action<RespClient, Random> body) => Start(random =>
    {
        using var client = server.Connect();
        do body(client, random);
        while (!_threads.IsStopping);
    });

    /// <summary>The same of a client without a connection.</summary>
    /// <param name="prepare">Makes what it does.</param>
    public void AddWindow(KvInstance instance, Func<Random, Action<WindowClient>> prepare) => Start(random =>
    {
        using var client = new WindowClient(instance);
        var body = prepare(random);
        do body(client);
        while (!_threads.IsStopping);
    });

    /// <summary>Adds a thread without a connection.</summary>
    public void AddOutside(Action<Random> body) => Add((_, random) => body(random));

    private void Start(Action<Random> body)
    {
        var random = Seed.NewRandom(_threads.Count);
        _threads.Start(() => body(random));
    }

    public void Finish(Func<bool>? isEnough = null, [CallerArgumentExpression(nameof(isEnough))] string what = "") =>
        _threads.Finish(budget, isEnough, what);

    public void Dispose() => _threads.Dispose();
}
