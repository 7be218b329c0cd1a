using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Effects;
using Kv.Server.Sessions;
using Kv.Server.Tracking;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A long EXEC, or the rest of one: its keys stay held, so it happens at one instant, and others have turns in
/// between.</summary>
/// <remarks>
/// The commands run on the store session that has the keys, with a runner and an output of their own, for a
/// stand-in of the client's session: so any thread may run them, while the client's own one goes on sending. What they
/// do to the session itself is therefore left out: a queue with such commands is run in one turn
/// (<see cref="IsPlain"/>). Threads: whoever steps the work; the client's own begins and ends it. Where another one
/// needs a key, it does the rest (<see cref="HeldUse"/>).
/// </remarks>
internal sealed class TransactionSteps : ICommandSteps, ITransactionWork, IDisposable
{
    /// <summary>Keys that are found in one step: some 300 us.</summary>
    private const int KeysPerStep = 4096;

    private readonly KvServer _server;
    private readonly Session _session, _standIn;
    private readonly Transaction _transaction;
    private readonly StepsOwner _owner;
    private readonly CollectedReply _reply;
    private readonly SessionOutput _output;
    private readonly HashSet<int> _databases = [];
    private readonly WorkerCounters _counters;
    private CommandEffects? _begun;
    private CommandRunner? _runner;
    private KeyWriter? _writer;
    private IHeldSteps? _work;
    private QueuedKeys _keys;
    private int _at, _watchesAdded;
    private bool _isOfOne, _areFound, _hasChanged, _isTooLarge, _isOver, _isInCommand, _isPartTaken;

    private TransactionSteps(ref CommandContext context, Transaction transaction, Command exec, int at)
    {
        _server = context.Server;
        _session = context.Session;
        _transaction = transaction;
        _owner = new StepsOwner(exec, _session.Id);
        _at = at;
        _reply = new CollectedReply(_server.Store, _server.Options.MaxReplyBytes) { Version = _session.Version };
        _output = new SessionOutput(_server.Store);
        _output.Reply.Version = _session.Version;
        _output.Buffer.LimitBytes = (int)Math.Min(_server.Options.MaxReplyBytes, OutputBuffer.BytesMax);
        _counters = _server.Counters.Borrow();
        _keys = new QueuedKeys(_server, _session.Database);
        _standIn = new Session(_session.Id, _server, new Nobody())
        {
            Address = _session.Address, LocalAddress = _session.LocalAddress, IsLocal = _session.IsLocal,
                Authenticated = true, Name = _session.Name,
            Database = _session.Database, Version = _session.Version, Transaction = transaction,
            User = _session.User, Tracking = _session.Tracking,
        };
    }

    /// <summary>Something was changed, perhaps: so all of it is done, also when the client has left.</summary>
    public bool HasChanged => true;

    /// <inheritdoc/>
    public bool IsRefused { get; private set; }

    /// <inheritdoc/>
    // A key is an argument, of one spec or of two.
    public int KeysMax => checked((int)(2 * _transaction.Size));

    /// <inheritdoc/>
    public IReadOnlyCollection<int> Databases => _databases;

    /// <inheritdoc/>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <summary>Does all of a transaction in later turns: it is about so much that even to find its keys takes
    /// long.</summary>
    public static void Begin(ref CommandContext context)
    {
        var transaction = context.Session.Transaction!;
        var steps = new TransactionSteps(ref context, transaction, context.Command, at: 0);
        steps._reply.Next().WriteArray(transaction.QueuedCount);
        steps._work = new TransactionHold(context.Server.Store, steps);
        context.Session.Transaction = null;     // these steps' until the end
        context.Continue(steps);
    }

    /// <summary>Does a command of very many keys in later turns, as a transaction of nothing else: the same locks them,
    /// runs it, and lets go of them.</summary>
    public static unsafe void BeginOne(ref CommandContext context)
    {
        Debug.Assert(context.Command.SparesSession && !context.InTransaction, "it is by itself");
        var transaction = new Transaction(context.Session, context.Server.Store);
        transaction.TryQueue(context.Command, context.Args.At(0), context.Args.Count, context.Args.Large,
            long.MaxValue);
        var steps = new TransactionSteps(ref context, transaction, context.Command, at: 0) { _isOfOne = true };
        steps._work = new TransactionHold(context.Server.Store, steps);
        context.Continue(steps);
    }

    /// <summary>Leaves the rest of a transaction to later turns.</summary>
    /// <param name="at">Its first command that has not run.</param>
    /// <param name="start">Where in the output the reply begins. Blocks that are referred to are all of this
    /// reply.</param>
    /// <returns>False: do all of it in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, Transaction transaction, Command exec, int at, int start)
    {
        if (!IsPlain(transaction, at)) return false;
        var steps = new TransactionSteps(ref context, transaction, exec, at);
        steps._reply.Take(context.Output, start);       // before others can go on with it
        if (context.Store.Transaction != null) steps._begun = context.Events.Effects;
        IHeldSteps? work = context.Store.Transaction == null
            ? new TransactionHold(context.Server.Store, steps)      // of no key, but long all the same
            : context.Store.Transacting.TryBeginUse(steps);
        if (work == null)
        {
            steps._reply.GiveBack(context.Output);
            steps.End(isLeft: true);
            return false;
        }

        steps._work = work;
        context.Session.Transaction = null;     // these steps' until the end
        context.Continue(steps);
        return true;
    }

    /// <inheritdoc/>
    public void FindAgain()
    {
        _keys = new QueuedKeys(_server, _standIn.Database);
        _watchesAdded = 0;
        _areFound = false;
        _databases.Clear();
    }

    /// <inheritdoc/>
    public bool FindKeys(KeyOrder keys)
    {
        Debug.Assert(_watchesAdded <= _transaction.Watches.Count, "each watched key is added once");
        if (!_areFound)
        {
            int first = keys.Count;
            bool areKnown = _keys.TryAdd(_transaction.Commands, keys, KeysPerStep, out _areFound);
            for (int i = first; i < keys.Count; i++) _databases.Add(keys.DatabaseOf(i));
            if (!areKnown) _transaction.NeedsAll = true;
            IsRefused = !areKnown;
            return false;
        }

        int added = Math.Min(KeysPerStep, _transaction.Watches.Count - _watchesAdded);
        _transaction.Watches.AddTo(keys, _watchesAdded, added);
        for (int i = keys.Count - added; i < keys.Count; i++) _databases.Add(keys.DatabaseOf(i));
        _watchesAdded += added;
        return _watchesAdded == _transaction.Watches.Count;
    }

    /// <inheritdoc/>
    public TransactionStart Start(Database?[] table)
    {
        if (!_transaction.Watches.AreOf(table)) return TransactionStart.Again;
        _hasChanged = _transaction.Watches.HaveChanged;
        return _hasChanged ? TransactionStart.Changed : TransactionStart.Run;
    }

    /// <inheritdoc/>
    public void Begin(StoreSession session)
    {
        _runner = new CommandRunner(_server, session, _counters, _output) { CountsParts = !_isOfOne };
        if (_begun != null) _runner.Events.Effects.TakeOver(_begun);
        _writer = _server.Tracking.WriterOf(session.Slot);
        _transaction.Pace = TransactionPace.Steps;
        _transaction.IsRunning = true;      // so its commands wait for nobody, and take no keys of their own
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held)
    {
        bool isDone = true;
        try
        {
            return isDone = UseTracked();
        }
        finally
        {
            // The keys are held still.
            if (isDone) _runner!.Events.Effects.Close(_session);
        }
    }

    private bool UseTracked()
    {
        if (_server.Tracking.ClientCount == 0) return Use();
        // For this step only: the session is then anybody's.
        _writer!.Begin(_session);
        try
        {
            return Use();
        }
        finally
        {
            _writer.End();
        }
    }

    private bool Use()
    {
        var context = _runner!.NewContext();
        context.Session = _standIn;
        if (_standIn.RightsVersion != _server.Users.Version) _standIn.FollowUser();
        var budget = new StepBudget(_reply);
        for (; _at < _transaction.QueuedCount; _at++)
        {
            ref readonly var queued = ref _transaction.Commands[_at];
            if (!_isInCommand && !budget.TryTake(TransactionRun.CostOf(queued.Command))) return false;
            if (_isInCommand) budget.AskClock();
            if (!Run(ref context, queued)) return false;
        }

        return true;
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_reply.IsBegun)
        {
            if (!_reply.PassOn(context.Output)) return false;
        }
        else
        {
            if (!_work!.Step(context.Store)) return false;
            if (!_isOfOne) _session.Transaction = _transaction;
            if (IsRefused) context.Continue(new ExecLater());
            else if (!Answer(ref context)) return false;
        }

        End(isLeft: IsRefused);
        return true;
    }

    /// <summary>The client has left: what it has asked for is done all the same, by a thread of the pool.</summary>
    public void Dispose()
    {
        if (_isOver) return;
        if (_work is not { IsDone: false })
        {
            End();
            return;
        }

        _server.Remainders.Start(() =>
        {
            _work!.Dispose();
            End();
        });
    }

    private bool Answer(ref CommandContext context)
    {
        _session.Database = _standIn.Database;
        if (_work is TransactionHold { Status: not StoreStatus.Ok and var status })
        {
            context.Fail(_isOfOne ? Errors.For(status) : [.. Errors.ExecAbortBecause, .. Errors.For(status)]);
            return true;
        }

        if (_hasChanged)
        {
            context.Reply.WriteNullArray();
            return true;
        }

        if (_work!.Failure is { } failure) throw failure;
        if (_isTooLarge) throw new ReplyTooLargeException(_server.Options.MaxReplyBytes);
        Debug.Assert(_at == _transaction.QueuedCount && !_isInCommand, "each command has run, to its end");
        _transaction.Close();
        return _reply.Begin(context.Output);
    }

    /// <summary>Runs a command, or a step of the one that is in the middle of its own.</summary>
    /// <returns>True when it is done.</returns>
    private bool Run(ref CommandContext context, in QueuedCommand queued)
    {
        Debug.Assert(_isInCommand || !_isPartTaken, "a part that was taken is of the command that goes on");
        bool wasInCommand = _isInCommand, isDone = true;
        try
        {
            _standIn.Blocks = queued.Blocks;
            isDone = wasInCommand
                ? _runner!.TryStepPart(ref context, queued) : _runner!.TryRunPart(ref context, queued);
            // A part of its reply was taken already: an error would come behind that.
            if (_runner.PartHasThrown && _isPartTaken) throw new ReplyTooLargeException(_reply.Bytes);
            _isPartTaken = !isDone && (_isPartTaken || _output.Buffer.Length > 0);
            if (!_isTooLarge) _reply.Take(_output, start: 0);
        }
        catch (ReplyTooLargeException)
        {
            _isTooLarge = true;     // the rest is run all the same
            _isPartTaken = false;
            _reply.Restart();
        }
        finally
        {
            _standIn.Blocks = null;
        }

        _isInCommand = !isDone;
        if (!_isTooLarge) return isDone;
        _output.DropReferences(int.MaxValue);
        _output.Buffer.Clear();
        return isDone;
    }

    /// <param name="isLeft">Whether the transaction goes on elsewhere.</param>
    private void End(bool isLeft = false)
    {
        if (_isOver) return;
        _isOver = true;
        _standIn.EndSteps();
        if (!isLeft) _transaction.Close();
        _reply.Dispose();
        _runner?.Dispose();
        _output.Dispose();
        _server.Counters.GiveBack(_counters);
    }

    /// <summary>Whether the commands from one on leave their session alone.</summary>
    private static bool IsPlain(Transaction transaction, int at)
    {
        for (; at < transaction.QueuedCount; at++)
            if (!transaction.Commands[at].Command.SparesSession) return false;
        return true;
    }

    /// <summary>Owns the stand-in, which nobody wakes or asks.</summary>
    private sealed class Nobody : ISessionOwner
    {
        public long QueryBytes => 0;

        public long QueryFreeBytes => 0;

        public int OutputPieces => 0;

        public long OutputMemoryBytes => 0;

        public long OutputBytes => 0;

        public long BufferBytes => 0;

        public void Wake(Session session)
        {
            // It never waits.
        }
    }
}
