using System.Diagnostics;
using System.Text;
using Kv.Lua;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

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
/// something never has to wait for anybody. Commands run for a stand-in of the client's session, with an output of the
/// script's own. Threads: the client's; in steps with keys held whoever steps them, one at a time
/// (<see cref="HeldUse"/>).
/// </remarks>
internal sealed class ScriptRun : ICommandSteps, IHeldUse, IDisposable
{
    /// <summary>Turns of loops and calls between two looks at the clock: some 50 us.</summary>
    private const long UnitsPerLook = 2000;

    /// <summary>A library that takes longer to load is refused: nobody else of the worker goes on meanwhile.</summary>
    private const int LoadMsMax = 100;

    /// <summary>A longer script is not waited for when the server stops.</summary>
    private const int StopMsMax = 1000;

    // What has become of it: only a script that has changed nothing can be killed.
    private const int Harmless = 0, Written = 1, Killed = 2;

    private static readonly LuaString FCall = new("FCALL");
    private static readonly LuaString Keys = new("KEYS"), Argv = new("ARGV"), Err = new("err"),
        Ignore = new("ignore_error_stats_update");
    private static readonly LuaRest Never = new((ref call) => call.Return());

    private readonly KvServer _server;
    private readonly ScriptEngine _engine;
    private readonly LuaMachine _machine;
    private readonly RedisLibrary _library;
    private readonly ScriptArguments _arguments;
    private readonly SessionOutput _output;
    private readonly Session _standIn;
    private readonly List<LuaString> _keys = [], _argv = [];
    private CommandRunner? _runner, _steppedRunner;
    private StoreSession? _store, _homeStore;
    private WorkerCounters? _stepCounters, _homeCounters;
    private ScriptCode? _script;
    private List<FunctionRegistration>? _registered;
    private LuaFunction? _body;
    private LuaString? _raised;
    private HeldUse? _work;
    private LoneRest? _rest;
    private StepsOwner _owner;
    private LuaOutcome _outcome;
    private long _begin;
    private long _countedBytes;
    private int _database;
    private int _fate;
    private bool _isReadOnly, _isAlone, _wantsAlone, _waitsToBeAlone, _isRaisedCounted, _isLoading;
    private bool _keepsWorker, _isKnown, _takesLong;

    public ScriptRun(KvServer server, ScriptEngine engine)
    {
        _server = server;
        _engine = engine;
        _machine = new LuaMachine(new LuaLimits { MemoryBytes = server.Options.ScriptMemoryLimit });
        _library = new RedisLibrary(this);
        _library.AddTo(_machine);
        _machine.ProtectGlobals();
        _arguments = new ScriptArguments(server.Store);
        _output = new SessionOutput(server.Store);
        _standIn = new Session(id: 0, server, NoOwner.Instance) { Authenticated = true };
        _standIn.Transaction = new Transaction(_standIn, server.Store) { IsRunning = true };
    }

    /// <summary>The version in which commands answer the script.</summary>
    public RespVersion Version
    {
        get => _standIn.Version;
        set => _standIn.Version = value;
    }

    /// <summary>Whether it has changed something, perhaps.</summary>
    public bool HasWritten => Volatile.Read(ref _fate) == Written;

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
        _script = script;
        _isReadOnly = isReadOnly;
        _owner = new StepsOwner(context);
        _isAlone = _wantsAlone = _waitsToBeAlone = _takesLong = false;
        _keepsWorker = context.InTransaction;
        _fate = Harmless;
        _begin = 0;
        _database = context.Session.Database;
        Bind(context.Store, context.Counters);
        _keys.Clear();
        _argv.Clear();
        int first = context.Args.Position;
        for (int i = 0; i < keys; i++) _keys.Add(new LuaString(context.Args.NextBytes()));
        while (context.Args.Remaining > 0) _argv.Add(new LuaString(context.Args.NextBytes()));
        if (context.InTransaction)
        {
            // EXEC has stopped all others for it.
            _isAlone = true;
            RunHere(ref context, hasEnd: false);
        }
        else if (script.RunsAlone)
        {
            RunAlone(ref context);
        }
        else if (keys > 0)
        {
            RunHolding(ref context, first, keys);
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
        else if (_work == null) RunHere(ref context, hasEnd: true, isBegun: true);
        else if (_work.Step(context.Store)) Finish(ref context);
        return context.Reply.Owed == 0;
    }

    /// <inheritdoc/>
    public void Begin(StoreSession session)
    {
        Debug.Assert(_steppedRunner == null, "it leaves its worker once");
        _stepCounters = _server.Counters.Borrow();
        _store = session;
        _steppedRunner = new CommandRunner(_server, session, _stepCounters, _output);
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held) => RunOn() != LuaOutcome.Suspended;

    /// <summary>Runs a library's text once, for what it registers.</summary>
    /// <returns>Why it cannot; null: it has.</returns>
    public string? Load(LuaChunk chunk, List<FunctionRegistration> registered)
    {
        _registered = registered;
        long begin = Stopwatch.GetTimestamp();
        BeginLoading(chunk);
        LuaOutcome outcome;
        // Ends: with the text, or its time.
        while ((outcome = _machine.Run(UnitsPerLook)) == LuaOutcome.Suspended)
            if (Stopwatch.GetElapsedTime(begin).TotalMilliseconds > LoadMsMax) return ScriptErrors.LoadTimeout;
        return outcome == LuaOutcome.Failed ? Encoding.Latin1.GetString(ErrorMessage()) : null;
    }

    /// <summary>redis.register_function.</summary>
    public int Register(ref LuaCall call)
    {
        if (FunctionRegistration.Read(ref call, out var found) is { } error) return Raise(ref call, error);
        if (_registered == null)
        {
            if (_script is LibraryFunction function && function.NameText.Equals(found.Name)) _body = found.Body;
            return call.Return();
        }

        if (_registered.Exists(other => other.Name.Equals(found.Name)))
            return Raise(ref call, "ERR Function already exists in the library");
        _registered.Add(found);
        return call.Return();
    }

    /// <summary>Whether a function of a library is run.</summary>
    public bool IsOfFunction => _script is LibraryFunction;

    /// <summary>What FUNCTION STATS tells of a function that runs. From any thread, while it is known to be
    /// running.</summary>
    public bool TryDescribe(out string name, out List<LuaString> command, out long milliseconds)
    {
        (name, command, milliseconds) = ("", [], 0);
        if (_script is not LibraryFunction function) return false;
        var count = new LuaString(_keys.Count.ToString(System.Globalization.CultureInfo.InvariantCulture));
        name = function.Name;
        command = [FCall, function.NameText, count, .. _keys, .. _argv];
        milliseconds = _begin == 0 ? 0 : (long)Stopwatch.GetElapsedTime(_begin).TotalMilliseconds;
        return true;
    }

    /// <summary>Has it end with an error soon, if it has changed nothing. From any thread.</summary>
    /// <returns>False: it has.</returns>
    public bool TryKill()
    {
        // Interlocked: a script that is about to change something does it or is killed.
        if (Interlocked.CompareExchange(ref _fate, Killed, Harmless) == Written) return false;
        _machine.Stop(ScriptErrors.Killed);
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

    /// <summary>redis.call and redis.pcall.</summary>
    public unsafe int Call(ref LuaCall call, bool isProtected)
    {
        if (call.Count == 0) return Fail(ref call, isProtected, ScriptErrors.NoCommand);
        if (!_arguments.TryCopy(ref call)) return Fail(ref call, isProtected, ScriptErrors.BadArgument);
        Argument* items = _arguments.Items;
        int count = _arguments.Count;
        if (Find(items, count) is not { } command) return Fail(ref call, isProtected, ScriptErrors.UnknownCommand);
        if (RefusalOf(command, count) is { } refusal) return Refuse(ref call, isProtected, command, refusal);
        bool writes = (command.Flags & CommandFlags.Write) != 0;
        var runner = _steppedRunner ?? _runner!;
        var context = runner.NewContext();
        context.Session = _standIn;
        if (!_isAlone && !MayGoOn(ref context, command, items, count))
        {
            if (HasWritten) throw new InvalidOperationException("A script uses a key that its text does not show.");
            _wantsAlone = true;
            return call.Wait(Never);
        }

        bool isRefused = (command.Flags & CommandFlags.DenyOom) != 0 && _fate != Written
            && (_script!.Flags & ScriptFlags.AllowOom) == 0 && _server.Store.IsOverBudget;
        if (isRefused) return Refuse(ref call, isProtected, command, ScriptErrors.OverMemory);
        // Interlocked: see TryKill.
        if (writes && _fate != Written && Interlocked.CompareExchange(ref _fate, Written, Harmless) == Killed)
            return Fail(ref call, isProtected, "ERR " + ScriptErrors.Killed);
        _output.Reply.Version = Version;
        runner.RunPart(ref context, new QueuedCommand(command, items, count, null));
        var value = ReplyValues.Take(_machine, _output, _server.Store, out var error);
        if (error == null) return call.Return(value);
        if (isProtected)
        {
            var table = NewError(error);
            table[Ignore] = true;
            return call.Return(table);
        }

        (_raised, _isRaisedCounted) = (error, true);
        return call.Error(error);
    }

    /// <summary>Whether the arguments are a command with a right number of arguments.</summary>
    public unsafe bool IsCommand(ref LuaCall call) =>
        _arguments.TryCopy(ref call) && Find(_arguments.Items, _arguments.Count) is { } command
        && command.Takes(_arguments.Count);

    /// <summary>Ends a function with an error that is the whole reply, but for where it was raised.</summary>
    public int Raise(ref LuaCall call, string error)
    {
        (_raised, _isRaisedCounted) = (new LuaString(error), false);
        return call.Error(_raised);
    }

    /// <summary>A table that is an error as a reply.</summary>
    public LuaTable NewError(ReadOnlySpan<byte> text) => NewError(_machine.NewString(text));

    /// <inheritdoc cref="NewError(ReadOnlySpan{byte})"/>
    public LuaTable NewError(string text) => NewError(new LuaString(text));

    public void Log(LogLevel level, string text) => _server.Log.Log(level, "{Text}", text);

    private LuaTable NewError(LuaString text)
    {
        var table = _machine.NewTable(0, 1);
        table[Err] = text;
        return table;
    }

    private int Fail(ref LuaCall call, bool isProtected, string error) =>
        isProtected ? call.Return(NewError(error)) : Raise(ref call, error);

    /// <summary>Why a script may not call a command; null: it may.</summary>
    private string? RefusalOf(Command command, int count)
    {
        const CommandFlags changing = CommandFlags.Write | CommandFlags.MayReplicate;
        if (command.Handler == null || !command.Takes(count)) return ScriptErrors.WrongArity;
        if ((command.Flags & CommandFlags.NoScript) != 0) return ScriptErrors.NotAllowed;
        return _isReadOnly && (command.Flags & changing) != 0 ? ScriptErrors.ReadOnly : null;
    }

    private int Refuse(ref LuaCall call, bool isProtected, Command command, string error)
    {
        (_stepCounters ?? _homeCounters!).ByCommand[command.Id].Rejected++;
        return Fail(ref call, isProtected, error);
    }

    private unsafe Command? Find(Argument* items, int count)
    {
        ref readonly var entry = ref _server.Commands.Find(items->Pointer, items->Length);
        if (entry.IsNone) return null;
        var command = _server.Commands.All[entry.Number];
        return command.Subcommands.Length == 0 || count < 2 ? command : command.FindSubcommand(items[1].Span);
    }

    /// <summary>Whether a command may run while others do. What may come to need other keys must not have changed
    /// anything by then.</summary>
    private unsafe bool MayGoOn(ref CommandContext context, Command command, Argument* items, int count) =>
        (_script!.UsesDeclaredKeys || (command.Flags & CommandFlags.Write) == 0)
        && HasKeysOf(ref context, command, items, count);

    /// <summary>Whether all keys of a command are held.</summary>
    private unsafe bool HasKeysOf(ref CommandContext context, Command command, Argument* items, int count)
    {
        if (command.UnnamedKeysFrom > 0 && count >= command.UnnamedKeysFrom) return false;
        context.Args.Begin(items, count, 0, 0, 0, null);
        foreach (var spec in command.Keys)
        {
            if ((spec.Access & KeyAccess.NotKey) != 0) continue;
            if (spec.Start == KeyStart.Unknown) return false;
            var search = KeyFinder.Find(spec, context.Args, 0, out var range);
            // An error before anything is done; what is not sure of its keys need not be sure of that.
            if (search == KeySearch.Invalid && !_script!.UsesDeclaredKeys) return false;
            if (search != KeySearch.Found) continue;
            for (int i = 0; i < range.Count; i++)
                if (!_store!.IsHeld(items[range.First + (i * range.Step)].Span, _standIn.Database)) return false;
        }

        return true;
    }

    private void RunHolding(ref CommandContext context, int first, int keys)
    {
        var store = context.Store;
        StoreStatus status;
        try
        {
            status = store.BeginTransaction(context.ListKeys(first, keys));
        }
        catch (StoreBusyException)
        {
            End();
            throw;
        }

        if (status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(status));
            End();
            return;
        }

        bool isLeft = false;
        try
        {
            Start();
            if (RunOn(isTurn: true) == LuaOutcome.Suspended)
            {
                _work = store.TryBeginUseOfTransaction(this);
                isLeft = _work != null;
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
    }

    /// <summary>Runs with nothing held, or with all others stopped by somebody else.</summary>
    /// <param name="hasEnd">Whether it may go on in a later turn.</param>
    private void RunHere(ref CommandContext context, bool hasEnd, bool isBegun = false)
    {
        Bind(context.Store, context.Counters);
        if (!isBegun) Start();
        // Ends: with the script, or its time.
        while (RunOn(isTurn: true) == LuaOutcome.Suspended)
        {
            MakeKnown();
            if (!hasEnd)
            {
                // EXEC has stopped all others.
                if (_takesLong) context.Store.MarkPauseLong();
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
        if (context.Store.IsTurnedAway || context.Store.MeetsLongWork)
        {
            // It may have waited for its turn, and now others are told this.
            context.Fail(context.Store.IsTurnedAway ? _engine.BusyReply : ScriptErrors.Busy);
            End();
            return;
        }

        if (!context.Store.TryPauseOthers())
        {
            if (!_waitsToBeAlone) context.Continue(this);
            _waitsToBeAlone = true;
            return;
        }

        _waitsToBeAlone = false;
        _engine.CountAlone();
        try
        {
            _isAlone = true;
            _script!.RunsAlone = true;
            Bind(context.Store, context.Counters);
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
            if (_rest == null) context.Store.EndPause();
        }

        Finish(ref context);
    }

    /// <summary>Has a thread of the pool run the rest, alone in the store.</summary>
    /// <returns>False: the store has all the sessions that it can have.</returns>
    private bool TryLeave(ref CommandContext context)
    {
        if (!_server.Store.TryCreateSession(out var session))
        {
            context.Store.MarkPauseLong();
            return false;
        }

        // Parked before it can be woken.
        context.Session.Park(long.MaxValue);
        context.Continue(this);
        session.TakePause(context.Store);
        _rest = new LoneRest(this, context.Session, session);
        _server.Remainders.Start(_rest.Run);
        return true;
    }

    /// <summary>For <see cref="LoneRest"/>: runs to its end with a session that has stopped all others.</summary>
    public void RunRest(StoreSession session)
    {
        Begin(session);
        // Ends: with the script, or when it is killed, or with the server.
        while (RunOn() == LuaOutcome.Suspended)
        {
        }

        // Before others can take what was brought for those who wait.
        _steppedRunner!.ServeArrivals();
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

        Finish(ref context);
    }

    /// <summary>Others may ask for its end, from the second look on.</summary>
    private void MakeKnown()
    {
        if (_isKnown) return;
        _isKnown = true;
        _engine.AddRunning(this);
    }

    /// <summary>Begins the script, with nothing of what ran before.</summary>
    private void Start()
    {
        _wantsAlone = false;
        _raised = null;
        _standIn.Version = RespVersion.Resp2;
        _standIn.Database = _database;
        if (_script is LibraryFunction)
        {
            _body = null;
            BeginLoading(_script.Chunk);
        }
        else
        {
            if (_isLoading) EndLoading();       // of a library whose run was given up
            _machine.Globals[Keys] = NewList(_keys);
            _machine.Globals[Argv] = NewList(_argv);
            _machine.Begin(_script!.Chunk);
        }

        KeepKilled();
        _outcome = LuaOutcome.Suspended;
    }

    /// <summary>What has begun anew is still to end.</summary>
    private void KeepKilled()
    {
        if (Volatile.Read(ref _fate) == Killed) _machine.Stop(ScriptErrors.Killed);
    }

    private void BeginLoading(LuaChunk chunk)
    {
        _isLoading = true;
        _library.Show(_machine, isLoading: true);
        _machine.Globals[Keys] = _machine.Globals[Argv] = LuaValue.Nil;
        _machine.Begin(chunk);
    }

    private void EndLoading()
    {
        _isLoading = false;
        _library.Show(_machine, isLoading: false);
    }

    /// <summary>The function's library has run: the function itself is next.</summary>
    /// <returns>False: this time the library did not register it, which it did when it was loaded.</returns>
    private bool TryBeginFunction()
    {
        EndLoading();
        if (_body == null) return false;
        _machine.Begin(_body, NewList(_keys), NewList(_argv));
        KeepKilled();
        return true;
    }

    private LuaTable NewList(List<LuaString> texts)
    {
        var table = _machine.NewTable(texts.Count);
        for (int i = 0; i < texts.Count; i++) table[i + 1] = texts[i];
        return table;
    }

    /// <summary>Runs a part of it.</summary>
    /// <param name="isTurn">A turn's, else a step's.</param>
    private LuaOutcome RunOn(bool isTurn = false)
    {
        long end = 0;
        // Ends: in time.
        do
        {
            _outcome = _machine.Run(UnitsPerLook);
            if (_outcome == LuaOutcome.Done && _isLoading && TryBeginFunction()) continue;
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
        if (limitMs != 0 && ms > limitMs && mayBeEnded) _machine.Stop(ScriptErrors.TookTooLong);
        if (_engine.IsStopping && ms > StopMsMax) _machine.Stop(ScriptErrors.Stopped);
        if (_takesLong || thresholdMs == 0 || ms <= thresholdMs) return;
        Volatile.Write(ref _takesLong, true);
        if (_isAlone) _engine.IsBusyWithFunction = IsOfFunction;
    }

    /// <summary>Answers, when the script has ended, or has it begin anew.</summary>
    private void Finish(ref CommandContext context)
    {
        if ((_work?.Failure ?? _rest?.Failure) is { } failure)
        {
            End();
            throw failure;
        }

        if (_wantsAlone)
        {
            EndSteps();
            RunAlone(ref context);
            return;
        }

        var mark = context.Reply.Mark();
        if (_outcome == LuaOutcome.Failed)
        {
            context.Session.IsErrorCounted = IsCounted(_machine.Error);
            context.Fail(ErrorText());
        }
        else
        {
            var results = _machine.Results;
            context.Session.IsErrorCounted = !results.IsEmpty && IsCounted(results[0]);
            new ResultReply(context.Reply, Version).Write(results.IsEmpty ? LuaValue.Nil : results[0]);
        }

        Debug.Assert(context.Reply.Owed == mark.Owed - 1, "a script has one reply");
        End();
    }

    /// <summary>Whether a value is the error of a command that the script has called, and that counted it.</summary>
    private bool IsCounted(in LuaValue value) =>
        value.AsTable is { } table ? table[Err].IsString && table[Ignore].IsTrue
            : _isRaisedCounted && value.AsString is { } text && ReferenceEquals(text, _raised);

    private byte[] ErrorText() => ResultReply.OneLine([.. ErrorMessage(), .. Encoding.Latin1.GetBytes(
        $" script: {_script!.Name}, on {_script.Place}:{_machine.ErrorLine}.")]);

    private byte[] ErrorMessage()
    {
        var error = _machine.Error;
        if (_fate == Killed) return Encoding.Latin1.GetBytes("ERR " + ScriptErrors.Killed);
        return error.AsTable is { } table && table[Err].AsString is { } told ? told.Span.ToArray()
            : error.AsString is { } raised && ReferenceEquals(raised, _raised) ? raised.Span.ToArray()
            : [.. "ERR "u8, .. error.AsString is { } message ? message.Span
                : Encoding.Latin1.GetBytes(error.ToString())];
    }

    /// <summary>Has commands run on a worker's session of the store.</summary>
    private void Bind(StoreSession store, WorkerCounters counters)
    {
        _store = store;
        if (_homeStore == store) return;
        _runner?.Dispose();
        _runner = new CommandRunner(_server, store, counters, _output);
        (_homeStore, _homeCounters) = (store, counters);
    }

    /// <summary>Gives back what a run keeps for the next one: there is none.</summary>
    public void Discard()
    {
        _engine.CountMachineBytes(-_countedBytes);
        _runner?.Dispose();
        _output.Dispose();
        _arguments.Dispose();
    }

    private void EndSteps()
    {
        _work?.Dispose();
        _work = null;
        _rest = null;
        _steppedRunner?.Dispose();
        _steppedRunner = null;
        if (_stepCounters != null) _server.Counters.GiveBack(_stepCounters);
        _stepCounters = null;
    }

    private void End()
    {
        if (_script == null) return;
        if (_isKnown) _engine.RemoveRunning(this);
        _isKnown = false;
        EndSteps();
        _script = null;
        _raised = null;
        _body = null;
        _arguments.Trim();
        _engine.CountMachineBytes(_machine.MemoryBytes - _countedBytes);
        _countedBytes = _machine.MemoryBytes;
        _engine.GiveBack(this, _homeStore!);
    }
}
