using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Blocking;

/// <summary>All commands of a server that wait for a key: how they begin to wait, and how they leave.</summary>
/// <remarks>Threads: any. The proof that no waiting client misses an element is in docs/concurrency.md.</remarks>
internal sealed class BlockedClients : IDisposable
{
    /// <summary>How many keys a command may wait for: to begin and to end such a wait takes some
    /// milliseconds.</summary>
    public const int KeysMax = 4096;

    /// <summary>A <see cref="WaitPlace"/> of 64 bytes, and its place in the command's list.</summary>
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
    // A client may be served, and counted out, before it is counted.
    public int Count => Math.Max(0, Volatile.Read(ref _count));

    /// <summary>Keys whose deletion ends somebody's wait.</summary>
    public int KeysEndingWaits => Volatile.Read(ref _keysEndingWaits);

    /// <summary>Clients that wait with a timeout.</summary>
    public int TimedCount => _timers.Count;

    /// <summary>Milliseconds of the clock for timeouts.</summary>
    public long NowMs => _timers.NowMs;

    /// <summary>Refuses to wait for more than <see cref="KeysMax"/> keys: a client joins the queues of all, and leaves
    /// them, in one turn.</summary>
    /// <returns>True after writing an error; false when the keys are few enough, with nothing written.</returns>
    public static bool Refuses(ref CommandContext context, KeyRange keys)
    {
        if (keys.Count <= KeysMax) return false;
        context.Fail(System.Text.Encoding.ASCII.GetBytes(
            $"ERR too many keys to wait for, at most {KeysMax} are taken at once"));
        return true;
    }

    /// <summary>Lets a command wait for keys in the database of its session; serves it at once if an element has
    /// arrived meanwhile.</summary>
    /// <param name="context">The command's context; its reply is owed.</param>
    /// <param name="command">A new command.</param>
    /// <param name="type">What it waits for: a list, a sorted set or a stream.</param>
    /// <param name="keys">Which of its arguments are the keys.</param>
    /// <param name="timeoutMs">How long it waits; 0 for ever.</param>
    public void Begin(ref CommandContext context, BlockedCommand command, DataType type, KeyRange keys, long timeoutMs)
    {
        if (Refuses(ref context, keys)) return;
        Debug.Assert(command.IsWaiting, "the command is new");
        Debug.Assert(context.MayBlock, "what EXEC runs waits for nobody");
        Debug.Assert(keys.Count >= 0 && timeoutMs >= 0, "a wait is for some keys or none, and has a length or no end");
        Debug.Assert(context.Reply.Owed > 0, "the reply is the blocked command's");
        var session = context.Session;
        context.Store.MayComeAgain = false;     // others may serve it from here on
        // Parked before anybody can find it: whoever serves it wakes a parked session.
        session.Park(long.MaxValue);
        session.Steps = command;
        context.Counters.ByCommand[context.Command.Id].Calls--;     // it is counted when it is done
        try
        {
            var places = Join(ref context, command, type, keys);
            // What the command itself has changed, as a consumer made or a key expired, is an entry of its own: its
            // ticket was drawn under locks let go of since, and who serves says what it does before it changes.
            context.Events.EndCommand(context.Sent);
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

    // In the order of the keys, so that Begin looks at the first key first.
    private WaitPlace[] Join(ref CommandContext context, BlockedCommand command, DataType type, KeyRange keys)
    {
        var places = new WaitPlace[keys.Count];
        int joined = 0;
        try
        {
            if (keys.Count > 0) command.Keep(ref context);
            for (; joined < places.Length; joined++)
            {
                var key = context.Store.Key(context.Args[keys.First + (joined * keys.Step)].Span);
                var watched = _server.Store.Databases.Await(context.Session.Database, key);
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

    /// <summary>Takes a command out of the queues of its keys.</summary>
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
                {
                    int left = Interlocked.Decrement(ref _keysEndingWaits);
                    Debug.Assert(left >= 0, "the key was counted when the first began to wait for it");
                }
            }

            _server.Store.Watches.RemoveWaiter(place.Key);
        }

        _server.Store.ChargeManaged(-BytesOf(command, places));
    }

    private static long BytesOf(BlockedCommand command, WaitPlace[] places) =>
        command.Bytes + (PlaceBytes * (long)places.Length);

    /// <summary>Counts a client whose wait has ended.</summary>
    internal void CountOut() => Interlocked.Decrement(ref _count);

    /// <summary>Serves those who wait for some keys, on a thread of the pool. From any thread, whatever it
    /// holds.</summary>
    public void ServeElsewhere(WatchedKey[] keys)
    {
        Interlocked.Increment(ref _elsewhere);
        ThreadPool.UnsafeQueueUserWorkItem(static work => work.Clients.ServeOnPool(work.Keys),
            (Clients: this, Keys: keys), preferLocal: false);
    }

    /// <summary>Runs work for which a client waits, on threads of the pool.</summary>
    /// <param name="work">Ends soon after its client has gone, and does not throw.</param>
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
                item.Clients.EndElsewhere();
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
            EndElsewhere();
        }
    }

    private void EndElsewhere()
    {
        int left = Interlocked.Decrement(ref _elsewhere);
        Debug.Assert(left >= 0, "what ends on the pool was counted when it was put there");
    }

    public void Dispose()
    {
        _server.Store.KeysArrived = null;
        _timers.Dispose();
        // Ends: no client is left, so nobody is served; what still runs on the pool waits for nothing, and is soon
        // over. The store is there until then.
        for (var wait = new SpinWait(); Volatile.Read(ref _elsewhere) != 0;) wait.SpinOnce();
    }
}
