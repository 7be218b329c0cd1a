using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>Runs a command that may run (<see cref="CommandChecks"/>): selects, begins the reply, calls, counts, makes
/// sure of one reply whatever goes wrong, and serves those who waited for what it has changed.</summary>
/// <remarks>Used by the window's loop, for what is unusual, for the steps of what takes many turns, by EXEC and by
/// scripts. Threads: one worker or lease, or whoever steps a transaction or a script.</remarks>
internal sealed unsafe class CommandRunner : IDisposable
{
    private readonly KvServer _server;
    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly SessionOutput _output;
    private readonly ReplyWriter _reply;
    private readonly KeyServer _waits;
    private readonly TransactionRun _transactions;

    public CommandRunner(KvServer server, StoreSession store, WorkerCounters counters, SessionOutput output)
    {
        _server = server;
        _store = store;
        _counters = counters;
        _output = output;
        _reply = output.Reply;
        _waits = new KeyServer(server, store);
        _transactions = new TransactionRun(this, output);
    }

    /// <summary>When the last command or step began, if it was slow; else 0. Whoever looks sets it back.</summary>
    public long SlowSince { get; set; }

    public CommandContext NewContext() =>
        new()
        {
            Server = _server, Reply = _reply, Store = _store, Counters = _counters, Output = _output, Waits = _waits,
            Transactions = _transactions, Args = new CommandArguments(null, 0, _store, 0, 0, 0, null),
        };

    /// <summary>Selects the session's database, and owes one reply.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(Session session)
    {
        _store.Select(session.Database);
        _reply.BeginReply();
    }

    /// <summary>Calls a command that <see cref="Begin"/> has begun; the caller times it.</summary>
    /// <param name="handler">The row's.</param>
    /// <param name="counts">The row's.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Call(ref CommandContext context, CommandHandler handler, ref CommandCounts counts)
    {
        handler(ref context);
        counts.Calls++;
        if (!_reply.IsDone) Finish(ref context);
        if (_store.HasArrivals) _waits.ServeArrivals();
    }

    /// <summary>Calls and times a command that <see cref="Begin"/> has begun.</summary>
    public void Run(ref CommandContext context)
    {
        Debug.Assert(_reply.Owed == 1, "its reply has been begun");
        Fault.Point("command.run");
        ref var counts = ref _counters.ByCommand[context.Command.Id];
        long begin = counts.Begin();
        Call(ref context, context.Command.Handler!, ref counts);
        if (begin != 0 && counts.End(begin, 1, context.Command) != 0) SlowSince = begin;
    }

    /// <summary>Runs one of several commands that are answered together, to its end: EXEC's, a script's.</summary>
    /// <remarks>Those who wait for what it has changed are served when all of them have run.</remarks>
    public void RunPart(ref CommandContext context, in QueuedCommand queued)
    {
        if (TryRunPart(ref context, queued)) return;
        // Ends: each step gets on, and what runs together waits for nobody.
        while (!TryStepPart(ref context, queued))
        {
        }
    }

    /// <summary>The same, but for what the command leaves to its steps.</summary>
    /// <returns>False: there are some, and its reply is not whole yet.</returns>
    public bool TryRunPart(ref CommandContext context, in QueuedCommand queued)
    {
        var session = context.Session;
        Debug.Assert(session.Steps == null, "one command is done before the next begins");
        Debug.Assert(context.InTransaction, "a part is of something larger");
        var command = BeginPart(ref context, queued);
        PartHasThrown = false;
        _reply.BeginPart();
        try
        {
            Fault.Point("transaction.command");
            ref var counts = ref _counters.ByCommand[command.Id];
            long begin = counts.Begin();
            // What the commands before have let go of is freed meanwhile, where that is possible; what they have made
            // may be too much.
            if (_store.HasLetGoOfMuch) _store.FreeBetweenCommands();
            if ((command.Flags & CommandFlags.DenyOom) != 0 && _server.Store.IsFarOverBudget)
                context.Fail(Errors.OutOfMemory);
            else command.Handler!(ref context);
            bool isDone = session.Steps == null;
            // It will be begun anew, and is counted then.
            if (!isDone && session.Transaction!.Pace == TransactionPace.FirstTurn) return false;
            counts.Calls++;
            if (begin != 0) counts.End(begin, 1, command);
            if (!isDone) return false;
            if (!_reply.IsDone) Finish(ref context);
            // CLIENT REPLY OFF and SKIP answer nothing; an array still has a place for them.
            if (_output.Buffer.Length == _reply.ReplyStart) _reply.WriteNull();
        }
        catch (Exception exception)
        {
            FailPart(session, exception);
        }

        return true;
    }

    /// <summary>Takes the next step of the command that has left some.</summary>
    /// <returns>True when it is done, and its reply whole.</returns>
    public bool TryStepPart(ref CommandContext context, in QueuedCommand queued)
    {
        var session = context.Session;
        var command = BeginPart(ref context, queued);
        try
        {
            long begin = Stopwatch.GetTimestamp();
            var steps = session.Steps!;
            bool isDone = steps.Step(ref context);
            _counters.ByCommand[command.Id].AddStep(begin);
            if (isDone && session.Steps == steps) session.Steps = null;
            if (session.Steps != null) return false;
            if (!_reply.IsDone) Finish(ref context);
        }
        catch (Exception exception)
        {
            FailPart(session, exception);
        }

        return true;
    }

    /// <summary>Whether the last of several commands threw: its reply is one error then, whatever it had
    /// written.</summary>
    public bool PartHasThrown { get; private set; }

    private Command BeginPart(ref CommandContext context, in QueuedCommand queued)
    {
        context.Command = queued.Command;
        context.Args.Begin(queued.Items, queued.Count, 0, 0, 0, queued.Blocks);
        if (queued.Command.Container != null) context.Args.Skip(1);
        _store.Select(context.Session.Database);
        return queued.Command;
    }

    private void FailPart(Session session, Exception exception)
    {
        PartHasThrown = true;
        Fail(session, exception);
    }

    /// <summary>Does the next step of what the session's last command has left to later turns.</summary>
    /// <returns>False when more is left.</returns>
    public bool Step(ref CommandContext context, ICommandSteps steps)
    {
        var session = context.Session;
        Debug.Assert(session.LastCommand != null, "the steps are some command's");
        context.Command = session.LastCommand!;
        context.Args.Begin(null, 0, 0, 0, 0, null);
        Begin(session);
        // what earlier steps have written is paid for
        _reply.Rewind(new ReplyMark(_reply.ReplyStart, session.OwedBySteps));
        long begin = Stopwatch.GetTimestamp();
        SlowSince = begin;
        bool isDone = steps.Step(ref context);
        _counters.ByCommand[context.Command.Id].AddStep(begin);
        if (_store.HasArrivals) _waits.ServeArrivals();
        if (!isDone)
        {
            Leave(ref context);
            return false;
        }

        if (session.Steps == steps) session.Steps = null;
        session.OwedBySteps = 1;
        session.IsInReply = false;
        if (!_reply.IsDone) Finish(ref context);
        return true;
    }

    /// <summary>Serves those who wait for what a command that threw has changed.</summary>
    public void ServeArrivals()
    {
        if (_store.HasArrivals) _waits.ServeArrivals();
    }

    /// <summary>Writes an error in place of all that the command that threw has written.</summary>
    public void Fail(Session session, Exception exception)
    {
        session.EndSteps();
        _output.Rewind(new ReplyMark(_reply.ReplyStart, 1));
        _reply.BeginPart();
        FailWith(exception switch
        {
            ReplyTooLargeException => Errors.ReplyTooLarge,
            OutOfMemoryException => Errors.OutOfMemory,
            StoreBusyException => Errors.Busy,
            _ => Errors.Internal,
        });
        if (exception is ReplyTooLargeException or StoreBusyException) return;
        _server.Log.LogError(exception, "A command of client {Client} failed", session.Id);
    }

    /// <summary>Answers a command that may not run.</summary>
    public void Reject(Command command, scoped ReadOnlySpan<byte> error)
    {
        _counters.ByCommand[command.Id].Rejected++;
        FailWith(error);
    }

    /// <summary>Writes an error, and counts it.</summary>
    public void FailWith(scoped ReadOnlySpan<byte> error)
    {
        _reply.WriteError(error);
        CountError();
    }

    public void Dispose() => _waits.Dispose();

    /// <summary>Whether what the command writes are messages of their own: others may come between them, and their
    /// number is not checked.</summary>
    private static bool HasOwnReplies(Command command) => (command.Flags & CommandFlags.OwnReplies) != 0;

    /// <summary>After a handler whose reply is an error, or not there (yet), or one too many.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Finish(ref CommandContext context)
    {
        var session = context.Session;
        if (session.Steps != null && _reply.Owed != 0)
        {
            session.LastCommand = context.Command;
            Leave(ref context);
            return;
        }

        if (_reply.Owed != 0 && !HasOwnReplies(context.Command))
        {
            int owed = _reply.Owed;
            _output.Rewind(new ReplyMark(_reply.ReplyStart, 1));
            _reply.WriteError(Errors.Internal);
            _server.Log.LogError("Command {Command} left {Owed} replies owed; its reply was replaced by an error",
                context.Command.FullName, owed);
            Debug.Fail($"{context.Command.FullName} did not write exactly one reply ({owed} owed)");
        }

        if (!_reply.LastWasError) return;
        _counters.ByCommand[context.Command.Id].Failed++;
        if (!session.IsErrorCounted) CountError();
        session.IsErrorCounted = false;
    }

    /// <summary>Notes what is owed by the steps that are left.</summary>
    private void Leave(ref CommandContext context)
    {
        var session = context.Session;
        session.OwedBySteps = _reply.Owed;
        session.IsInReply |= _output.Buffer.Length > _reply.ReplyStart && !HasOwnReplies(context.Command);
        // What goes on though its client does not read must not write to it: there would be no end to what waits for
        // that client. It is given up, with what it holds.
        if (session.IsInReply && session.Steps is { Holds: true })
            throw new InvalidOperationException("A long command answers while it holds keys or an epoch");
    }

    private void CountError()
    {
        _counters.Errors++;
        _server.Counters.CountError(_reply.ErrorCode);
    }
}
