using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

//   state:   Waiting ──► Serving ──► Served          whoever changes a key claims, writes the reply, and wakes the session
//               ├──────► TimedOut                    the time has passed, or CLIENT UNBLOCK TIMEOUT
//               ├──────► Unblocked                   CLIENT UNBLOCK ERROR
//               └──────► Gone                        the client has left or was killed
//
// Invariant: what leaves Waiting does so by one compare-and-swap, so that of all that may end a wait exactly one does.
// Only who has claimed takes an element; so none is taken for a client who is not there to get it.

/// <summary>A command that found nothing (BLPOP, XREAD BLOCK...) and waits until one of its keys has something for it.
/// The base of them all.</summary>
/// <remarks>
/// It stands in the queue of each of its keys, and is the rest of its session's command: the session is parked, and its
/// next commands wait behind it. No thread is held.
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
    // Volatile: a look; who acts on it claims.
    public bool IsWaiting => Volatile.Read(ref _state) == Waiting;

    /// <summary>Whether its reply is there, and has only to be sent.</summary>
    public bool IsServed => Volatile.Read(ref _state) == Served;

    /// <summary>When it gives up, in the time of <see cref="BlockedClients.NowMs"/>; <see cref="long.MaxValue"/>:
    /// never.</summary>
    public long DeadlineMs { get; internal set; } = long.MaxValue;

    /// <summary>What it keeps of the managed heap beside its places.</summary>
    protected internal virtual long Bytes => 0;

    /// <summary>Its place among the timers; -1: in none. Theirs.</summary>
    internal int TimerPlace { get; set; } = -1;

    /// <summary>Whether it is served, with an error, when a key of its goes (XREADGROUP).</summary>
    public virtual bool EndsWithoutKey => false;

    /// <summary>Tries to serve it with what is at one of its keys now.</summary>
    /// <param name="serving">Whose session of the store is used, on the command's database; and where the reply
    /// goes.</param>
    /// <returns>
    /// True when it was served: <see cref="Serving.TryClaim"/> said yes, then what there is was taken and exactly one
    /// reply written. False when the key has nothing for it (absent, empty, of another type), or somebody has ended it:
    /// nothing was changed.
    /// </returns>
    /// <remarks>
    /// Under the lock of the key's queue, on whatever thread: short, waits for nobody but owners of keys, looks under
    /// the key's hold, claims under it, and changes nothing before it has claimed. May be called again and again, also
    /// for keys that have not changed. Other keys that it changes (a destination) are found by those who wait for them.
    /// </remarks>
    protected internal abstract bool TryServe(ref Serving serving);

    /// <summary>Answers that the time has passed: a missing array.</summary>
    protected virtual void WriteTimeout(ReplyWriter reply) => reply.WriteNullArray();

    /// <summary>Ends the wait without an element, unless it has ended already. From any thread.</summary>
    /// <param name="isError">Answer an error, not that the time has passed.</param>
    /// <returns>Whether this has ended it.</returns>
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
        int state = Volatile.Read(ref _state);      // acquire: the reply is there when it says so
        if (state is Waiting or Serving)
        {
            // Woken for another reason (a pause has ended). Parked first, then looked again: who ends the wait in
            // between has found a session that is parked, or is seen here.
            Session.Park(long.MaxValue);
            // that it is parked before the look, as the one who ends the wait writes the state before he wakes
            Interlocked.MemoryBarrier();
            state = Volatile.Read(ref _state);
            if (state is Waiting or Serving) return false;
            Session.EndPark();
        }

        context.Counters.ByCommand[context.Command.Id].Calls++;
        Dispose();
        // and is counted as an error
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
        // Who serves it does so under the lock of one of the queues, all of which have been taken since: what he has
        // charged is there.
        Session.Server.Store.ChargeManaged(-_chargedReply);
        _chargedReply = 0;
    }

    /// <summary>Where it waits, from now until it is disposed.</summary>
    internal void Stand(WaitPlace[] places)
    {
        Debug.Assert(!_stands, "it waits once");
        _places = places;
        _stands = true;
    }

    internal bool TryClaim() => TryLeave(Serving);

    /// <summary>By who has claimed: the reply is written, the client goes on.</summary>
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
