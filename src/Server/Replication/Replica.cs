using System.Diagnostics;
using System.Globalization;
using Kv.Server.Sessions;

namespace Kv.Server.Replication;

/// <summary>A client that follows this server: it gets a snapshot, then the stream.</summary>
/// <remarks>Under the lock of <see cref="Replicas"/>, but for what says otherwise.</remarks>
/// <param name="file">What it gets first; null: it goes on where it has been.</param>
internal sealed class Replica(Session session, SyncFile? file = null)
{
    private bool _isCut, _isWritten, _hasFailed;
    private long _readTickMs;

    /// <inheritdoc cref="SyncFile"/>
    public SyncFile? File => file;

    public Session Session => session;

    /// <summary>Whether it is known from where on it gets the stream. From any thread.</summary>
    // Volatile: who sees it sees the offset.
    public bool IsCut => Volatile.Read(ref _isCut);

    /// <summary>Whether its snapshot is whole. From any thread.</summary>
    // Volatile: who sees it sees the file, and that it is cut or not.
    public bool IsWritten => Volatile.Read(ref _isWritten);

    /// <summary>Whether it gets no snapshot. From any thread.</summary>
    public bool HasFailed => Volatile.Read(ref _hasFailed);

    /// <summary>Where in the stream its snapshot is: it gets what follows.</summary>
    public long Start { get; private set; }

    /// <summary>Whether it has the snapshot, and gets each piece of the stream.</summary>
    public bool IsOnline { get; set; }

    /// <summary>What it has said to have got.</summary>
    public long Acknowledged { get; set; }

    /// <summary>What it has said to have on its disk; -1: nothing (those of before 7.2 never say).</summary>
    public long AcknowledgedOnDisk { get; set; } = -1;

    /// <summary>Whether it says from time to time how far it is: it has come with PSYNC.</summary>
    public bool Follows { get; init; }

    /// <summary>When it last read a piece of its snapshot. From any thread.</summary>
    // Volatile: written by the session's thread; a late one is no harm.
    public long ReadTickMs
    {
        get => Volatile.Read(ref _readTickMs);
        set => Volatile.Write(ref _readTickMs, value);
    }

    /// <summary>When it last gave a sign of life that it owes; long.MaxValue: it owes none now.</summary>
    public long HeardTickMs => IsOnline ? Follows ? AcknowledgedTickMs : long.MaxValue
        : ReadTickMs is not 0 and var read ? read : long.MaxValue;

    /// <summary>When it said so, in the time of <see cref="KvServer.TickMs"/>.</summary>
    public long AcknowledgedTickMs { get; set; }

    /// <summary>Its own port, as it says; 0: it has not.</summary>
    public int Port => session.ReplicaPort;

    /// <summary>Its address.</summary>
    public string Host => session.Address[..Math.Max(0, session.Address.LastIndexOf(':'))];

    /// <summary>Its snapshot is at this place of the stream.</summary>
    public void Cut(long offset)
    {
        Debug.Assert(!_isCut && offset >= 0, "a snapshot has one place in the stream");
        Start = Acknowledged = offset;
        Volatile.Write(ref _isCut, true);
        session.Unpark();
    }

    /// <summary>Its snapshot is whole, or there will be none.</summary>
    public void EndWriting(bool isWhole)
    {
        Debug.Assert(!_isWritten && !_hasFailed, "a snapshot is whole, or there is none, once");
        Volatile.Write(ref isWhole ? ref _isWritten : ref _hasFailed, true);
        session.Unpark();
    }

    /// <summary>The line of INFO.</summary>
    public string Describe(long nowTickMs) => string.Create(CultureInfo.InvariantCulture,
        $"ip={Host},port={Port},state={(IsOnline ? "online" : "wait_bgsave")},offset={Acknowledged},lag={
            (nowTickMs - AcknowledgedTickMs) / 1000}");
}
