using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

//   state:   Waiting ──► Serving ──► Served       whoever changed a key claims, replies, wakes the session
//               ├──────► TimedOut                 the time has passed, or CLIENT UNBLOCK TIMEOUT
//               ├──────► Unblocked                CLIENT UNBLOCK ERROR
//               └──────► Gone                     the client has left or was killed
//
// Invariant: Waiting is left by a compare-and-swap, so of all who may end a wait exactly one does. Only who has claimed
// takes an element, so none is taken for a client who is not there to get it.

/// <summary>A blocking command (BLPOP, XREAD BLOCK...) that found nothing, and waits until one of its keys has
/// something for it.</summary>
/// <remarks>
/// It stands in the queue of each of its keys. It is the rest of its session's command: the session is parked, and its
/// next commands wait until this one is done. No thread is held.
/// Threads: any may serve or end it; the session's own disposes it, in its last step or when the client goes.
/// </remarks>
internal abstract class BlockedCommand(Session session) : ICommandSteps, IDisposable
{
    private const int Waiting = 0, Serving = 1, Served = 2, TimedOut = 3, Unblocked = 4, Gone = 5;

    private int _state;
    private byte[] _reply = [];
    private WaitPlace[] _places = [];
    private bool _stands;
    private int _chargedReply;

    public Session Session { get; } = session;

    /// <summary>Whether nobody has served or ended it yet.</summary>
    // Volatile: only a look; whoever acts on it claims first.
    public bool IsWaiting => Volatile.Read(ref _state) == Waiting;

    /// <summary>Whether its reply is there, and only has to be sent.</summary>
    public bool IsServed => Volatile.Read(ref _state) == Served;

    /// <summary>When it gives up, in the time of <see cref="BlockedClients.NowMs"/>; <see cref="long.MaxValue"/>:
    /// never.</summary>
    public long DeadlineMs { get; internal set; } = long.MaxValue;

    /// <summary>Bytes of the managed heap that it takes beside its places.</summary>
    protected internal virtual long Bytes => 0;

    /// <summary>The call; null where nobody serves it from a key.</summary>
    internal BlockedCall? Call { get; private set; }

    /// <summary>Its place in the heap of <see cref="WaitTimers"/>, which alone use it.</summary>
    internal int TimerPlace { get; set; } = WaitTimers.NoPlace;

    /// <summary>Whether it is served, with an error, when one of its keys is deleted (XREADGROUP).</summary>
    public virtual bool EndsWithoutKey => false;

    /// <summary>Tries to serve it with what is at one of its keys now.</summary>
    /// <param name="serving">The key, a session of the store on the command's database, and where the reply
    /// goes.</param>
    /// <returns>
    /// True when it was served: <see cref="Serving.TryClaim"/> returned true, then elements were taken and exactly one
    /// reply was written. False when the key has nothing for it (absent, empty, of another type) or its wait has ended
    /// otherwise: nothing was changed.
    /// </returns>
    /// <remarks>
    /// Called under the lock of the key's queue, on any thread, any number of times, also for keys that have not
    /// changed. So it is short, waits for nobody but owners of keys, looks and claims while it holds the key, and
    /// changes nothing before it has claimed. Who waits for another key that it changes (a destination) is served
    /// afterwards.
    /// </remarks>
    protected internal abstract bool TryServe(ref Serving serving);

    /// <summary>Writes the reply for a wait whose time has passed: a null array.</summary>
    protected virtual void WriteTimeout(ReplyWriter reply) => reply.WriteNullArray();

    /// <summary>Ends the wait without an element, unless it has ended already. From any thread.</summary>
    /// <param name="isError">Whether the reply is an error, and not that of a timeout.</param>
    /// <returns>Whether this call has ended it.</returns>
    public bool TryEnd(bool isError = false)
    {
        if (!TryLeave(isError ? Unblocked : TimedOut)) return false;
        Session.Unpark();
        return true;
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool GoesOnInPause => true;      // its reply is there

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        int state = Volatile.Read(ref _state);      // acquire: if it is Served, the reply is there
        if (state is Waiting or Serving)
        {
            // Woken for another reason (a pause has ended). Parks first, then looks again: whoever ends the wait in
            // between finds a parked session, or is seen here.
            Session.Park(long.MaxValue);
            // Parked before the look: whoever ends the wait writes the state before it wakes the session.
            Interlocked.MemoryBarrier();
            state = Volatile.Read(ref _state);
            if (state is Waiting or Serving) return false;
            Session.EndPark();
        }

        Debug.Assert(state is Served or TimedOut or Unblocked, "a command goes on when its wait has ended, not later");
        context.Counters.ByCommand[context.Command.Id].Calls++;
        Dispose();
        // An error is written by Fail, so that it is counted as one.
        if (state == Served && _reply[0] == '-') context.Fail(_reply.AsSpan(1, _reply.Length - 3));
        else if (state == Served) context.Reply.WriteRaw(_reply);
        else if (state == Unblocked) context.Fail("UNBLOCKED client unblocked via CLIENT UNBLOCK"u8);
        else WriteTimeout(context.Reply);
        return true;
    }

    /// <summary>Leaves all queues. By the session's own thread.</summary>
    public virtual void Dispose()
    {
        TryLeave(Gone);
        if (!_stands) return;
        _stands = false;
        Session.Server.Blocked.Leave(this, _places);
        _places = [];
        // Nobody finds it any more.
        Call?.Dispose();
        Call = null;
        // Whoever served it did so under the lock of one of its queues, and Leave has taken each of these locks since:
        // the charge of the reply is visible here.
        Session.Server.Store.ChargeManaged(-_chargedReply);
        _chargedReply = 0;
    }

    /// <summary>Keeps the call until it is disposed. Before anybody can find it.</summary>
    internal void Keep(ref CommandContext context)
    {
        Debug.Assert(!_stands && Call == null, "a command begins to wait once");
        Call = new BlockedCall(ref context);
    }

    /// <summary>Notes where it waits, from now until it is disposed.</summary>
    internal void Stand(WaitPlace[] places)
    {
        Debug.Assert(!_stands, "a command begins to wait once");
        _places = places;
        _stands = true;
    }

    /// <summary>Makes the caller the one who serves it, unless its wait has ended.</summary>
    internal bool TryClaim() => TryLeave(Serving);

    /// <summary>Keeps the reply, and lets the client go on. By who has claimed.</summary>
    internal void Finish(ReadOnlySpan<byte> reply)
    {
        Debug.Assert(Volatile.Read(ref _state) == Serving && reply.Length > 0, "it was claimed, and answered");
        _reply = reply.ToArray();
        _chargedReply = reply.Length;
        Session.Server.Store.ChargeManaged(reply.Length);
        Volatile.Write(ref _state, Served);     // release: the reply before it
        Session.Unpark();
    }

    private bool TryLeave(int state)
    {
        // Interlocked: see the invariant above.
        if (Interlocked.CompareExchange(ref _state, state, Waiting) != Waiting) return false;
        Session.Server.Blocked.CountOut();
        return true;
    }
}
