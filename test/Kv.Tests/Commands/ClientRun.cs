using System.Collections.Concurrent;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Clients on threads of their own for a bounded time; what goes wrong on any of them fails the test.</summary>
internal sealed class ClientRun(TestServer server, TimeBudget budget) : IDisposable
{
    private readonly List<Thread> _threads = [];
    private readonly ConcurrentQueue<Exception> _failures = new();
    private volatile bool _stop;

    /// <summary>Adds a client that does one thing again and again, at least once.</summary>
    public void Add(Action<RespClient, Random> body) => Start(random =>
    {
        using var client = server.Connect();
        do body(client, random);
        while (!_stop);
    });

    /// <summary>The same of a client without a connection.</summary>
    /// <param name="prepare">Makes what it does.</param>
    public void AddWindow(KvInstance instance, Func<Random, Action<WindowClient>> prepare) => Start(random =>
    {
        using var client = new WindowClient(instance);
        var body = prepare(random);
        do body(client);
        while (!_stop);
    });

    /// <summary>Adds a thread without a connection.</summary>
    public void AddOutside(Action<Random> body) => Add((_, random) => body(random));

    private void Start(Action<Random> body)
    {
        var random = Seed.NewRandom(_threads.Count);
        var thread = new Thread(() =>
        {
            try
            {
                body(random);
            }
            catch (Exception failure)
            {
                _failures.Enqueue(failure);
                _stop = true;
            }
        }) { IsBackground = true };
        _threads.Add(thread);
        thread.Start();
    }

    public void Finish()
    {
        while (budget.Continues && !_stop) Thread.Sleep(10);
        _stop = true;
        _threads.ForEach(thread => thread.Join());
        if (!_failures.IsEmpty) Assert.Fail($"{_failures.First()}\n{Seed.Hint}");
    }

    public void Dispose()
    {
        _stop = true;
        _threads.ForEach(thread => thread.Join());
    }
}
