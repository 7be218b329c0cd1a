using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Kv.Tests.Harness;

/// <summary>Threads that go on until they are told to stop; what goes wrong on any of them stops all, and fails the
/// test.</summary>
internal sealed class TestThreads : IDisposable
{
    private readonly List<Thread> _threads = [];
    private readonly ConcurrentQueue<Exception> _failures = new();
    private volatile bool _stop;

    /// <summary>Whether they are to end.</summary>
    public bool IsStopping => _stop;

    public int Count => _threads.Count;

    public void Start(Action body)
    {
        var thread = new Thread(() =>
        {
            try
            {
                body();
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

    /// <summary>Lets them go on for a time, and fails with what went wrong.</summary>
    /// <param name="budget">How long.</param>
    /// <param name="isEnough">What they are to have done by the end: on a busy machine that takes them longer.</param>
    /// <param name="what">Left out: the text of that.</param>
    public void Finish(TimeBudget budget, Func<bool>? isEnough = null,
        [CallerArgumentExpression(nameof(isEnough))] string what = "")
    {
        while (budget.Continues && !_stop) Thread.Sleep(10);
        if (isEnough != null) Eventually.Holds(() => _stop || isEnough(), () => $"{what}; {Seed.Hint}");
        Dispose();
        if (!_failures.IsEmpty) Assert.Fail($"{_failures.First()}\n{Seed.Hint}");
    }

    public void Dispose()
    {
        _stop = true;
        _threads.ForEach(thread => thread.Join());
    }
}
