using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>All that a handler works with: who asks, the arguments, where the reply goes, the store.</summary>
internal ref struct CommandContext
{
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

    /// <summary>The arguments, positioned behind the command's (and the subcommand's) name.</summary>
    public CommandArguments Args;

    /// <summary>Runs what EXEC runs.</summary>
    internal TransactionRun Transactions { readonly get; init; }

    /// <summary>Serves those who wait for what this session's commands change.</summary>
    internal KeyServer Waits { readonly get; init; }

    /// <summary>Whether the command may wait for something that is not there: not in what EXEC runs, which answers as
    /// when the time has passed.</summary>
    public readonly bool MayBlock => !InTransaction;

    /// <summary>Whether EXEC runs the command: it waits for nobody, and for no key.</summary>
    public readonly bool InTransaction => Session.Transaction is { IsRunning: true };

    /// <summary>Whether a part of the command may be left to later turns: not where EXEC does all in one.</summary>
    public readonly bool MayStep => Session.Transaction is not { IsRunning: true, Pace: TransactionPace.AtOnce };

    /// <summary>A large string that has to move for the command does so in this turn
    /// (<see cref="StringRoom"/>).</summary>
    public bool MovesAtOnce { readonly get; internal set; }

    /// <summary>Where replies that are sent from a block without a copy are noted.</summary>
    internal SessionOutput Output { readonly get; init; }

    /// <summary>Answers one error.</summary>
    public readonly void Fail(ReadOnlySpan<byte> error) => Reply.WriteError(error);

    /// <summary>Answers what keeps a command from its work: a wrong type, memory. A missing key does not.</summary>
    /// <returns>False when an error was written.</returns>
    public readonly bool TryBegin(StoreStatus status)
    {
        if (status is StoreStatus.Ok or StoreStatus.NotFound) return true;
        Fail(Errors.For(status));
        return false;
    }

    /// <summary>Lists keys among the arguments, to be held together.</summary>
    /// <param name="first">The place of the first of them.</param>
    /// <param name="count">How many follow each other.</param>
    /// <param name="destination">The place of one that comes first in the list; 0: there is none.</param>
    /// <returns>The session's list, until its next use.</returns>
    public KeyList ListKeys(int first, int count, int destination = 0)
    {
        var keys = Store.Keys;
        keys.Clear();
        if (destination != 0) Args.AddKey(destination, keys, Session.Database);
        for (int i = first; i < first + count; i++) Args.AddKey(i, keys, Session.Database);
        return keys;
    }

    /// <summary>Answers a bulk string from a block: sent from the block itself, nothing is copied.</summary>
    /// <param name="block">The caller's reference goes to the output, which releases it.</param>
    public readonly void WriteBlock(Block block) => Output.WriteBlock(Reply, block);

    /// <summary>Leaves the rest of the command to later turns; the session's next command waits until it is
    /// done.</summary>
    public readonly void Continue(ICommandSteps rest) => Session.Steps = rest;

    /// <summary>Whether what is left of the command to later turns means that those begin all of it anew: in the first
    /// turn of EXEC.</summary>
    public readonly bool IsBegunAnew => Session.Transaction is { IsRunning: true, Pace: TransactionPace.FirstTurn };

    /// <summary>In the first turn of EXEC: leaves a command that takes long to later ones, which begin it anew. So
    /// nothing may have been changed.</summary>
    /// <returns>False: it may begin now.</returns>
    public readonly bool TryPostpone()
    {
        if (!IsBegunAnew) return false;
        Session.Steps = Postponed.Instance;
        return true;
    }

    /// <summary>Whether so many keys are to be worked on in steps. What EXEC runs has its keys already, and works on
    /// them at once.</summary>
    public readonly bool IsLong(int keys) => keys > ManyKeysCommand.KeysMax && !InTransaction;

    /// <summary>Does a command over very many keys in steps.</summary>
    public void ContinueLong(ManyKeysKind kind) => Continue(new ManyKeysCommand(ref this, kind));

    /// <summary>Lets the command wait until one of its keys has something for it: the rest is the blocked command's.
    /// Nothing is written here.</summary>
    /// <param name="command">New; knows what it takes, and how that is answered.</param>
    /// <param name="type">What it waits for: a list, a sorted set or a stream.</param>
    /// <param name="keys">Which arguments are the keys.</param>
    /// <param name="timeoutMs">How long it waits; 0 for ever.</param>
    public void Block(BlockedCommand command, DataType type, KeyRange keys, long timeoutMs) =>
        Server.Blocked.Begin(ref this, command, type, keys, timeoutMs);

    /// <summary>Lets the session wait, without its worker: no further command of it is run until the time has passed or
    /// <see cref="Session.Unpark"/>.</summary>
    /// <param name="milliseconds">At most; -1 waits until it is woken.</param>
    /// <param name="then">Runs afterwards and writes the reply. Without it the handler has written the reply, which is
    /// sent at once.</param>
    public readonly void Park(long milliseconds, ICommandSteps? then = null)
    {
        if (!InTransaction) Session.Park(milliseconds < 0 ? long.MaxValue : Server.TickMs + milliseconds);
        Session.Steps = then;
    }
}
