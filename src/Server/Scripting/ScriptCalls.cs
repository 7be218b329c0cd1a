using System.Diagnostics;
using System.Text;
using Kv.Lua;
using Kv.Protocol;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Tracking;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Scripting;

/// <summary>Commands that a script calls: which it may, where they run, and what they answer it.</summary>
/// <remarks>They run for a stand-in of the client's session, with an output of the script's own, on the session of the
/// store that the script runs on. Threads: the one that runs the script.</remarks>
internal sealed class ScriptCalls(KvServer server, LuaMachine machine, RaisedErrors errors, ScriptFate fate)
    : IDisposable
{
    private static readonly LuaRest Never = new((ref call) => call.Return());

    /// <summary>How far above maxmemory a script may go that has to be let.</summary>
    private const long BeyondBytesMax = 32 << 20;

    /// <summary>What a short command takes, in the machine's units of work.</summary>
    private const int CallUnits = 32;

    private readonly ScriptArguments _arguments = new(server.Store);
    private readonly SessionOutput _output = new(server.Store);
    private readonly Session _standIn = NewStandIn(server);
    private readonly MonitorBuffer _shown = new(server.Monitors);
    private CommandRunner? _runner, _steppedRunner;
    private StoreSession? _store;
    private WorkerCounters? _stepCounters, _homeCounters;
    private KeyWriter? _stepWriter;
    private ScriptCode? _script;
    private Session? _client;
    private int _database;
    private bool _isReadOnly, _isDeclaredNoted;

    /// <summary>KEYS of the script that runs.</summary>
    public IReadOnlyList<LuaString> Keys { get; set; } = [];

    /// <summary>The version in which commands answer the script.</summary>
    public RespVersion Version
    {
        get => _standIn.Version;
        set => _standIn.Version = value;
    }

    /// <summary>The worker's session of the store.</summary>
    public StoreSession? Home { get; private set; }

    /// <summary>Whether all others stand still, so that the script may do everything.</summary>
    public bool IsAlone { get; set; }

    /// <summary>Whether the script waits for a command that it may do only while all others stand still.</summary>
    public bool WantsAlone { get; private set; }

    /// <summary>Another script is to be run.</summary>
    /// <param name="client">For whom: what its user may not do the script may not.</param>
    public void Begin(ScriptCode script, bool isReadOnly, Session client)
    {
        Debug.Assert(_script == null && _steppedRunner == null, "one script at a time");
        _script = script;
        _client = client;
        // Written where they differ only: a new user's rights have to be looked up, though no user has changed since
        // the last script, and the others say what the stand-in may do.
        if (_standIn.User != client.User) _standIn.User = client.User;
        if (_standIn.Tracking != client.Tracking) _standIn.Tracking = client.Tracking;
        _isDeclaredNoted = false;
        int database = client.Database;
        _isReadOnly = isReadOnly;
        _database = database;
        IsAlone = WantsAlone = false;
    }

    /// <summary>It begins, or begins anew.</summary>
    public void Start()
    {
        WantsAlone = false;
        _shown.Drop();
        if (_standIn.Version != RespVersion.Resp2) _standIn.Version = RespVersion.Resp2;
        _standIn.Database = _database;
    }

    /// <summary>Has commands run on a worker's session of the store.</summary>
    public void Bind(StoreSession store, WorkerCounters counters)
    {
        _store = store;
        if (Home == store) return;
        _runner?.Dispose();
        _runner = NewRunner(store, counters);
        (Home, _homeCounters) = (store, counters);
    }

    /// <summary>Has commands run on another session of the store from here on.</summary>
    public void BeginSteps(StoreSession session)
    {
        Debug.Assert(_steppedRunner == null, "it leaves its worker once");
        _stepCounters = server.Counters.Borrow();
        _store = session;
        _steppedRunner = NewRunner(session, _stepCounters);
        _steppedRunner.Events.Effects.TakeOver(_runner!.Events.Effects);
        _stepWriter = server.Tracking.WriterOf(session.Slot);
    }

    /// <summary>Serves those who waited for what the steps have changed.</summary>
    public void ServeArrivals()
    {
        var context = _steppedRunner!.NewContext();
        context.Session = _client!;
        _steppedRunner.ServeArrivals(ref context);
    }

    /// <summary>Puts what the steps have done into the feed, while their keys are held.</summary>
    public void CloseEffects() => _steppedRunner!.Events.Effects.Close(_client);

    /// <summary>Ends those steps, if there were any.</summary>
    public void EndSteps()
    {
        _steppedRunner?.Dispose();
        _steppedRunner = null;
        _stepWriter = null;
        if (_stepCounters != null) server.Counters.GiveBack(_stepCounters);
        _stepCounters = null;
    }

    /// <summary>The script has ended: what it took of memory beyond the usual is given back.</summary>
    public void End()
    {
        _shown.Show();
        _script = null;
        _client = null;
        if (_standIn.Tracking != null) _standIn.Tracking = null;
        _arguments.Trim();
    }

    public void Dispose()
    {
        _runner?.Dispose();
        _output.Dispose();
        _arguments.Dispose();
    }

    /// <summary>redis.call and redis.pcall.</summary>
    public unsafe int Call(ref LuaCall call, bool isProtected)
    {
        if (call.Count == 0) return Fail(ref call, isProtected, ScriptErrors.NoCommand);
        if (!_arguments.TryCopy(ref call)) return Fail(ref call, isProtected, ScriptErrors.BadArgument);
        Argument* items = _arguments.Items;
        int count = _arguments.Count;
        if (Find(items, count) is not { } command)
            return FailCounted(ref call, isProtected, ScriptErrors.UnknownCommand);
        if (RefusalOf(command, count) is { } refusal) return Refuse(ref call, isProtected, command, refusal);
        var runner = _steppedRunner ?? _runner!;
        var context = runner.NewContext();
        context.Session = _standIn;
        if (DenialOf(ref context, command, items, count) is { } denial)
            return Refuse(ref call, isProtected, command, denial);
        if (_isReadOnly && command.MayChange) return Refuse(ref call, isProtected, command, ScriptErrors.ReadOnly);
        if (!IsAlone && !MayGoOn(ref context, command, items, count))
        {
            if (fate.HasWritten)
                throw new InvalidOperationException("A script uses a key that its text does not show.");
            WantsAlone = true;
            return call.Wait(Never);
        }

        if ((command.Flags & CommandFlags.DenyOom) != 0 && server.Store.HasNoRoomToBegin && !MayGoBeyond())
            return Refuse(ref call, isProtected, command, ScriptErrors.OverMemory);
        if ((command.Flags & CommandFlags.Write) != 0 && !fate.TryWrite())
            return Fail(ref call, isProtected, "ERR " + ScriptErrors.Killed);
        _output.Reply.Version = Version;
        Debug.Assert(_output.Buffer.Length == 0 && _output.ReferenceCount == 0, "the last reply was taken");
        if (_standIn.Tracking is { Remembers: true } tracking && (command.Flags & CommandFlags.ReadOnly) != 0)
            NoteDeclared(tracking);
        RunPart(runner, ref context, new QueuedCommand(command, items, count, null, null));
        if (IsAlone || fate.HasWritten) _shown.Show();      // it does not begin anew any more
        // What it took besides the call, so that scripts of large values are put aside as often as others.
        call.Spend(CallUnits + ((_arguments.Bytes + _output.Buffer.Length + _output.ReferencedBytes) >> 3));
        var value = ReplyValues.Take(machine, _output, server.Store, out var error);
        if (error == null) return call.Return(value);
        return isProtected ? errors.ReturnReply(ref call, error) : errors.RaiseReply(ref call, error);
    }

    /// <summary>Whether the client's user may make a call, whatever its number of arguments.</summary>
    /// <returns>Why that cannot be told; null: it is.</returns>
    public unsafe string? TryAskAccess(ref LuaCall call, out bool isAllowed)
    {
        isAllowed = true;
        if (!_arguments.TryCopy(ref call)) return ScriptErrors.BadArgument;
        if (Find(_arguments.Items, _arguments.Count) is not { } command) return ScriptErrors.NoSuchCommand;
        if (_client == null) return null;
        var args = new CommandArguments(_arguments.Items, _arguments.Count, null!, 0, 0, 0, null);
        isAllowed = _client.User.Rules.Check(command, args).IsAllowed;
        return null;
    }

    private void RunPart(CommandRunner runner, ref CommandContext context, in QueuedCommand queued)
    {
        if (_stepWriter == null || server.Tracking.ClientCount == 0)
        {
            runner.RunPart(ref context, queued);
            return;
        }

        // Elsewhere than in the client's turn: who writes is said for this call, since the session is then anybody's.
        _stepWriter.Begin(_client!);
        try
        {
            runner.RunPart(ref context, queued);
        }
        finally
        {
            _stepWriter.End();
        }
    }

    /// <summary>Notes KEYS once the script reads anything: its client may keep what it returns by them.</summary>
    private void NoteDeclared(ClientTracking tracking)
    {
        if (_isDeclaredNoted) return;
        _isDeclaredNoted = true;
        foreach (var key in Keys) server.Tracking.Remember(tracking, _store!.Key(key.Span));
        server.Tracking.EndRemembering(Keys.Count);
    }

    private int Fail(ref LuaCall call, bool isProtected, string error) =>
        isProtected ? call.Return(errors.NewTable(error)) : errors.Raise(ref call, error);

    private int FailCounted(ref LuaCall call, bool isProtected, string error)
    {
        byte[] text = Encoding.ASCII.GetBytes(error);
        var counts = _stepCounters ?? _homeCounters!;
        counts.Errors++;
        server.Counters.CountError(text.AsSpan(0, error.IndexOf(' ')));
        var table = errors.NewRefusal(text);
        return isProtected ? call.Return(table) : call.Error(table);
    }

    /// <summary>Why a script may not call a command; null: it may.</summary>
    private string? RefusalOf(Command command, int count)
    {
        if (command.Handler == null || !command.Takes(count)) return ScriptErrors.WrongArity;
        return (command.Flags & CommandFlags.NoScript) != 0 ? ScriptErrors.NotAllowed : null;
    }

    /// <summary>Why the client's user may not make a call; null: they may.</summary>
    private unsafe string? DenialOf(ref CommandContext context, Command command, Argument* items, int count)
    {
        if (_standIn.RightsVersion != server.Users.Version) _standIn.FollowUser();
        if (_standIn.Restriction is not { } rules) return null;
        context.Args.Begin(items, count, 0, 0, 0, null);
        var verdict = rules.Check(command, context.Args);
        if (verdict.IsAllowed) return null;
        AccessDenial.Note(_client!, AccessContext.Lua, verdict, command, context.Args);
        return "NOPERM ACL failure in script: " + AccessDenial.Reason(verdict, _standIn.User, command);
    }

    private int Refuse(ref LuaCall call, bool isProtected, Command command, string error)
    {
        var counts = _stepCounters ?? _homeCounters!;
        counts.ByCommand[command.Id].Rejected++;
        return FailCounted(ref call, isProtected, error);
    }

    /// <summary>Whether a script may take more than maxmemory: one that says so, and one that has changed something, so
    /// that nobody sees half of what it does. Up to a limit: it may have no end.</summary>
    private bool MayGoBeyond() =>
        (fate.HasWritten || (_script!.Flags & ScriptFlags.AllowOom) != 0)
        && !server.Store.IsOverBudgetBy(BeyondBytesMax);

    private unsafe Command? Find(Argument* items, int count)
    {
        ref readonly var entry = ref server.Commands.Find(items->Pointer, items->Length);
        if (entry.IsNone) return null;
        var command = server.Commands.All[entry.Number];
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

    private CommandRunner NewRunner(StoreSession store, WorkerCounters counters) =>
        new(server, store, counters, _output) { MonitorBuffer = _shown, ChecksParts = false };

    private static Session NewStandIn(KvServer server)
    {
        var session = new Session(id: 0, server, NoOwner.Instance) { Authenticated = true };
        session.Transaction = new Transaction(session, server.Store) { IsRunning = true };
        return session;
    }
}
