using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Text;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Diagnostics;
using Kv.Server.Effects;
using Kv.Server.Notifications;
using Kv.Server.Sessions;
using Kv.Server.Users;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>Runs a command that has passed <see cref="CommandChecks"/>: selects its database, begins the reply, calls
/// the handler, counts, makes sure of one reply whatever goes wrong, and serves those who waited for what it has
/// changed.</summary>
/// <remarks>Used by the window's loop, the dispatcher, the steps of long commands, EXEC and scripts. Threads: one
/// worker or lease, or whoever steps a transaction or a script.</remarks>
internal sealed unsafe class CommandRunner : IDisposable
{
    private readonly KvServer _server;
    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly SessionOutput _output;
    private readonly ReplyWriter _reply;
    private readonly KeyServer _waits;
    private readonly TransactionRun _transactions;
    private readonly SlowLog _slowLog;
    private readonly LatencyMonitor _latency;
    private readonly CommandTiming _timing;
    private readonly bool _ownsEvents;
    private CommandCounts _uncounted;
    private long _partTicks;

    public CommandRunner(KvServer server, StoreSession store, WorkerCounters counters, SessionOutput output)
    {
        _server = server;
        _store = store;
        _counters = counters;
        _output = output;
        _reply = output.Reply;
        Events = CommandEvents.Of(server.Events, store, out _ownsEvents);
        _waits = new KeyServer(server, store);
        _transactions = new TransactionRun(this, output);
        _slowLog = server.SlowLog;
        _latency = server.Latency;
        _timing = server.Timing;
    }

    /// <summary>When the last command or step began, if it was slow; else 0. Whoever reads it sets it to 0.</summary>
    public long SlowSince { get; set; }

    /// <summary>Whether the parts that it runs are commands of their own to the statistics and the slow log. Not if the
    /// part is all there is, and whoever steps it counts and times it.</summary>
    public bool CountsParts { get; init; } = true;

    /// <summary>Whether it asks if the user may call a part, and if there is memory for it. Not if whoever has it run
    /// has asked just before.</summary>
    public bool ChecksParts { get; init; } = true;

    /// <summary>Keeps what MONITOR shows of the commands; null: it is shown at once.</summary>
    public MonitorBuffer? MonitorBuffer { get; init; }

    /// <summary>Publishes what the commands do to keys.</summary>
    public CommandEvents Events { get; }

    /// <summary>Which commands are timed one by one.</summary>
    public TimingDetail Detail => _timing.Detail;

    public CommandContext NewContext() =>
        new()
        {
            Server = _server, Reply = _reply, Store = _store, Counters = _counters, Output = _output, Waits = _waits,
            Transactions = _transactions, Events = Events, Args = new CommandArguments(null, 0, _store, 0, 0, 0, null),
        };

    /// <summary>Selects the session's database, and owes one reply.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(Session session)
    {
        _store.Select(session.Database);
        _reply.BeginReply();
    }

    /// <summary>Calls a command that <see cref="Begin"/> has begun; the caller times it.</summary>
    /// <param name="handler">The handler of the command's row.</param>
    /// <param name="counts">The counts of the command's row.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Call(ref CommandContext context, CommandHandler handler, ref CommandCounts counts)
    {
        var promises = default(HandlerPromises);
        promises.Begin(ref context);
        handler(ref context);
        promises.Check(ref context);
        counts.Calls++;
        if (!_reply.IsDone) Finish(ref context, isFirstTurn: true);
        if (_store.HasArrivals) ServeArrivals(ref context);
    }

    /// <summary>Calls and times a command that <see cref="Begin"/> has begun.</summary>
    /// <exception cref="KeyInUseException">It is to come again, see <see cref="Dispatcher.KeepForLater"/>.</exception>
    public void Run(ref CommandContext context)
    {
        Debug.Assert(_reply.Owed == 1, "its reply has been begun");
        Fault.Point("command.run");
        ref var counts = ref _counters.ByCommand[context.Command.Id];
        var command = context.Command;
        // A value in a block of its own takes long, whatever the command.
        Events.Begin(command.Event);
        bool isTimed = command.Timing <= Detail || context.Session.Blocks != null
            || (command.Timing == TimingDetail.Never && _latency.IsOn);
        long begin = counts.Begin();
        if (begin == 0 && isTimed) begin = Stopwatch.GetTimestamp();
        if (command.MayComeAgain && !context.Session.HasComeAgainForLong) _store.MayComeAgain = true;
        Call(ref context, command.Handler!, ref counts);
        _store.MayComeAgain = false;
        if (begin == 0) return;
        long ticks = counts.End(begin, 1, command, _counters.TracksLatency, context.Session.Steps != null);
        if (counts.IsSlow) SlowSince = begin;
        NoteTime(ref context, ticks);
    }

    /// <summary>Notes for the slow log and the latency monitor how long a command took in this turn.</summary>
    /// <param name="context">The command's, with its arguments.</param>
    public void NoteTime(ref CommandContext context, long ticks)
    {
        _latency.Note(context.Command.LatencyEvent, ticks);
        if (context.Session.Steps != null) context.Session.StepTicks += ticks;
        NoteSlow(ref context, ticks);
        // The commands of an EXEC that goes on in steps come before it.
        if (_timing.ShowsAll && (context.Session.Steps == null || !IsExec(context.Command)))
            MonitorFeed.ShowRun(ref context, MonitorBuffer);
    }

    private static bool IsExec(Command command) => command.Timing == TimingDetail.Never;

    private void NoteSlow(ref CommandContext context, long ticks)
    {
        if (context.Session.SlowCall is { } call) call.Ticks += ticks;
        else if (_slowLog.IsSlow(ticks) && context.Command.Timing != TimingDetail.Never)
            _slowLog.Add(Record(ref context), ticks, context.Session.Address, context.Session.Name);
    }

    /// <summary>Runs one of several commands whose replies go out together (EXEC's, a script's), to its end.</summary>
    /// <remarks>Those who wait for what it has changed are served when all of them have run.</remarks>
    public void RunPart(ref CommandContext context, in QueuedCommand queued)
    {
        if (TryRunPart(ref context, queued)) return;
        // Ends: each step gets on, and no such command waits for anybody.
        while (!TryStepPart(ref context, queued))
        {
        }
    }

    /// <summary>Runs one of several commands whose replies go out together, but for the steps that it leaves.</summary>
    /// <returns>False when it has left steps: its reply is not whole yet.</returns>
    public bool TryRunPart(ref CommandContext context, in QueuedCommand queued)
    {
        var session = context.Session;
        Debug.Assert(session.Steps == null, "one command is done before the next begins");
        Debug.Assert(context.InTransaction, "a part is of something larger");
        var command = BeginPart(ref context, queued);
        PartHasThrown = false;
        Events.Begin(command.Event);
        _reply.BeginPart();
        try
        {
            Fault.Point("transaction.command");
            if (ChecksParts && session.Restriction is { } rules && !TryAllow(ref context, rules)) return true;
            ref var counts = ref CountsOfPart(command);
            long begin = counts.Begin();
            // Where it has no steps, it may take any time.
            if (begin == 0 && Detail != TimingDetail.None && (command.Timing <= TimingDetail.Long
                || command.Timing <= Detail)) begin = Stopwatch.GetTimestamp();
            // Memory that the commands before have let go of is freed here, if possible; or they have used too much.
            if (_store.Freeing.IsDue) _store.Freeing.BetweenCommands();
            if (ChecksParts && (command.Flags & CommandFlags.DenyOom) != 0 && _server.Store.IsFarOverBudget)
                context.Fail(Errors.OutOfMemory);
            else if (command.MayChange && Events.Effects.IsFull)
                context.Fail(Errors.EffectsTooLong);
            else RunPartNow(ref context);
            bool isDone = session.Steps == null;
            // It is begun anew in the next turn, and counted then.
            if (!isDone && session.Transaction!.Pace == TransactionPace.FirstTurn) return false;
            counts.Calls++;
            if (!isDone) counts.BeginSteps();
            _partTicks = begin == 0 ? 0 : counts.End(begin, 1, command, TracksParts, goesOn: !isDone);
            if (CountsParts) _latency.Note(command.LatencyEvent, _partTicks);
            if (!isDone) return false;
            NotePart(ref context, queued);
            EndPart(ref context);
            // CLIENT REPLY OFF and SKIP write nothing, but have a place in the array.
            if (_output.Buffer.Length == _reply.ReplyStart) _reply.WriteNull();
        }
        catch (Exception exception)
        {
            FailPart(ref context, exception);
        }

        return true;
    }

    /// <summary>Takes the next step of a command for which <see cref="TryRunPart"/> returned false.</summary>
    /// <returns>True when it is done, and its reply whole.</returns>
    public bool TryStepPart(ref CommandContext context, in QueuedCommand queued)
    {
        var session = context.Session;
        Debug.Assert(session.Steps != null && context.InTransaction, "the command has left steps");
        var command = BeginPart(ref context, queued);
        try
        {
            long begin = Stopwatch.GetTimestamp();
            var steps = session.Steps!;
            bool isDone = steps.Step(ref context);
            command.Changes?.NoteStep(ref context);
            ref var counts = ref CountsOfPart(command);
            long ticks = counts.AddStep(begin);
            _partTicks += ticks;
            if (CountsParts) _latency.Note(command.LatencyEvent, ticks);
            if (isDone && session.Steps == steps) session.Steps = null;
            if (session.Steps != null) return false;
            counts.EndSteps(_partTicks, TracksParts, wasCountedNow: false);
            NotePart(ref context, queued);
            BeginPart(ref context, queued);     // the feed reads what was sent; the steps' own arguments are gone
            EndPart(ref context);
        }
        catch (Exception exception)
        {
            FailPart(ref context, exception);
        }

        return true;
    }

    private static void RunPartNow(ref CommandContext context)
    {
        if (context.Session.Tracking is { } tracking) TrackedReads.Remember(ref context, tracking);
        var promises = default(HandlerPromises);
        promises.Begin(ref context);
        context.Command.Handler!(ref context);
        promises.Check(ref context);
    }

    private void NotePart(ref CommandContext context, in QueuedCommand queued)
    {
        bool isSlow = _slowLog.IsSlow(_partTicks), isShown = _timing.ShowsAll;
        if (!CountsParts || !(isSlow || isShown)) return;
        BeginPart(ref context, queued);     // its steps may have had arguments of their own, which are gone
        if (isSlow) NoteSlow(ref context, _partTicks);
        if (isShown) MonitorFeed.ShowRun(ref context, MonitorBuffer);
    }

    /// <summary>Whether the last command of <see cref="TryRunPart"/> or <see cref="TryStepPart"/> threw; its reply then
    /// is one error.</summary>
    public bool PartHasThrown { get; private set; }

    private Command BeginPart(ref CommandContext context, in QueuedCommand queued)
    {
        context.Command = queued.Command;
        context.Args.Begin(queued.Items, queued.Count, 0, 0, 0, queued.Blocks, queued.Large);
        if (queued.Command.Container != null) context.Args.Skip(1);
        _store.Select(context.Session.Database);
        return queued.Command;
    }

    private void EndPart(ref CommandContext context)
    {
        Events.EndCommand(context.Sent);
        if (_store.Arrivals.HasNew) _waits.ForgetUnready();
        if (!_reply.IsDone) Finish(ref context);
    }

    private bool TracksParts => CountsParts && _counters.TracksLatency;

    /// <summary>Checks a part by the rules of now: they may have changed since it was queued.</summary>
    /// <returns>False after writing an error.</returns>
    private bool TryAllow(ref CommandContext context, UserRules rules)
    {
        var verdict = rules.Check(context.Command, context.Args);
        if (verdict.IsAllowed) return true;
        AccessDenial.Note(context.Session, AccessContext.Multi, verdict, context.Command, context.Args);
        Reject(context.Command, Encoding.Latin1.GetBytes(AccessDenial.ReasonInExec(verdict)));
        return false;
    }

    private ref CommandCounts CountsOfPart(Command command) =>
        ref CountsParts ? ref _counters.ByCommand[command.Id] : ref _uncounted;

    private void FailPart(ref CommandContext context, Exception exception)
    {
        PartHasThrown = true;
        Events.EndCommand(context.Sent);
        Fail(context.Session, exception);
    }

    /// <summary>Takes the next step of the session's last command.</summary>
    /// <returns>False when more steps are left.</returns>
    public bool Step(ref CommandContext context, ICommandSteps steps)
    {
        var session = context.Session;
        Debug.Assert(session.LastCommand != null && session.Steps == steps, "they are the last command's steps");
        Debug.Assert(!session.IsParked && session.OwedBySteps > 0, "who goes on does not wait, and owes a reply");
        context.Command = session.LastCommand!;
        Events.Begin(context.Command.Event);
        context.Args.Begin(null, 0, 0, 0, 0, null);
        Begin(session);
        // What earlier steps have written is no longer owed.
        _reply.Rewind(new ReplyMark(_reply.ReplyStart, session.OwedBySteps));
        long begin = Stopwatch.GetTimestamp();
        SlowSince = begin;
        bool isDone = steps.Step(ref context);
        Debug.Assert(_store.HoldsNothing, "what a step holds it lets go of, or leaves to the next one's own session");
        Debug.Assert(!isDone || _reply.Owed <= 0 || session.Steps != steps || HasOwnReplies(context.Command),
            "the last step has written the reply");
        context.Command.Changes?.NoteStep(ref context);
        context.Args.Begin(null, 0, 0, 0, 0, null);     // the steps' own may be gone
        long ticks = _counters.ByCommand[context.Command.Id].AddStep(begin);
        if (session.SlowCall is { } call) call.Ticks += ticks;
        session.StepTicks += ticks;
        _latency.Note(context.Command.LatencyEvent, ticks);
        if (_store.HasArrivals) ServeArrivals(ref context);
        if (!isDone)
        {
            Leave(ref context);
            return false;
        }

        if (session.Steps == steps) session.Steps = null;
        session.SentEffect = null;
        if (session.Steps == null) EndTimes(session, context.Command, steps);
        if (_timing.ShowsAll && session.Steps == null && IsExec(context.Command)) MonitorFeed.ShowName(ref context);
        session.OwedBySteps = 1;
        session.IsInReply = false;
        if (!_reply.IsDone) Finish(ref context);
        return true;
    }

    /// <summary>Follows the last step of a command.</summary>
    private void EndTimes(Session session, Command command, ICommandSteps steps)
    {
        _counters.ByCommand[command.Id]
            .EndSteps(session.StepTicks, _counters.TracksLatency, wasCountedNow: steps is BlockedCommand);
        if (session.SlowCall is not { } call) return;
        session.SlowCall = null;
        // As in Redis: who has waited in vain is not in the slow log.
        if (steps is BlockedCommand { IsServed: false }) call.Dispose();
        else call.End(session.Address, session.Name);
    }

    /// <summary>What the slow log shows of a command.</summary>
    private byte[] Record(ref CommandContext context)
    {
        ref readonly var args = ref context.Args;
        uint secrets = 0;
        for (int i = 0; i < Math.Min(args.Count, SlowLog.ArgumentsMax); i++)
            if (SecretArguments.Has(context.Command, context.Server.Commands, args, i)) secrets |= 1u << i;

        return _slowLog.Record(new(args.At(0), args.Count), secrets);
    }

    /// <summary>Publishes what is left of a command's events, and serves those who wait for what it has
    /// changed.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void ServeArrivals(ref CommandContext context)
    {
        Events.EndCommand(context.Sent);
        if (_store.HasArrivals) _waits.ServeArrivals();
    }

    /// <summary>Replaces what a command that threw has written by one error.</summary>
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

    /// <summary>Refuses a command: writes an error, and counts the command as rejected.</summary>
    public void Reject(Command command, scoped ReadOnlySpan<byte> error)
    {
        Debug.Assert(_reply.Owed == 1, "the error is the one reply");
        _counters.ByCommand[command.Id].Rejected++;
        FailWith(error);
    }

    /// <summary>Writes an error, and counts it.</summary>
    public void FailWith(scoped ReadOnlySpan<byte> error)
    {
        _reply.WriteError(error);
        CountError();
    }

    public void Dispose()
    {
        _waits.Dispose();
        if (_ownsEvents) Events.Leave(_store);
    }

    /// <summary>Whether a command writes messages of its own: other messages may come between them, and their number is
    /// not checked.</summary>
    private static bool HasOwnReplies(Command command) => (command.Flags & CommandFlags.OwnReplies) != 0;

    /// <summary>Follows a handler that has written an error, not all of its reply, or too much.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Finish(ref CommandContext context, bool isFirstTurn = false)
    {
        var session = context.Session;
        if (session.Steps != null && _reply.Owed != 0)
        {
            session.LastCommand = context.Command;
            if (isFirstTurn) session.StepTicks = 0;
            if (isFirstTurn) KeepEffect(ref context);
            if (isFirstTurn && session.Steps is not BlockedCommand)
                _counters.ByCommand[context.Command.Id].BeginSteps();
            if (context.Args.Count > 0 && session.SlowCall == null && _slowLog.Detail != TimingDetail.None
                && context.Command.Timing != TimingDetail.Never)
                session.SlowCall = new SlowCall(_slowLog, Record(ref context));
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

    /// <summary>Keeps what was sent for the feed: the steps that are left may change something.</summary>
    private void KeepEffect(ref CommandContext context)
    {
        if (!Events.Effects.IsOn || context.Session.Steps is BlockedCommand) return;
        var sent = context.Sent;
        if (sent.IsEffect) context.Session.SentEffect = sent.Keep();
    }

    /// <summary>Notes what the steps that are left owe.</summary>
    private void Leave(ref CommandContext context)
    {
        var session = context.Session;
        Debug.Assert(session.Steps != null && _reply.Owed > 0, "steps that are left owe the rest of the reply");
        session.OwedBySteps = _reply.Owed;
        session.IsInReply |= _output.Buffer.Length > _reply.ReplyStart && !HasOwnReplies(context.Command);
        // A command that goes on though its client does not read must not write: there would be no limit to what waits
        // for that client. It is given up, with what it holds.
        if (session.IsInReply && session.Steps is { Holds: true })
            throw new InvalidOperationException("A long command answers while it holds keys or an epoch");
    }

    private void CountError()
    {
        _counters.Errors++;
        _server.Counters.CountError(_reply.ErrorCode);
    }
}
