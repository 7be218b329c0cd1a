using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Effects;
using Kv.Server.Notifications;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>All that a handler works with: who asks, the arguments, where the reply goes, the store.</summary>
internal ref struct CommandContext
{
    /// <summary>Of more keys even to lock them takes long: some milliseconds.</summary>
    private const int KeysHeldAtOnceMax = 4096;

    /// <summary>The client.</summary>
    public Session Session { readonly get; internal set; }

    /// <summary>What all sessions share: options, connections, publish/subscribe, statistics.</summary>
    public KvServer Server { readonly get; internal init; }

    /// <summary>Takes the one reply.</summary>
    public ReplyWriter Reply { readonly get; internal init; }

    /// <summary>The store, on the session's database.</summary>
    public StoreSession Store { readonly get; internal init; }

    /// <summary>The row of the command (of the subcommand, inside a container).</summary>
    public Command Command { readonly get; internal set; }

    /// <summary>The counters of whoever runs this command; written by one thread at a time.</summary>
    public WorkerCounters Counters { readonly get; internal init; }

    /// <summary>The arguments, positioned after the command's (and the subcommand's) name.</summary>
    public CommandArguments Args;

    /// <summary>Runs what EXEC runs.</summary>
    internal TransactionRun Transactions { readonly get; init; }

    /// <summary>Serves those who wait for what this session's commands change.</summary>
    internal KeyServer Waits { readonly get; init; }

    /// <summary>Publishes what commands do to keys.</summary>
    internal CommandEvents Events { readonly get; init; }

    /// <summary>Names what the command is about to do to the keys that it changes, for those who subscribe to their
    /// events, where that is not what its row says.</summary>
    /// <param name="second">Is published as well; not if the key is gone.</param>
    public readonly void Arm(KeyEvent first, KeyEvent second = KeyEvent.None)
    {
        if (Events.IsAsked) Events.Arm(first, second);
    }

    /// <summary>Tells subscribers what the command has done to a key of the session's database, where that is not what
    /// its row says. While the key is held: that it is new, or gone with its last element, the store says
    /// then.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly void Notify(KeyEvent what, scoped in Key key)
    {
        if (Events.IsAsked) Events.Add(what, Session.Database, key.Bytes);
    }

    /// <summary>The same of the key that is an argument.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly void Notify(KeyEvent what, int argument)
    {
        if (Events.IsAsked) Events.Add(what, Session.Database, Args[argument].Span);
    }

    /// <summary>Counts changes beyond those of the row's <see cref="ChangeRule"/>, or takes back what that counts too
    /// much. After what leaves something to later turns: there it may be begun anew.</summary>
    public readonly void CountChanges(long count)
    {
        if (Session.Steps == null || !IsBegunAnew) Counters.Changes += count;
    }

    /// <summary>Whether the feed wants to know what the command does, where that is not what was sent.</summary>
    public readonly bool IsFed
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Events.Effects.IsOn;
    }

    /// <summary>The command as it was sent, with its arguments or, in steps, what was kept of them.</summary>
    public readonly unsafe SentCommand Sent => new(Args.At(0), Args.Count)
    {
        IsEffect = Command is { MayChange: true } command && command.Group != CommandGroup.Transactions,
        Database = Session.Database, Kept = Session.SentEffect, Client = Session,
    };

    /// <summary>Says what the command does in the session's database: a command of so many words, which are added to
    /// what this returns. Only if <see cref="IsFed"/>.</summary>
    public readonly EffectBytes Say(int words) => Events.Effects.Say(Session.Database, words);

    /// <summary>Says the same in one go.</summary>
    public readonly void Say(ReadOnlySpan<byte> name, ReadOnlySpan<byte> key)
    {
        if (IsFed) Events.Effects.Say(Session.Database, name, key);
    }

    /// <summary>Says that what the command does is only what the store tells, and what is said besides.</summary>
    public readonly void SayNothing()
    {
        if (IsFed) Events.Effects.SayNothing();
    }

    /// <summary>Whether the command may wait for an element that is not there. Run by EXEC it may not, and replies as
    /// if its time had passed.</summary>
    public readonly bool MayBlock => !InTransaction;

    /// <summary>Whether EXEC runs the command, which then waits for nobody.</summary>
    public readonly bool InTransaction => Session.Transaction is { IsRunning: true };

    /// <summary>Whether a part of the command may be left to later turns. Not where EXEC runs all in one
    /// turn.</summary>
    public readonly bool MayStep => Session.Transaction is not { IsRunning: true, Pace: TransactionPace.AtOnce };

    /// <summary>Whether a large string that has to move for the command is moved in this turn
    /// (<see cref="StringRoom"/>).</summary>
    public bool MovesAtOnce { readonly get; internal set; }

    /// <summary>Where replies that are sent from a block without a copy are noted.</summary>
    internal SessionOutput Output { readonly get; init; }

    /// <summary>Writes one error.</summary>
    public readonly void Fail(ReadOnlySpan<byte> error) => Reply.WriteError(error);

    /// <summary>Writes the error of a status with which the command cannot go on: a wrong type, no memory. A missing
    /// key is none.</summary>
    /// <returns>False when an error was written.</returns>
    public readonly bool TryBegin(StoreStatus status)
    {
        if (status == StoreStatus.Ok) return true;
        if (status == StoreStatus.NotFound)
        {
            if (Events.IsAsked && (Command.Flags & CommandFlags.Write) == 0)
                Events.Miss(Session.Database, Args[Command.Container == null ? 1 : 2].Span);
            return true;
        }

        Fail(Errors.For(status));
        return false;
    }

    /// <summary>Lists keys among the arguments, to be held together.</summary>
    /// <param name="first">The index of the first key.</param>
    /// <param name="count">How many follow each other.</param>
    /// <param name="destination">The index of another key, which comes first in the list; 0 for none.</param>
    /// <returns>The session's list, until its next use.</returns>
    public KeyList ListKeys(int first, int count, int destination = 0)
    {
        Debug.Assert(first > 0 && count >= 0 && first + count <= Args.Count && destination < Args.Count,
            "keys are arguments");
        var keys = Store.Keys;
        keys.Clear();
        if (destination != 0) Args.AddKey(destination, keys, Session.Database);
        for (int i = first; i < first + count; i++) Args.AddKey(i, keys, Session.Database);
        return keys;
    }

    /// <summary>Where EXEC holds the keys of the command, if they were looked up in steps (<see cref="KeyLookUp"/>);
    /// else null.</summary>
    internal KeyPlaces? Places { readonly get; set; }

    /// <summary>Lets a command on very many keys hold them in steps. Its handler runs once more when they are
    /// held.</summary>
    /// <returns>False when the handler has to <see cref="Hold"/> them itself: there are few, or this is its second run,
    /// or all has to be done in this turn.</returns>
    /// <inheritdoc cref="ListKeys"/>
    public bool HoldsInSteps(int first, int count, int destination = 0)
    {
        if (count <= KeysHeldAtOnceMax || Places != null || !MayStep) return false;
        if (!InTransaction) TransactionSteps.BeginOne(ref this);
        else if (!TryPostpone())
            Continue(new KeyLookUp(new KeyPlaces(Server.Store, Store, count + (destination == 0 ? 0 : 1)), first,
                count, destination));
        return true;
    }

    /// <summary>Holds keys among the arguments.</summary>
    /// <inheritdoc cref="ListKeys"/>
    public HeldKeys Hold(int first, int count, int destination = 0) =>
        Places != null ? Places.Held : Store.Hold(ListKeys(first, count, destination));

    /// <summary>Writes a block as a bulk string, which is sent from the block itself, without a copy.</summary>
    /// <param name="block">The caller's reference goes to the output, which releases it.</param>
    public readonly void WriteBlock(Block block) => Output.WriteBlock(Reply, block);

    /// <summary>Leaves the rest of the command to later turns; the session's next command waits until it is
    /// done.</summary>
    public readonly void Continue(ICommandSteps rest)
    {
        Store.MayComeAgain = false;     // it is the steps that go on
        Session.Steps = rest;
    }

    /// <summary>Whether a command that leaves something to later turns is begun anew there: in the first turn of
    /// EXEC.</summary>
    public readonly bool IsBegunAnew => Session.Transaction is { IsRunning: true, Pace: TransactionPace.FirstTurn };

    /// <summary>In the first turn of EXEC, leaves a command that takes long to later turns, which begin it anew. It
    /// must not have changed anything yet.</summary>
    /// <returns>False when this is not that turn: the command begins now.</returns>
    public readonly bool TryPostpone()
    {
        if (!IsBegunAnew) return false;
        Debug.Assert(Session.Steps == null, "a command is postponed before it has begun");
        Session.Steps = Postponed.Instance;
        return true;
    }

    /// <summary>Whether a command on this number of keys works in steps.</summary>
    public readonly bool IsLong(int keys) => keys > ManyKeysCommand.KeysMax && MayStep;

    /// <summary>Does a command on very many keys in steps.</summary>
    public void ContinueLong(ManyKeysKind kind)
    {
        if (!TryPostpone()) Continue(new ManyKeysCommand(ref this, kind));
    }

    /// <summary>Lets the command wait until one of its keys has something for it; the blocked command then writes the
    /// reply. Nothing is written here.</summary>
    /// <param name="command">A new command, which knows what it takes and how it replies.</param>
    /// <param name="type">What it waits for: a list, a sorted set or a stream.</param>
    /// <param name="keys">Which arguments are the keys.</param>
    /// <param name="timeoutMs">How long it waits; 0: for ever.</param>
    public void Block(BlockedCommand command, DataType type, KeyRange keys, long timeoutMs) =>
        Server.Blocked.Begin(ref this, command, type, keys, timeoutMs);

    /// <summary>Lets the session wait without its worker: none of its commands runs until the time has passed or
    /// somebody calls <see cref="Session.Unpark"/>.</summary>
    /// <param name="milliseconds">How long at most.</param>
    /// <param name="then">Runs afterwards and writes the reply. Without it the handler has written the reply, which is
    /// sent at once.</param>
    public readonly void Park(long milliseconds, ICommandSteps? then = null)
    {
        Debug.Assert(milliseconds >= 0, "a wait does not end before it begins");
        if (!InTransaction) Session.Park(Server.TickMs + milliseconds);
        Session.Steps = then;
    }

    /// <summary>Lets the session wait for a moment, then go on with its steps: a snapshot comes first, which has a
    /// thread of its own.</summary>
    public readonly void AwaitSnapshot()
    {
        if (!InTransaction) Session.Park(Server.TickMs + Session.SnapshotWaitMs);
    }
}
