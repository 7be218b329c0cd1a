using System.Diagnostics;
using System.Text;
using Kv.Lua;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>What a script's machine runs: the text of EVAL; or that of a library, and then one of its
/// functions.</summary>
/// <remarks>Threads: the one that runs the script, but for <see cref="Stop"/>.</remarks>
internal sealed class ScriptProgram
{
    /// <summary>Turns of loops and calls between two looks at the clock: some 50 us.</summary>
    private const long UnitsPerLook = 2000;

    /// <summary>A machine of which more is left has nothing to do with the last script before it waits for the
    /// next.</summary>
    private const long IdleBytes = 1 << 20;

    private static readonly LuaString KeysName = LuaString.Name("KEYS"), ArgvName = LuaString.Name("ARGV");

    private readonly TimeProvider _time;
    private readonly LuaMachine _machine;
    private readonly RaisedErrors _errors;
    private readonly ScriptFate _fate;
    private readonly RedisLibrary _library;
    private readonly KeptLibraries _kept;
    private readonly List<LuaString> _keys = [], _argv = [];
    private readonly ShortStrings _arguments = new();
    private readonly LuaTable _keyTable, _argvTable;
    private ScriptCode? _script;
    private List<FunctionRegistration>? _registered;
    private LuaFunction? _body;
    private long _argumentBytes;
    private bool _isLoading;

    public ScriptProgram(KvServer server, FunctionLibraries functions, LuaMachine machine, ScriptCalls commands,
        RaisedErrors errors, ScriptFate fate)
    {
        _time = server.Time;
        _machine = machine;
        _errors = errors;
        _fate = fate;
        (_keyTable, _argvTable) = (machine.NewTable(), machine.NewTable());
        _kept = new KeptLibraries(machine, functions);
        _library = new RedisLibrary(server, commands, errors, Register);
        _library.AddTo(machine);
        machine.ProtectGlobals();
    }

    public IReadOnlyList<LuaString> Keys => _keys;

    public IReadOnlyList<LuaString> Argv => _argv;

    public LuaValue Result => _machine.Results.IsEmpty ? LuaValue.Nil : _machine.Results[0];

    public LuaValue Error => _machine.Error;

    public long MemoryBytes => _machine.MemoryBytes;

    /// <summary>Takes the arguments of a script.</summary>
    /// <param name="keys">How many of those from here on are keys; the rest are the script's own.</param>
    public void TakeArguments(ref CommandContext context, int keys)
    {
        Debug.Assert(keys >= 0 && keys <= context.Args.Remaining, "the keys are arguments");
        _keys.Clear();
        _argv.Clear();
        _arguments.TakeBack();
        _argumentBytes = 0;
        for (int i = 0; i < keys; i++) _keys.Add(Take(ref context));
        while (context.Args.Remaining > 0) _argv.Add(Take(ref context));
    }

    private LuaString Take(ref CommandContext context)
    {
        var text = _arguments.New(context.Args.NextBytes());
        _argumentBytes += text.Length;
        return text;
    }

    /// <summary>Begins a script, with nothing of what ran before.</summary>
    public void Start(ScriptCode script)
    {
        _script = script;
        if (script is LibraryFunction function)
        {
            _body = _kept.Find(function);
            if (_body == null) BeginLoading(script.Chunk);
            else BeginFunction(_body);
        }
        else
        {
            if (_isLoading) EndLoading();       // of a library whose run was given up
            _machine.Globals[KeysName] = Fill(_keyTable, _keys);
            _machine.Globals[ArgvName] = Fill(_argvTable, _argv);
            _machine.Begin(script.Chunk);
        }

        KeepKilled();
    }

    /// <summary>Runs a part of it, until the clock should be looked at.</summary>
    public LuaOutcome Run()
    {
        var outcome = _machine.Run(UnitsPerLook);
        bool goesOn = outcome == LuaOutcome.Done && _isLoading && _registered == null && TryBeginFunction();
        return goesOn ? _machine.Run(UnitsPerLook) : outcome;
    }

    /// <summary>Has it end with an error soon. From any thread.</summary>
    public void Stop(string reason) => _machine.Stop(reason);

    /// <summary>The script has ended.</summary>
    public void End()
    {
        if (_script is LibraryFunction function) _kept.LookAtChange(function.Text);
        _script = null;
        _body = null;
        if (_machine.MemoryBytes + _argumentBytes > IdleBytes) Forget();
    }

    /// <summary>The reply for the error that it has ended with.</summary>
    public byte[] ErrorText() => ResultReply.OneLine([.. ErrorMessage(), .. Encoding.Latin1.GetBytes(
        $" script: {_script!.Name}, on {_script.Place}:{_machine.ErrorLine}.")]);

    /// <summary>Runs a library's text once, for what it registers.</summary>
    /// <returns>Why it cannot; null: it has.</returns>
    public string? Load(LuaChunk chunk, List<FunctionRegistration> registered, LoadLimits limits)
    {
        _registered = registered;
        _machine.Elsewhere = null;      // this is a thread for such texts already
        long begin = _time.GetTimestamp();
        BeginLoading(chunk);
        LuaOutcome outcome;
        // Ends: with the text, or its time.
        while ((outcome = Run()) == LuaOutcome.Suspended)
        {
            limits.Cancel.ThrowIfCancellationRequested();
            if (_time.GetElapsedTime(begin).TotalMilliseconds > limits.Ms) return ScriptErrors.LoadTimeout;
        }

        return outcome == LuaOutcome.Failed ? Encoding.Latin1.GetString(ErrorMessage()) : null;
    }

    /// <summary>redis.register_function.</summary>
    private int Register(ref LuaCall call)
    {
        if (FunctionRegistration.Read(ref call, out var found) is { } error) return _errors.Raise(ref call, error);
        if (_registered == null)
        {
            if (_script is LibraryFunction function && function.NameText.Equals(found.Name)) _body = found.Body;
            _kept.Add(found);
            return call.Return();
        }

        if (_registered.Exists(other => other.Name.Equals(found.Name)))
            return _errors.Raise(ref call, "ERR Function already exists in the library");
        _registered.Add(found);
        return call.Return();
    }

    private void BeginLoading(LuaChunk chunk)
    {
        _isLoading = true;
        _kept.Begin();
        _library.Show(_machine, isLoading: true);
        _machine.Globals[KeysName] = _machine.Globals[ArgvName] = LuaValue.Nil;
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
        Debug.Assert(_isLoading, "a library is loaded before its function runs");
        _kept.End(((LibraryFunction)_script!).Text);
        if (_body == null)
        {
            EndLoading();
            return false;
        }

        BeginFunction(_body);
        KeepKilled();
        return true;
    }

    private void BeginFunction(LuaFunction body)
    {
        if (_isLoading) EndLoading();
        _machine.Begin(body, Fill(_keyTable, _keys), Fill(_argvTable, _argv));
    }

    private void Forget()
    {
        _machine.Globals[KeysName] = _machine.Globals[ArgvName] = LuaValue.Nil;
        foreach (var list in (ReadOnlySpan<List<LuaString>>)[_keys, _argv])
        {
            list.Clear();
            list.TrimExcess();
        }

        _keyTable.Clear();
        _argvTable.Clear();

        _machine.Forget();
    }

    /// <summary>What has begun anew is still to end.</summary>
    private void KeepKilled()
    {
        if (_fate.IsKilled) _machine.Stop(ScriptErrors.Killed);
    }

    /// <summary>Makes a table a list of texts, whatever the last script did to it.</summary>
    private static LuaTable Fill(LuaTable table, List<LuaString> texts)
    {
        table.Clear();
        for (int i = 0; i < texts.Count; i++) table[i + 1] = texts[i];
        return table;
    }

    private byte[] ErrorMessage() =>
        _fate.IsKilled ? Encoding.Latin1.GetBytes("ERR " + ScriptErrors.Killed)
            : RaisedErrors.MessageOf(_machine.Error);
}
