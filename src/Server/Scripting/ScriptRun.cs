using System.Diagnostics;
using Kv.Lua;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Scripting;

//             nothing held, or the declared keys are           all others stand still
//  Begin ---> script runs ------------> done ---> reply   +--> script runs ---> done ---> reply
//                 |  its turn is over                     |        |  busy-reply-threshold is over
//                 +--> steps, the keys stay held -> done  |        +--> LoneRest, others are told BUSY -> done
//                 |  it is about to write, or needs a key |
//                 +--> that it has not declared ----------+  from the start: nothing has been changed so far

/// <summary>One script that is being run, with the machine that runs it: in its handler's turn, or in steps.</summary>
/// <remarks>
/// Its declared keys are held as EXEC holds its own. A script that writes, or uses other keys, begins anew while all
/// others stand still at the top of their turns; its text is remembered for that. So a script that has changed
/// something never has to wait for anybody. Threads: the client's; in steps with keys held whoever steps them, one at a
/// time (<see cref="HeldUse"/>).
/// </remarks>
internal sealed class ScriptRun : ICommandSteps, IHeldUse, IDisposable
{
    /// <summary>A longer script is not waited for when the server stops.</summary>
    private const int StopMsMax = 1000;

    /// <summary>Changes of less are not told: all workers write to one sum.</summary>
    private const int CountedStepBytes = 16 * 1024;

    private static readonly LuaString FCall = new("FCALL");

    private readonly KvServer _server;
    private readonly ScriptEngine _engine;
    private readonly ScriptProgram _program;
    private readonly ScriptCalls _commands;
    private readonly RaisedErrors _errors;
    private readonly ScriptFate _fate = new();
    private ScriptCode? _script;
    private HeldUse? _work;
    private LoneRest? _rest;
    private StepsOwner _owner;
    private LuaOutcome _outcome;
    private long _begin;
    private long _countedBytes;
    private bool _waitsToBeAlone, _awaitsPlace, _keepsWorker, _isKnown, _takesLong;
    private HeldCommand? _awaiting;     // waits for its keys: see BeginHolding
    private int _firstKey, _keyCount;

    public ScriptRun(KvServer server, ScriptEngine engine)
    {
        _server = server;
        _engine = engine;
        var machine = new LuaMachine(new LuaLimits { MemoryBytes = server.Options.ScriptMemoryLimit })
        {
            Elsewhere = engine.Texts.Start,
        };
        _errors = new RaisedErrors(machine);
        machine.CaughtBy = RaisedErrors.Caught;
        _commands = new ScriptCalls(server, machine, _errors, _fate);
        _program = new ScriptProgram(server, engine.Functions, machine, _commands, _errors, _fate);
        _commands.Keys = _program.Keys;
    }

    /// <summary>Where it was taken from.</summary>
    public IdleRuns? Idle { get; set; }

    /// <summary>Whether it has changed something, perhaps.</summary>
    public bool HasWritten => _fate.HasWritten;

    /// <inheritdoc/>
    public bool HasChanged => true;     // a client that goes does not stop its script

    /// <inheritdoc/>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    // Volatile: who reads it late does a step more.
    public bool TakesLong => Volatile.Read(ref _takesLong);

    /// <inheritdoc/>
    public bool GoesOnInPause => _waitsToBeAlone || _rest != null;

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <summary>Runs a script for a client, or as much of it as a turn has room for.</summary>
    /// <param name="keys">How many of the arguments from here on are keys; the rest are the script's own.</param>
    public void Begin(ref CommandContext context, ScriptCode script, int keys, bool isReadOnly)
    {
        Debug.Assert(_script == null && _work == null && _rest == null, "one script at a time");
        _script = script;
        _owner = new StepsOwner(context);
        _waitsToBeAlone = _awaitsPlace = _takesLong = false;
        _keepsWorker = context.InTransaction;
        _fate.Begin();
        _begin = 0;
        if (!context.InTransaction) context.Session.LastCommand = context.Command;      // for those who look meanwhile
        _commands.Begin(script, isReadOnly, context.Session);
        _commands.Bind(context.Store, context.Counters);
        int first = context.Args.Position;
        _program.TakeArguments(ref context, keys);
        if (context.InTransaction)
        {
            // EXEC has stopped all others for it.
            _commands.IsAlone = true;
            RunHere(ref context, hasEnd: false);
        }
        else if (script.RunsAlone)
        {
            RunAlone(ref context);
        }
        else if (keys > 0)
        {
            BeginHolding(ref context, first, keys);
        }
        else
        {
            RunHere(ref context, hasEnd: true);
        }
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_rest != null) TryEndRest(ref context);
        else if (_waitsToBeAlone) RunAlone(ref context);
        else if (_awaiting != null) BeginAwaited(ref context);
        else if (_work == null) RunHere(ref context, hasEnd: true, isBegun: true);
        else if (_work.Step(context.Store)) Finish(ref context);
        return context.Reply.Owed == 0;
    }

    /// <inheritdoc/>
    public void Begin(StoreSession session) => _commands.BeginSteps(session);

    /// <inheritdoc/>
    public bool Use(in HeldKeys held)
    {
        bool isDone = true;
        try
        {
            return isDone = RunOn() != LuaOutcome.Suspended;
        }
        finally
        {
            if (isDone) _commands.CloseEffects();
        }
    }

    /// <inheritdoc cref="ScriptProgram.Load"/>
    public string? Load(LuaChunk chunk, List<FunctionRegistration> registered, LoadLimits limits) =>
        _program.Load(chunk, registered, limits);

    /// <summary>Whether a function of a library is run.</summary>
    public bool IsOfFunction => _script is LibraryFunction;

    /// <summary>What FUNCTION STATS tells of a function that runs. From any thread, while it is known to be
    /// running.</summary>
    public bool TryDescribe(out string name, out List<LuaString> command, out long milliseconds)
    {
        (name, command, milliseconds) = ("", [], 0);
        if (_script is not LibraryFunction function) return false;
        var count = new LuaString(_program.Keys.Count.ToString(System.Globalization.CultureInfo.InvariantCulture));
        name = function.Name;
        command = [FCall, function.NameText, count, .. _program.Keys, .. _program.Argv];
        milliseconds = _begin == 0 ? 0 : (long)Stopwatch.GetElapsedTime(_begin).TotalMilliseconds;
        return true;
    }

    /// <summary>Has it end with an error soon, if it has changed nothing. From any thread.</summary>
    /// <returns>False: it has.</returns>
    public bool TryKill()
    {
        if (!_fate.TryKill()) return false;
        _program.Stop(ScriptErrors.Killed);
        return true;
    }

    /// <summary>The client has left: a script that holds keys, or stands alone, is run to its end by a thread of the
    /// pool.</summary>
    public void Dispose()
    {
        if (_script == null || _rest?.TryLeave() == true) return;
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

    /// <summary>Begins to run with keys held; in a later turn where a snapshot has yet to keep one of them, or work in
    /// steps holds one: nothing is held until then.</summary>
    private void BeginHolding(ref CommandContext context, int first, int keys)
    {
        bool isOfSnapshot = context.Store.SnapshotWait.MayHaveTo
            && context.Store.SnapshotWait.TryAwait(context.ListKeys(first, keys));
        _awaitsPlace = !FindsPlace;
        if (!isOfSnapshot && !_awaitsPlace && TryRunHolding(ref context, first, keys)) return;
        _awaiting = context.Args.Keep(context.Server.Store);
        (_firstKey, _keyCount) = (first, keys);
        context.Continue(this);
        if (isOfSnapshot) context.AwaitSnapshot();
        else context.Session.NoteComesAgain();
    }

    // What was short when it ran last begins at once, however many long ones there are.
    private bool FindsPlace => _script!.TakesTurns ? _server.Store.SteppedHolds.HasPlace
        : _script.HasRun || _server.Store.SteppedHolds.HasPlaceForNew;

    private unsafe void BeginAwaited(ref CommandContext context)
    {
        Debug.Assert(_keyCount > 0, "it waits for its keys");
        var command = _awaiting!;
        var session = context.Session;
        if (session.AwaitsStill(context.Store)) return;
        context.Args.Begin(command.Items, command.Count, keyIndex: 0, hash: 0, hint: 0, session.Blocks);
        bool isLate = session.HasComeAgainForLong;
        if (isLate && _awaitsPlace && _server.Store.SteppedHolds.IsFull)
        {
            session.ComesAgainSinceTickMs = 0;
            context.Fail(Errors.Busy);
            End();
            return;
        }

        bool hasPlace = !_awaitsPlace || isLate || FindsPlace;
        if (!hasPlace || context.Store.SnapshotWait.TryAwait(context.ListKeys(_firstKey, _keyCount)))
        {
            context.AwaitSnapshot();
            return;
        }

        bool isBegun = true;
        _awaiting = null;
        try
        {
            isBegun = TryRunHolding(ref context, _firstKey, _keyCount);
        }
        finally
        {
            if (isBegun)
            {
                command.Dispose();
                session.ComesAgainSinceTickMs = 0;
            }
        }

        if (isBegun) return;
        _awaiting = command;
        session.NoteComesAgain();
    }

    /// <summary>Takes the keys and runs, in this turn or in steps.</summary>
    /// <returns>False when work in steps holds a key, or there is no place for one more such work: nothing is held, and
    /// it is to be called again in a later turn.</returns>
    private bool TryRunHolding(ref CommandContext context, int first, int keys)
    {
        Debug.Assert(keys > 0 && _work == null, "keys are held once");
        var store = context.Store;
        StoreStatus status;
        bool comesAgain = !context.Session.HasComeAgainForLong;
        try
        {
            store.MayComeAgain = comesAgain;
            status = store.BeginTransaction(context.ListKeys(first, keys));
        }
        catch (KeyInUseException exception)
        {
            context.Session.Awaited = exception.Work;
            return false;
        }
        catch (StoreBusyException)
        {
            End();
            throw;
        }
        finally
        {
            store.MayComeAgain = false;
        }

        if (status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(status));
            End();
            return true;
        }

        bool isLeft = false;
        try
        {
            _commands.Bind(store, context.Counters);        // a later turn may be another session's
            Start();
            bool takesTurns = RunOn(isTurn: true) == LuaOutcome.Suspended;
            // All workers read it.
            if (_script!.TakesTurns != takesTurns) _script.TakesTurns = takesTurns;
            if (!_script.HasRun) _script.HasRun = true;
            if (takesTurns)
            {
                bool mayBeginAnew = comesAgain && !_fate.HasWritten;
                if (!mayBeginAnew || _server.Store.SteppedHolds.HasPlace)
                    _work = store.Transacting.TryBeginUse(this);
                isLeft = _work != null;
                if (!isLeft && mayBeginAnew)
                {
                    _begin = 0;
                    _awaitsPlace = true;
                    return false;
                }

                _keepsWorker = !isLeft;
                // Ends: with the script, or its time. There was no place for one more long command.
                while (!isLeft && RunOn() == LuaOutcome.Suspended) MakeKnown();
            }
        }
        finally
        {
            if (!isLeft) store.EndTransaction();
        }

        if (isLeft)
        {
            MakeKnown();
            context.Continue(this);
        }
        else
        {
            Finish(ref context);
        }

        return true;
    }

    /// <summary>Runs with nothing held, or with all others stopped by somebody else.</summary>
    /// <param name="hasEnd">Whether it may go on in a later turn.</param>
    private void RunHere(ref CommandContext context, bool hasEnd, bool isBegun = false)
    {
        _commands.Bind(context.Store, context.Counters);
        if (!isBegun) Start();
        // Ends: with the script, or its time.
        while (RunOn(isTurn: true) == LuaOutcome.Suspended)
        {
            MakeKnown();
            if (!hasEnd)
            {
                // EXEC has stopped all others.
                if (_takesLong) context.Store.Presence.MarkPauseLong();
                continue;
            }

            if (!isBegun) context.Continue(this);
            return;
        }

        Finish(ref context);
    }

    /// <summary>Runs while all others stand still; waits for later turns as long as they cannot be stopped.</summary>
    private void RunAlone(ref CommandContext context)
    {
        Debug.Assert(!_fate.HasWritten, "what has changed something is not begun anew");
        if (context.Store.Presence.IsTurnedAway || context.Store.Presence.MeetsLongWork)
        {
            // It may have waited for its turn, and now others are told this.
            context.Fail(context.Store.Presence.IsTurnedAway ? _engine.BusyReply : Errors.Busy);
            End();
            return;
        }

        if (!context.Store.Presence.TryPauseOthers())
        {
            if (!_waitsToBeAlone) context.Continue(this);
            _waitsToBeAlone = true;
            return;
        }

        _waitsToBeAlone = false;
        _engine.CountAlone();
        try
        {
            _commands.IsAlone = true;
            _script!.RunsAlone = true;
            _commands.Bind(context.Store, context.Counters);
            Start();
            // Ends: with the script, or its time, or as somebody else's work.
            while (RunOn() == LuaOutcome.Suspended)
            {
                MakeKnown();
                if (_takesLong && TryLeave(ref context)) return;
            }
        }
        finally
        {
            if (_rest == null) context.Store.Presence.EndPause();
        }

        Finish(ref context);
    }

    /// <summary>Has a thread of the pool run the rest, alone in the store.</summary>
    /// <returns>False: the store has all the sessions that it can have.</returns>
    private bool TryLeave(ref CommandContext context)
    {
        Debug.Assert(_rest == null && context.Store.Presence.PausesOthers, "it stops all others, and leaves once");
        if (!_server.Store.Sessions.TryCreate(out var session))
        {
            context.Store.Presence.MarkPauseLong();
            return false;
        }

        // Parked before it can be woken.
        context.Session.Park(long.MaxValue);
        context.Continue(this);
        // What was done so far goes with it, before the end of this turn would publish it by itself: as a half.
        Begin(session);
        session.TakePause(context.Store);
        _rest = new LoneRest(this, context.Session, session);
        _server.Remainders.Start(_rest.Run);
        return true;
    }

    /// <summary>For <see cref="LoneRest"/>: runs to its end with a session that has stopped all others.</summary>
    public void RunRest(StoreSession session)
    {
        try
        {
            // Ends: with the script, or when it is killed, or with the server.
            while (RunOn() == LuaOutcome.Suspended)
            {
            }
        }
        finally
        {
            _commands.CloseEffects();
        }

        // Before others can take what was brought for those who wait.
        _commands.ServeArrivals();
    }

    private void TryEndRest(ref CommandContext context)
    {
        if (!_rest!.IsDone)
        {
            // Woken for another reason. Parked first, then looked again: LoneRest is done before it wakes.
            context.Session.Park(long.MaxValue);
            Interlocked.MemoryBarrier();
            if (!_rest.IsDone) return;
            context.Session.EndPark();
        }

        if (context.Session.SlowCall is { } call) call.Ticks += _rest.Ticks;
        context.Session.StepTicks += _rest.Ticks;
        context.Counters.ByCommand[context.Command.Id].AddElsewhere(_rest.Ticks);
        _server.Latency.Note(context.Command.LatencyEvent, _rest.Ticks);
        Finish(ref context);
    }

    /// <summary>Others may ask for its end, from the second look on.</summary>
    private void MakeKnown()
    {
        if (_isKnown) return;
        _isKnown = true;
        _engine.AddRunning(this);
    }

    /// <summary>Begins the script, or begins it anew.</summary>
    private void Start()
    {
        Debug.Assert(!_fate.HasWritten, "what has changed something is not begun anew");
        _commands.Start();
        _program.Start(_script!);
        _outcome = LuaOutcome.Suspended;
    }

    /// <summary>Runs a part of it.</summary>
    /// <param name="isTurn">A turn's, else a step's.</param>
    private LuaOutcome RunOn(bool isTurn = false)
    {
        long end = 0;
        // Ends: in time.
        do
        {
            _outcome = _program.Run();
            if (_outcome != LuaOutcome.Suspended) return _outcome;
            // From the first look on: most scripts end before it, and never read the clock.
            long now = Stopwatch.GetTimestamp();
            if (_begin == 0) _begin = now;
            if (end == 0) end = now + (Stopwatch.Frequency / (isTurn ? 1000 : 2000));
            LookAtTime(now);
            if (now >= end) return _outcome;
        }
        while (true);
    }

    private void LookAtTime(long now)
    {
        long ms = (long)Stopwatch.GetElapsedTime(_begin, now).TotalMilliseconds;
        long limitMs = _server.Options.ScriptTimeLimit, thresholdMs = _server.Options.BusyReplyThreshold;
        // A worker that goes on with nothing else might be the only one that could kill it.
        bool mayBeEnded = _keepsWorker || !HasWritten;
        if (limitMs != 0 && ms > limitMs && mayBeEnded) _program.Stop(ScriptErrors.TookTooLong);
        if (_engine.IsStopping && ms > StopMsMax) _program.Stop(ScriptErrors.Stopped);
        if (_takesLong || thresholdMs == 0 || ms <= thresholdMs) return;
        Volatile.Write(ref _takesLong, true);
        if (_commands.IsAlone) _engine.IsBusyWithFunction = IsOfFunction;
    }

    /// <summary>Answers, when the script has ended, or has it begin anew.</summary>
    private void Finish(ref CommandContext context)
    {
        if ((_work?.Failure ?? _rest?.Failure) is { } failure)
        {
            End();
            throw failure;
        }

        if (_commands.WantsAlone)
        {
            EndSteps();
            RunAlone(ref context);
            return;
        }

        Debug.Assert(_outcome != LuaOutcome.Suspended, "the script has ended");
        var mark = context.Reply.Mark();
        if (_outcome == LuaOutcome.Failed)
        {
            context.Session.IsErrorCounted = RaisedErrors.IsCounted(_program.Error);
            context.Fail(_program.ErrorText());
        }
        else
        {
            var result = _program.Result;
            context.Session.IsErrorCounted = RaisedErrors.IsCounted(result);
            new ResultReply(context.Reply, _commands.Version).Write(result);
        }

        Debug.Assert(context.Reply.Owed == mark.Owed - 1, "a script has one reply");
        End();
    }

    /// <summary>Gives back what a run keeps for the next one: there is none.</summary>
    public void Discard()
    {
        _engine.CountMachineBytes(-_countedBytes);
        _commands.Dispose();
    }

    private void EndSteps()
    {
        _work?.Dispose();
        _work = null;
        _rest = null;
        _commands.EndSteps();
    }

    private void End()
    {
        if (_script == null) return;
        if (_isKnown) _engine.RemoveRunning(this);
        _isKnown = false;
        EndSteps();
        _script = null;
        _awaiting?.Dispose();
        _awaiting = null;
        _program.End();
        _commands.End();
        long more = _program.MemoryBytes - _countedBytes;
        if (Math.Abs(more) >= CountedStepBytes)
        {
            _engine.CountMachineBytes(more);
            _countedBytes += more;
        }

        _engine.GiveBack(this, _commands.Home!);
    }
}
