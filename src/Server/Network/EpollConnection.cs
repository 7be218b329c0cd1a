using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>A socket of the epoll transport and what it keeps between turns: as little as possible.</summary>
/// <remarks>
/// Threads: its worker's, but for <see cref="Wake"/> and the numbers that others read, where stale is good enough.
/// Cost: with its session about 400 bytes; buffers only while something waits in them.
/// </remarks>
internal sealed unsafe class EpollConnection(EpollWorker worker, int descriptor) : ISessionOwner
{
    public readonly EpollWorker Worker = worker;
    public readonly int Descriptor = descriptor;

    /// <summary>Bytes that have arrived and are not yet run.</summary>
    public PendingInput Pending;

    /// <summary>In a turn: all bytes not yet run, here or in the worker's buffer.</summary>
    public byte* InputStart;
    public int InputLength;

    /// <summary>Replies that the client has not taken yet; null for none.</summary>
    public Backlog? Backlog;

    /// <summary>The next in the worker's inbox.</summary>
    public EpollConnection? NextInInbox;

    /// <summary>1 while the connection is in the inbox: it is there at most once.</summary>
    public int InInbox;

    /// <summary>The place in the worker's table, and a number that differs from that of the connections there before:
    /// together the data of the socket's events.</summary>
    public int Slot = NoSlot;
    public uint Generation;

    /// <summary>What <see cref="Slot"/> is while the connection is in no table.</summary>
    public const int NoSlot = -1;

    /// <summary>What the worker's epoll watches for.</summary>
    public uint Interest;

    public EpollConnectionState State;

    /// <summary>The client will send no more; it still gets the replies to what it has sent.</summary>
    public bool EndOfInput;

    /// <summary>The client will send no more, and something it has sent has not been received yet.</summary>
    public bool HasInputBeforeEnd;

    /// <summary>Bytes that must have arrived before the worker is woken for them.</summary>
    public int WakeBytes = 1;

    /// <summary>The session has had its share of a turn, and more of its input is here: nothing is received before that
    /// has been run.</summary>
    public bool HasMore;

    /// <summary>The last receive has filled all the room it had: probably more has arrived.</summary>
    public bool HasFilledRoom;

    /// <summary>The last argument was large, so the next one probably is, too: little is to be received before its
    /// block is there.</summary>
    public bool SendsLarge;

    /// <summary>Replies in the backlog were not sent because more input was about to be received: they are sent at the
    /// end of the turn.</summary>
    public bool HoldsReplies;

    /// <summary>Replies in the backlog wait until all up to this ticket is on the disk; 0: they do not.</summary>
    public long HeldTicket;

    /// <summary>Whether the connection is in the worker's list of this name.</summary>
    public bool IsWaiting, IsContinuing, IsHeld;

    /// <summary>Since when the backlog has been over the soft limit, or the end of lingering; 0 for neither.</summary>
    public long SinceTickMs;

    private BufferCharge _charge;

    public Session Session { get; set; } = null!;

    // Others read these for CLIENT LIST and INFO: plain words, each written whole, of objects that the reference keeps
    // alive; native memory is not touched. The figures may be of different moments.
    public long QueryBytes => Math.Max(InputLength, Pending.Length);

    public long QueryFreeBytes => Math.Max(0, Pending.Capacity - Pending.Length);

    public long OutputBytes => (Backlog?.Length ?? 0) + (Session.Messages?.Bytes ?? 0);

    public int OutputPieces => (Backlog?.Pieces ?? 0) + (Session.Messages?.Count ?? 0);

    public long OutputMemoryBytes =>
        (Backlog is { } backlog ? backlog.MemoryBytes + backlog.BlockBytes : 0) + (Session.Messages?.Bytes ?? 0);

    public long BufferBytes => Pending.Capacity + Session.Partial.KeptBytes + (Backlog?.MemoryBytes ?? 0);

    /// <inheritdoc cref="OutputLimits.Allows"/>
    public bool IsOutputAllowed(long now) => OutputLimits.Allows(Session, OutputBytes, now, ref SinceTickMs);

    /// <summary>Charges the store with what the client's buffers hold now.</summary>
    public void Charge(Store store) => _charge.Set(store, Session, BufferBytes);

    public void Wake(Session session) => Worker.Post(this);
}

/// <summary>Where a connection is in its life.</summary>
internal enum EpollConnectionState : byte
{
    /// <summary>Accepted, not yet with its worker.</summary>
    New,

    Open,

    /// <summary>Our side is closed. What still comes in is thrown away, so that the client gets the last replies and no
    /// reset.</summary>
    Lingering,

    /// <summary>Failed in the middle of a turn; closed at its end.</summary>
    Broken,

    Closed,
}
