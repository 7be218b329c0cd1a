using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What EXEC does: all commands of a transaction, at one instant, their replies in one array.</summary>
/// <remarks>
/// The keys of all commands are found by their rows and held together, in the one order of locking; the handlers then
/// run as always, since the session of the store works on the keys that it holds. When some command may use keys that
/// no row can name (FLUSHALL, SCAN, SWAPDB...), all other sessions are stopped at the top of their turns instead.
/// Threads: one worker or lease.
/// </remarks>
internal sealed unsafe class TransactionRun(CommandRunner runner, SessionOutput output)
{
    /// <summary>The keys of a larger transaction are found and locked in steps, too.</summary>
    private const int SizeAtOnceMax = 4096;

    /// <summary>A transaction that changes its session runs in one turn, with at most this many commands.</summary>
    private const int CommandsAtOnceMax = 10_000;

    /// <summary>While all others stand still, commands may look at <see cref="VisitsMax"/> keys: some 30 ms.
    /// <see cref="WalksAlwaysMax"/> commands may look at all keys, however many there are.</summary>
    private const int VisitsMax = 500_000, WalksAlwaysMax = 16;

    private readonly ReplyWriter _reply = output.Reply;
    private bool _isLeft;

    /// <summary>Runs the transaction of the context's session and closes it; of a large one, the beginning.</summary>
    /// <returns>False when others could not be stopped yet: nothing was done; call again in the next turn.</returns>
    public bool TryExecute(ref CommandContext context)
    {
        var transaction = context.Session.Transaction!;
        Debug.Assert(context.Session.InMulti && !transaction.IsRunning && !transaction.IsAborted,
            "a transaction is run once, after MULTI");
        if (transaction.Size <= SizeAtOnceMax) return TryExecuteAtOnce(ref context);
        if (transaction.SparesSession)
        {
            TransactionSteps.Begin(ref context);
            return true;
        }

        if (transaction.QueuedCount <= CommandsAtOnceMax) return TryExecuteAtOnce(ref context);
        transaction.Close();
        context.Fail(Errors.TooManyBesideSession);
        return true;
    }

    /// <summary>Runs the transaction in this turn: all of it, or at least the first commands.</summary>
    /// <returns>False when others could not be stopped yet, or a snapshot comes first: nothing was done; call again in
    /// the next turn.</returns>
    public bool TryExecuteAtOnce(ref CommandContext context)
    {
        var transaction = context.Session.Transaction!;
        bool done = true;
        _isLeft = false;
        try
        {
            if (transaction.NeedsAll || !TryFindKeys(ref context, transaction))
            {
                transaction.NeedsAll = true;
                return done = TryExecuteAlone(ref context, transaction);
            }

            // A snapshot has yet to keep some of them: that comes first, and no key is held meanwhile.
            if (context.Store.SnapshotWait.TryAwait(context.Store.Keys))
            {
                context.AwaitSnapshot();
                return done = false;
            }

            transaction.Watches.AddTo(context.Store.Keys);
            if (context.Store.Keys.Count > 0) return done = TryExecuteHeld(ref context, transaction);
            RunAll(ref context, transaction, mayLeave: true);
            return true;
        }
        finally
        {
            if (done && !_isLeft) transaction.Close();
        }
    }

    private bool TryExecuteAlone(ref CommandContext context, Transaction transaction)
    {
        if (LooksTooLong(ref context, transaction))
        {
            context.Fail(Errors.TooManyWalks);
            return true;
        }

        if (!context.Store.Presence.TryPauseOthers()) return false;
        try
        {
            transaction.Watches.RemoveExpired(context.Store);
            RunUnlessChanged(ref context, transaction, mayLeave: false);
        }
        finally
        {
            context.Store.Presence.EndPause();
        }

        return true;
    }

    /// <summary>Whether the commands look at all keys too often, while nobody else can do anything.</summary>
    private static bool LooksTooLong(ref CommandContext context, Transaction transaction)
    {
        if (transaction.QueuedCount <= WalksAlwaysMax) return false;
        var store = context.Server.Store;
        long keys = 0, visits = 0;
        for (int i = 0; i < context.Server.Options.Databases; i++) keys = Math.Max(keys, store.Count(i));
        int walks = 0;
        for (int i = 0; i < transaction.QueuedCount; i++)
        {
            ref readonly var queued = ref transaction.Commands[i];
            // SCAN with a COUNT may look at as many keys as KEYS.
            if (queued.Command.Name != "KEYS" && (queued.Command.Name != "SCAN" || queued.Count <= 2)) continue;
            walks++;
            visits += keys;
        }

        return walks > WalksAlwaysMax && visits > VisitsMax;
    }

    /// <returns>False when work in steps holds one of the keys: nothing was done.</returns>
    private bool TryExecuteHeld(ref CommandContext context, Transaction transaction)
    {
        var store = context.Store;
        Debug.Assert(store.Keys.Count > 0, "there are keys to hold");
        StoreStatus status;
        try
        {
            store.MayComeAgain = !context.Session.HasComeAgainForLong;
            status = store.BeginTransaction(store.Keys);
        }
        catch (KeyInUseException exception)
        {
            context.Session.NoteComesAgain();
            context.Session.Awaited = exception.Work;
            return false;
        }
        finally
        {
            store.MayComeAgain = false;
        }

        context.Session.ComesAgainSinceTickMs = 0;
        // Ends: repeated only when databases are flushed or swapped at this very moment.
        while (status == StoreStatus.Ok && !transaction.Watches.AreOf(store.Table))
        {
            store.EndTransaction();
            context.Server.Store.Databases.WaitForReport();
            status = store.BeginTransaction(store.Keys);
        }

        if (status != StoreStatus.Ok)
        {
            context.Fail([.. Errors.ExecAbortBecause, .. Errors.For(status)]);
            return true;
        }

        try
        {
            RunUnlessChanged(ref context, transaction, mayLeave: true);
        }
        finally
        {
            store.EndTransaction();
        }

        return true;
    }

    /// <summary>Runs the commands, or writes a null array if a watched key has changed. The watched keys are locked, or
    /// all others stopped.</summary>
    private void RunUnlessChanged(ref CommandContext context, Transaction transaction, bool mayLeave)
    {
        if (transaction.Watches.HaveChanged) _reply.WriteNullArray();
        else RunAll(ref context, transaction, mayLeave);
    }

    /// <summary>Lists the keys of all commands.</summary>
    /// <returns>False when not all keys can be known.</returns>
    private static bool TryFindKeys(ref CommandContext context, Transaction transaction)
    {
        var keys = context.Store.Keys;
        keys.Clear();
        return new QueuedKeys(context.Server, context.Session.Database)
            .TryAdd(transaction.Commands, keys, int.MaxValue, out _);
    }

    /// <param name="mayLeave">Whether later turns may go on with it; not while all others stand still.</param>
    private void RunAll(ref CommandContext context, Transaction transaction, bool mayLeave)
    {
        var session = context.Session;
        var exec = context.Command;
        Argument* items = context.Args.At(0);
        int arguments = context.Args.Count, start = _reply.ReplyStart;
        ReplyTooLargeException? tooLarge = null;
        // The output's references to blocks are in one queue, in which other sessions' could not be told apart.
        if (output.ReferenceCount != 0) mayLeave = false;
        var budget = new StepBudget(output.Buffer);
        transaction.Pace = mayLeave ? TransactionPace.FirstTurn : TransactionPace.AtOnce;
        transaction.IsRunning = true;
        session.IsInReply = true;       // messages wait until the array is whole
        session.Steps = null;
        try
        {
            _reply.WriteArray(transaction.QueuedCount);
            for (int at = 0; at < transaction.QueuedCount;)
            {
                ref readonly var queued = ref transaction.Commands[at];
                bool isDone = transaction.Pace == TransactionPace.AtOnce || budget.TryTake(CostOf(queued.Command));
                try
                {
                    if (transaction.Pace == TransactionPace.AtOnce) runner.RunPart(ref context, queued);
                    else isDone = isDone && TryRunNow(ref context, queued);
                }
                catch (ReplyTooLargeException exception)
                {
                    tooLarge = exception;       // no room even for an error; the rest runs all the same
                }

                if (tooLarge != null) output.Rewind(new ReplyMark(start, 1));
                if (isDone)
                {
                    at++;
                    continue;
                }

                transaction.Pace = TransactionPace.AtOnce;
                _isLeft = tooLarge == null && TransactionSteps.TryBegin(ref context, transaction, exec, at, start);
                if (_isLeft) break;
            }
        }
        finally
        {
            session.IsInReply = false;
            if (!_isLeft) transaction.IsRunning = false;
            context.Command = exec;
            context.Args.Begin(items, arguments, 0, 0, 0, null);
            _reply.EndReplies(start);
            if (_isLeft) output.Rewind(new ReplyMark(start, 1));       // the steps have taken what was written
        }

        if (tooLarge != null) throw tooLarge;
    }

    /// <summary>What a command takes of a step's budget: few commands that may be long run between two looks at the
    /// clock.</summary>
    public static int CostOf(Command command) => (command.Flags & CommandFlags.Fast) != 0 ? 1 : 16;

    /// <summary>Runs one of the commands, unless it takes long.</summary>
    /// <returns>False when it would take long: nothing was done.</returns>
    private bool TryRunNow(ref CommandContext context, in QueuedCommand queued)
    {
        int start = output.Buffer.Length;
        Debug.Assert(context.Session.Transaction is { IsRunning: true, Pace: TransactionPace.FirstTurn },
            "only in the first turn is a command begun that may be begun anew");
        if (runner.TryRunPart(ref context, queued)) return true;
        context.Session.EndSteps();
        output.Rewind(new ReplyMark(start, 0));
        return false;
    }
}
