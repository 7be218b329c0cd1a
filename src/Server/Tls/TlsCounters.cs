using System.Diagnostics;

namespace Kv.Server.Tls;

/// <summary>What became of connections to the port for TLS.</summary>
/// <remarks>Threads: any; interlocked, once a connection.</remarks>
internal sealed class TlsCounters
{
    private long _completed, _failed, _late, _plain, _reloads, _failedReloads;
    private int _clients;

    /// <summary>Handshakes that were completed.</summary>
    public long Completed => Volatile.Read(ref _completed);

    /// <summary>Connections that ended before their handshake did, for whatever reason.</summary>
    public long Failed => Volatile.Read(ref _failed);

    /// <summary>Those of them that took too long.</summary>
    public long Late => Volatile.Read(ref _late);

    /// <summary>Those of them that sent something else than TLS.</summary>
    public long Plain => Volatile.Read(ref _plain);

    /// <summary>How often certificates were read again.</summary>
    public long Reloads => Volatile.Read(ref _reloads);

    /// <summary>How often they could not be, and those of before stayed.</summary>
    public long FailedReloads => Volatile.Read(ref _failedReloads);

    /// <summary>Clients connected now whose handshake was completed.</summary>
    public int Clients => Volatile.Read(ref _clients);

    public void CountCompleted()
    {
        Interlocked.Increment(ref _completed);
        Interlocked.Increment(ref _clients);
    }

    public void CountEnd()
    {
        int left = Interlocked.Decrement(ref _clients);
        Debug.Assert(left >= 0, "who ends was counted");
    }

    public void CountFailed() => Interlocked.Increment(ref _failed);

    public void CountLate() => Interlocked.Increment(ref _late);

    public void CountPlain() => Interlocked.Increment(ref _plain);

    public void CountReload(bool failed) => Interlocked.Increment(ref failed ? ref _failedReloads : ref _reloads);

    /// <summary>CONFIG RESETSTAT.</summary>
    public void Reset()
    {
        Volatile.Write(ref _completed, 0);
        Volatile.Write(ref _failed, 0);
        Volatile.Write(ref _late, 0);
        Volatile.Write(ref _plain, 0);
        Volatile.Write(ref _reloads, 0);
        Volatile.Write(ref _failedReloads, 0);
    }
}
