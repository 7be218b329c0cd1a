using System.Runtime.CompilerServices;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Stress;

/// <summary>Threads on one store for a bounded time; what goes wrong on any of them fails the test.</summary>
internal sealed class StressRun : IDisposable
{
    private readonly TestThreads _threads = new();
    private readonly TimeBudget _budget;
    private long _time;

    public StressRun(double seconds)
    {
        _budget = TimeBudget.OfSeconds(seconds);
        Store = new Store(new StoreOptions { Background = false, Time = Clock });
        Store.Log.PoisonFreed = true;       // who still reads a freed segment reads nonsense
        // A session that has selected the database before its first key came sees none until it selects again. Commands
        // select when they are run; the bodies of these threads do before their operation is called.
        using StoreGuard guard = Store.Enter();
        guard.Session.Set(guard.Session.Key("first"u8), "key"u8);
        guard.Session.Delete(guard.Session.Key("first"u8));
    }

    public TestClock Clock { get; } = new();
    public Store Store { get; }

    /// <summary>A moment of its own: of two calls, the later one gets the larger number.</summary>
    public long Now() => Interlocked.Increment(ref _time);

    /// <summary>Adds a thread that calls a body, with a session in a new turn, until the time is over.</summary>
    public void Add(Action<StoreSession, Random> body)
    {
        int number = _threads.Count;
        _threads.Start(() =>
        {
            using StoreSession session = Store.CreateSession();
            Random random = Seed.NewRandom(number);
            while (!_threads.IsStopping)
            {
                session.BeginTurn();
                session.Select(0);
                for (int i = 0; i < 16 && !_threads.IsStopping; i++) body(session, random);
                session.GoOffline();
            }
        });
    }

    /// <summary>Adds a thread that has no session.</summary>
    public void AddOutside(Action body) => _threads.Start(() =>
    {
        while (!_threads.IsStopping) body();
    });

    /// <summary>What makes a store move: upkeep, keys that come and go elsewhere in the same index, and the
    /// collector.</summary>
    public void AddWeather()
    {
        AddOutside(() =>
        {
            Store.Maintain();
            Clock.Advance(20);
            Thread.Yield();
        });
        AddOutside(() =>
        {
            GC.Collect(0);
            Thread.Sleep(1);
        });
        int round = 0;
        Add((session, random) =>
        {
            // 40,000 keys of 100 bytes to 1 KB: the index doubles, segments fill; then most go, and segments are
            // reclaimed.
            int at = round++ % 40_000;
            Key key = session.Key(TestStore.Bytes("weather" + at));
            if (round / 40_000 % 2 == 0) session.Set(key, new byte[100 + random.Next(900)]);
            else if (at % 10 != 0) session.Delete(key);
            for (int i = 0; i < 15; i++)
            {
                at = round++ % 40_000;
                key = session.Key(TestStore.Bytes("weather" + at));
                if (round / 40_000 % 2 == 0) session.Set(key, new byte[100 + random.Next(900)]);
                else if (at % 10 != 0) session.Delete(key);
            }
        });
    }

    /// <summary>Lets the threads go on for the budget, and until they have done enough, joins them, and checks the
    /// store.</summary>
    public void Finish(Func<bool>? isEnough = null, [CallerArgumentExpression(nameof(isEnough))] string what = "")
    {
        _threads.Finish(_budget, isEnough, what);
        Store.Maintain();
        Store.CheckIntegrity();
    }

    public void Dispose()
    {
        _threads.Dispose();
        Store.Dispose();
    }
}
