using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Blocking;

/// <summary>All commands of a server that wait for a key: how they begin to wait, and how they leave.</summary>
/// <remarks>Threads: any. The proof that no element passes one by who waits is in docs/concurrency.md.</remarks>
internal sealed class BlockedClients : IDisposable
{
    /// <summary>Keys that a command waits for: some milliseconds to begin, and to leave.</summary>
    public const int KeysMax = 4096;

    /// <summary>Of one of them: a <see cref="WaitPlace"/> of 64 bytes, and its place in the command's list.</summary>
    private const int PlaceBytes = 64 + 8;

    private readonly KvServer _server;
    private readonly WaitTimers _timers;
    private int _count, _elsewhere, _keysEndingWaits;

    public BlockedClients(KvServer server)
    {
        _server = server;
        _timers = new WaitTimers(server.Time);
        server.Store.KeysArrived = ServeElsewhere;
    }

    /// <summary>Clients that wait in a blocking command.</summary>
    // One may be served before it is counted.
    public int Count => Math.Max(0, Volatile.Read(ref _count));

    /// <summary>Keys whose going ends the wait of somebody.</summary>
    public int KeysEndingWaits => Volatile.Read(ref _keysEndingWaits);

    /// <summary>Those of them that do not wait for ever.</summary>
    public int TimedCount => _timers.Count;

    /// <summary>Milliseconds of the clock that timeouts go by.</summary>
    public long NowMs => _timers.NowMs;

    /// <summary>Answers that these are more keys than a client may wait for: it stands in the queue of each, and leaves
    /// each, in one turn.</summary>
    /// <returns>False when they are not; nothing was written.</returns>
    public static bool Refuses(ref CommandContext context, KeyRange keys)
    {
        if (keys.Count <= KeysMax) return false;
        context.Fail(System.Text.Encoding.ASCII.GetBytes(
            $"ERR too many keys to wait for, at most {KeysMax} are taken at once"));
        return true;
    }

    /// <summary>Has a command wait at keys, in the database of its session; serves it at once if something has come
    /// meanwhile.</summary>
    /// <param name="context">The command's, with a reply that is owed.</param>
    /// <param name="command">New.</param>
    /// <param name="type">What it waits for: a list, a sorted set or a stream.</param>
    /// <param name="keys">Which of its arguments are the keys.</param>
    /// <param name="timeoutMs">How long; 0 for ever.</param>
    public void Begin(ref CommandContext context, BlockedCommand command, DataType type, KeyRange keys, long timeoutMs)
    {
        if (Refuses(ref context, keys)) return;
        Debug.Assert(command.IsWaiting, "it is new");
        var session = context.Session;
        // Parked before anybody can find it: who serves it wakes a session that is parked.
        session.Park(long.MaxValue);
        session.Steps = command;
        context.Counters.ByCommand[context.Command.Id].Calls--;     // it is counted when it is done
        try
        {
            var places = Join(ref context, command, type, keys);
            for (int i = 0; i < places.Length && command.IsWaiting; i++) context.Waits.Serve(places[i].Key);
            if (command.IsServed)
            {
                session.EndPark();
                session.Steps = null;
                context.Store.Select(session.Database);
                command.Step(ref context);
            }
            else if (timeoutMs != 0)
            {
                _timers.Add(command, timeoutMs);
            }
        }
        catch
        {
            session.EndPark();
            session.EndSteps();
            throw;
        }
    }

    // In the order of the keys: the one that comes first is looked at first.
    private WaitPlace[] Join(ref CommandContext context, BlockedCommand command, DataType type, KeyRange keys)
    {
        var places = new WaitPlace[keys.Count];
        int joined = 0;
        try
        {
            for (; joined < places.Length; joined++)
            {
                var key = context.Store.Key(context.Args[keys.First + (joined * keys.Step)].Span);
                var watched = _server.Store.Await(context.Session.Database, key);
                var queue = (WaitQueue)(watched.Queue ?? watched.ProvideQueue(new WaitQueue()));
                var place = places[joined] = new WaitPlace(command, watched, queue, type, joined);
                lock (queue.Guard)
                {
                    queue.Add(place);
                    if (command.EndsWithoutKey && queue.EndingWithoutKey++ == 0)
                        Interlocked.Increment(ref _keysEndingWaits);
                }
            }
        }
        finally
        {
            if (joined < places.Length) places = places[..joined];
            command.Stand(places);
            _server.Store.ChargeManaged(BytesOf(command, places));
            Interlocked.Increment(ref _count);
        }

        return places;
    }

    /// <summary>A command leaves its places.</summary>
    internal void Leave(BlockedCommand command, WaitPlace[] places)
    {
        _timers.Remove(command);
        foreach (var place in places)
        {
            lock (place.Queue.Guard)
            {
                place.Queue.Remove(place);
                Debug.Assert(!command.EndsWithoutKey || place.Queue.EndingWithoutKey > 0, "it was counted");
                if (command.EndsWithoutKey && --place.Queue.EndingWithoutKey == 0)
                    Interlocked.Decrement(ref _keysEndingWaits);
            }

            _server.Store.Watches.RemoveWaiter(place.Key);
        }

        _server.Store.ChargeManaged(-BytesOf(command, places));
    }

    private static long BytesOf(BlockedCommand command, WaitPlace[] places) =>
        command.Bytes + (PlaceBytes * (long)places.Length);

    /// <summary>Somebody's wait has ended.</summary>
    internal void CountOut() => Interlocked.Decrement(ref _count);

    /// <summary>Serves those who wait at some keys on a thread of the pool. From any thread, whatever it
    /// holds.</summary>
    public void ServeElsewhere(WatchedKey[] keys)
    {
        Interlocked.Increment(ref _elsewhere);
        ThreadPool.UnsafeQueueUserWorkItem(static work => work.Clients.ServeOnPool(work.Keys),
            (Clients: this, Keys: keys), preferLocal: false);
    }

    /// <summary>Runs on threads of the pool what a client waits for. It ends soon after its client has gone, and does
    /// not throw.</summary>
    public void RunElsewhere(Func<Task> work)
    {
        Interlocked.Increment(ref _elsewhere);
        ThreadPool.UnsafeQueueUserWorkItem(static async item =>
        {
            try
            {
                await item.Work().ConfigureAwait(false);
            }
            finally
            {
                Interlocked.Decrement(ref item.Clients._elsewhere);
            }
        }, (Clients: this, Work: work), preferLocal: false);
    }

    private void ServeOnPool(WatchedKey[] keys)
    {
        try
        {
            using var guard = _server.Store.Enter();
            using var serving = new KeyServer(_server, guard.Session);
            foreach (var key in keys) serving.Serve(key);
            serving.ServeArrivals();
        }
        catch (Exception exception)
        {
            _server.Log.LogCritical(exception, "Serving blocked clients failed");
        }
        finally
        {
            Interlocked.Decrement(ref _elsewhere);
        }
    }

    public void Dispose()
    {
        _server.Store.KeysArrived = null;
        _timers.Dispose();
        // Ends: no client is left, so nobody is served; what runs on the pool is over in no time, as nothing is waited
        // for any more. The store is there until then.
        for (var wait = new SpinWait(); Volatile.Read(ref _elsewhere) != 0;) wait.SpinOnce();
    }
}
