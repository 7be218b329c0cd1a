using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Sessions;

/// <summary>maxmemory-clients: while the server holds more than that for its clients, the largest are
/// closed.</summary>
/// <remarks>
/// Threads: its timer's, and whoever changes the option. What a client holds is read as CLIENT LIST reads it, each
/// figure of some recent moment, so a client may be closed that has just become smaller; and between two looks clients
/// may grow by what the network brings. A client that was closed no longer counts: its memory is on its way back.
/// </remarks>
internal sealed class ClientMemory : IDisposable
{
    /// <summary>Less would leave nobody who could say CONFIG SET.</summary>
    private const long LimitMin = 128 * 1024;

    private static readonly TimeSpan Tick = TimeSpan.FromMilliseconds(20);

    private readonly KvServer _server;
    private readonly Lock _guard = new();
    private readonly List<(long Bytes, Session Session)> _clients = [];
    private readonly ITimer _timer;
    private long _evicted;

    public ClientMemory(KvServer server)
    {
        _server = server;
        _timer = server.Time.CreateTimer(static self => ((ClientMemory)self!).Look(), this, Timeout.InfiniteTimeSpan,
            Timeout.InfiniteTimeSpan);
    }

    /// <summary>Clients that were closed because of the limit.</summary>
    public long Evicted => Volatile.Read(ref _evicted);

    /// <summary>Goes by the options from now on.</summary>
    public string? Follow(ServerOptions options)
    {
        long most = LimitOf(options);
        _server.Store.ClientBytesMax = most;
        var period = most == 0 ? Timeout.InfiniteTimeSpan : Tick;
        _timer.Change(period, period);
        return null;
    }

    public void Dispose() => _timer.Dispose();

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void ResetCounts() => Volatile.Write(ref _evicted, 0);

    /// <summary>Bytes that clients may hold together; 0: no limit. A percentage is of maxmemory, and no limit without
    /// one.</summary>
    internal static long LimitOf(ServerOptions options)
    {
        long most = options.MaxMemoryClients;
        if (most < 0) most = PercentOf(options.MaxMemory, -most);
        return most == 0 ? 0 : Math.Max(most, LimitMin);
    }

    internal void Look()
    {
        if (!_guard.TryEnter()) return;     // a look that takes longer than a tick is enough
        try
        {
            long most = LimitOf(_server.Options);
            if (most != 0) CloseLargest(most);
        }
        finally
        {
            _guard.Exit();
        }
    }

    private void CloseLargest(long most)
    {
        long all = 0;
        _clients.Clear();
        foreach (Session session in _server.Connections.Snapshot())
        {
            if (session.IsKilled) continue;
            long bytes = session.MemoryBytes;
            all += bytes;
            bool mayGo = !session.NoEvict && session.Kind is ClientKind.Normal or ClientKind.PubSub;
            if (mayGo) _clients.Add((bytes, session));
        }

        if (all > most)
        {
            _clients.Sort(static (left, right) => right.Bytes.CompareTo(left.Bytes));
            foreach ((long bytes, Session session) in _clients)
            {
                if (all <= most) break;
                all -= bytes;
                Close(session, bytes, most);
            }
        }

        _clients.Clear();       // else sessions that have ended would stay in memory
    }

    private void Close(Session session, long bytes, long most)
    {
        Interlocked.Increment(ref _evicted);
        if (_server.LogBrakes.ClientMemory.TryTake(_server.TickMs, out string more))
        {
            _server.Log.LogInformation(
                "Client {Client} at {Address} holds {Bytes} bytes, and all together more than {Limit}; closed "
                + "(maxmemory-clients){More}", session.Id, session.Address, bytes, most, more);
        }

        session.Kill();
    }

    // In two parts, as the whole times 100 may be more than fits.
    private static long PercentOf(long whole, long percent) =>
        (whole / 100 * percent) + (whole % 100 * percent / 100);
}
