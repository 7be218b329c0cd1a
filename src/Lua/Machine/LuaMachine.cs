using Kv.Lua.Compilation;
using Kv.Lua.Libraries;
using Kv.Lua.Libraries.Json;

namespace Kv.Lua;

/// <summary>How a piece of a script's run ended.</summary>
public enum LuaOutcome
{
    /// <summary>The script is done; <see cref="LuaMachine.Results"/> has its values.</summary>
    Done,

    /// <summary>The budget is used up: call <see cref="LuaMachine.Run"/> again.</summary>
    Suspended,

    /// <summary>A host's function waits (<see cref="LuaCall.Wait"/>): call <see cref="LuaMachine.Run"/> when it may go
    /// on.</summary>
    Waiting,

    /// <summary>The script ended with an error, <see cref="LuaMachine.Error"/>.</summary>
    Failed,
}

/// <summary>A Lua 5.1 machine: its globals, and the script that it runs.</summary>
/// <remarks>
/// A script is run in pieces: <see cref="Run"/> returns when its budget is used up, and goes on where it stopped when
/// called again.
/// Nothing of a script is ever on the thread's stack, so a machine may go on on another thread.
/// Threads: one at a time. Compiled chunks may be shared by any number of machines.
/// </remarks>
public sealed class LuaMachine
{
    private readonly MemoryWalk _walk = new();
    private readonly ShortStrings _shortStrings = new();
    private readonly ReplyTables _replyTables;
    private Coroutine _main;

    public LuaMachine(LuaLimits? limits = null)
    {
        Limits = limits ?? new LuaLimits();
        Account = new MemoryAccount(this, Limits.MemoryBytes);
        Upkeep = new Upkeep(this, _walk);
        _replyTables = new ReplyTables(Account);
        Globals = new LuaTable(Account);
        StringMetatable = new LuaTable(Account);
        Current = _main = new Coroutine(Account);
        Random = new RandomSequence();
        Writer = new TextParts(Account);
        StandardLibraries.AddTo(this);
    }

    public LuaLimits Limits { get; }

    /// <summary>What scripts find by name.</summary>
    public LuaTable Globals { get; }

    /// <summary>The values of the script that is done.</summary>
    public ReadOnlySpan<LuaValue> Results => _main.Stack.AsSpan(0, _main.Top);

    /// <summary>What the script failed with.</summary>
    public LuaValue Error { get; internal set; } = LuaValue.Nil;

    /// <summary>The line of the script's function that was running when the last error was raised.</summary>
    public int ErrorLine { get; internal set; }

    /// <summary>Bytes of all that the machine holds, measured a while ago, and what was made since.</summary>
    public long MemoryBytes => Account.Bytes;

    /// <summary>Runs work of the machine on another thread: compiling a long text for <c>loadstring</c>, whose length
    /// in bytes it is given. Null: the text is compiled at once, and nobody else has a turn meanwhile.</summary>
    public Action<int, Action>? Elsewhere { get; set; }

    /// <summary>What <c>pcall</c> gives of an error that it has caught; null: the error.</summary>
    /// <remarks>Hosts that set it have the <c>pcall</c> of Redis, which without arguments calls <c>true</c>, the first
    /// of its own results; Lua's is a bad argument.</remarks>
    public Func<LuaValue, LuaValue>? CaughtBy { get; set; }

    /// <summary>The sequence of math.random.</summary>
    public RandomSequence Random { get; }

    /// <summary>Bytes of the functions that are kept, about.</summary>
    public long KeptBytes => Kept.Bytes;

    /// <summary>Whether a script has changed something that the kept functions use: call
    /// <see cref="ForgetKept"/>.</summary>
    public bool HasChangedKept => Kept.HasChanged;

    internal KeptFunctions Kept { get; } = new();

    internal MemoryAccount Account { get; }

    /// <summary>What is to be done before the script goes on.</summary>
    internal Upkeep Upkeep { get; }

    internal LuaTable StringMetatable { get; }

    internal Coroutine Current { get; set; }

    /// <summary>What matches patterns, one at a time.</summary>
    internal PatternMatch Pattern { get; } = new();

    /// <summary>What libraries write strings with, one at a time.</summary>
    internal TextParts Writer { get; }

    /// <summary>Library functions that are made once for the machine, and hold values while they run.</summary>
    internal List<StandingFunction> Standing { get; } = [];

    /// <summary>A library function that is running and holds much; one that is put aside is found in its
    /// frame.</summary>
    internal Continuation? Running { get; set; }

    /// <summary>What is compiled on another thread, while a script waits for it.</summary>
    internal LoadedElsewhere? Loading { get; set; }

    /// <summary>Those of the module cjson itself; a script begins with what they are in the beginning.</summary>
    internal JsonSettings JsonSettings { get; } = new();

    /// <summary>Loop turns and calls until the run is put aside.</summary>
    internal long Budget;

    internal LuaValue PendingError = LuaValue.Nil;

    /// <summary>What a host's function wants called: who goes on then, where the function (or what a coroutine is
    /// given) lies, how many arguments.</summary>
    internal (Continuation Continuation, Coroutine? Coroutine, int At, int Count) Invoked;

    /// <summary>Results for the host's function on top of the frames, which the budget kept from going on: how many,
    /// and where.</summary>
    internal (int Count, int At)? Pending;

    /// <summary>Whether an error is being passed on.</summary>
    internal bool IsRaising;

    /// <summary>Whether nobody took an error.</summary>
    internal bool HasFailed;

    /// <summary>How often errors that host's functions raised have ended functions: whoever calls something that may
    /// have sees by it whether its frame is still there.</summary>
    internal int Unwound;

    /// <summary>Whether a host's function wants the host to do something before it goes on.</summary>
    internal bool IsWaiting;

    /// <summary>The function that <c>pairs</c> gives out; a loop over it is run without calling it.</summary>
    internal LuaBuiltin? NextFunction { get; set; }

    /// <summary>Likewise that of <c>ipairs</c>.</summary>
    internal LuaBuiltin? IndexIterator { get; set; }

    /// <summary>Whether a host's function is running. What the machine itself finds wrong meanwhile has no place in the
    /// script.</summary>
    internal bool IsInHost;

    /// <summary>Why the script is to end; null: it may go on.</summary>
    private string? _stopReason;

    /// <summary>Compiles a chunk.</summary>
    /// <param name="text">The source.</param>
    /// <param name="chunkName">"@file" or "=name" give errors that name; else errors show the text's first
    /// line.</param>
    /// <exception cref="LuaException">The text is no Lua; the message has place and word.</exception>
    public static LuaChunk Compile(ReadOnlySpan<byte> text, string chunkName) =>
        LuaChunk.Of(LuaText.Read(text, chunkName));

    /// <summary>A new table, charged to this machine.</summary>
    public LuaTable NewTable(int arraySize = 0, int hashSize = 0) => new(Account, arraySize, hashSize);

    /// <summary>A new table for what the host tells a script. The host must not keep it for longer than until the next
    /// script begins: then it may become another's.</summary>
    public LuaTable NewReplyTable(int arraySize, int hashSize) => _replyTables.New(arraySize, hashSize);

    /// <summary>A new string of bytes, charged to this machine. The host must not keep it for longer than until the
    /// next script begins: then it may become another.</summary>
    public LuaString NewString(ReadOnlySpan<byte> bytes)
    {
        Account.Charge(LuaString.OverheadBytes + bytes.Length);
        return _shortStrings.New(bytes);
    }

    /// <summary>Makes everything that scripts share read-only, and a global that is not there an error, as in the
    /// reference: what one script does is not seen by the next. Call it when the host has added its own functions;
    /// what the host sets in <see cref="Globals"/> afterwards (KEYS, ARGV) is the script's own to change.</summary>
    public void ProtectGlobals() => GlobalProtection.Apply(this);

    /// <summary>Begins to run a chunk; what ran before is given up.</summary>
    public void Begin(LuaChunk chunk, params ReadOnlySpan<LuaValue> arguments)
    {
        ArgumentNullException.ThrowIfNull(chunk);
        Begin(chunk.Main, arguments);
    }

    /// <summary>Begins to call a function; what ran before is given up.</summary>
    public void Begin(LuaFunction function, params ReadOnlySpan<LuaValue> arguments)
    {
        GiveUp();
        _main.EnsureStack(arguments.Length + 1 + Coroutine.Spare);
        _main.Stack[0] = function;
        arguments.CopyTo(_main.Stack.AsSpan(1));
        Calls.Call(this, 0, arguments.Length, 0, -1, After.End);
    }

    /// <summary>Runs the script on.</summary>
    /// <param name="budget">Turns of loops and calls until it is put aside; one is some 10 to 100 ns.</param>
    public LuaOutcome Run(long budget)
    {
        Budget = Math.Max(1, budget);
        IsWaiting = false;
        // Ends: each round passes an error to a pcall, of which there are finitely many, or runs on, which the budget
        // ends, also where the machine's upkeep comes in between.
        while (true)
        {
            try
            {
                if (_stopReason is { } reason) throw new LuaException(reason) { WantsPlace = true, IsFinal = true };
                if (Upkeep.IsDue && !Upkeep.TryFinish()) return LuaOutcome.Suspended;
                var outcome = Interpreter.Execute(this);
                if (outcome != LuaOutcome.Suspended || !Upkeep.IsDue) return outcome;
                continue;
            }
            catch (LuaException error)
            {
                Running = null;
                CancelLoading();
                if (!Errors.TryCatch(this, error)) return LuaOutcome.Failed;
            }
            catch (OutOfMemoryException)
            {
                if (!Errors.TryCatch(this, new LuaException("not enough memory"))) return LuaOutcome.Failed;
            }

            if (Current.Depth == 0) return HasFailed ? LuaOutcome.Failed : LuaOutcome.Done;
        }
    }

    /// <summary>Keeps functions that the script has made, with all that they use, so that later ones may begin with
    /// them instead of making them anew.</summary>
    /// <param name="bytesMax">The most that they may take.</param>
    /// <returns>False: they would find what earlier calls have left in variables or coroutines; or it is too
    /// much.</returns>
    public bool TryKeep(IReadOnlyCollection<LuaFunction> functions, long bytesMax)
    {
        if (!Kept.TryAdd(functions, bytesMax)) return false;
        _shortStrings.LetGo();
        _replyTables.LetGo();
        return true;
    }

    /// <summary>Lets go of the functions that are kept.</summary>
    public void ForgetKept() => Kept.Clear();

    /// <summary>Lets go of all that the last script held, globals aside, as the next beginning does, too; and measures
    /// what is left. For a machine that may be idle for long.</summary>
    public void Forget()
    {
        GiveUp();
        Account.Measure();
        _walk.Trim();
    }

    private void GiveUp()
    {
        _stopReason = null;
        Error = LuaValue.Nil;
        Pending = null;
        (IsInHost, IsWaiting, IsRaising, HasFailed) = (false, false, false, false);
        Running = null;
        CancelLoading();
        Upkeep.GiveUp();
        JsonSettings.Reset();
        Writer.Clear();
        Pattern.Clear();
        foreach (var standing in Standing) standing.Clear();
        _shortStrings.TakeBack();
        _replyTables.TakeBack();
        if (!_main.TryReuse()) _main = new Coroutine(Account) { Status = CoroutineStatus.Running };
        Current = _main;
    }

    private void CancelLoading()
    {
        Loading?.Cancel();
        Loading = null;
    }

    /// <summary>Ends the script with an error that no pcall takes, when it is run on.</summary>
    public void Stop(string reason) => _stopReason = reason;

    /// <summary>Whether the script that began is neither done nor failed.</summary>
    public bool IsRunning => _main.Depth != 0;

    /// <summary>The place of the script's innermost function, "chunk:line:", or nothing inside of a host's.</summary>
    internal string Place(int level = 1)
    {
        Coroutine coroutine = Current;
        int depth = coroutine.Depth - level;
        if (depth < 0) return "";
        ref Frame frame = ref coroutine.Frames[depth];
        if (frame.Closure is not { } closure) return "";
        Prototype prototype = closure.Prototype;
        return $"{prototype.ChunkName}:{prototype.Lines[Math.Max(0, frame.Pc - 1)]}: ";
    }

    /// <summary>The line of the innermost function of the script.</summary>
    internal int Line()
    {
        Coroutine coroutine = Current;
        for (int depth = coroutine.Depth - 1; depth >= 0; depth--)
        {
            ref Frame frame = ref coroutine.Frames[depth];
            if (frame.Closure is { } closure) return closure.Prototype.Lines[Math.Max(0, frame.Pc - 1)];
        }

        return 0;
    }

    /// <summary>What the script calls the function that it is calling, as in "field 'rep'".</summary>
    internal string? NameOfCalled()
    {
        if (Current.Depth == 0) return null;
        ref Frame frame = ref Current.Frames[Current.Depth - 1];
        if (frame.Closure is not { } closure || frame.Pc == 0) return null;
        Instruction call = closure.Prototype.Code[frame.Pc - 1];
        return closure.Prototype.NameOf(frame.Pc - 1, call.A);
    }

    /// <summary>Bytes of all that the script can reach.</summary>
    internal long MeasureReachable()
    {
        BeginMeasure();
        long all = long.MaxValue;
        _walk.TryFinish(ref all);
        Upkeep.Measured();
        return _walk.Bytes;
    }

    /// <summary>Begins a walk over all that the script can reach.</summary>
    internal void BeginMeasure()
    {
        // Results for a function that was put aside lie above all that its coroutine knows of.
        Current.HeldEnd = Pending is { } pending ? pending.At + pending.Count : 0;
        _walk.Begin();
        _walk.Visit(Globals);
        _walk.Visit(StringMetatable);
        _walk.Visit(new LuaValue(Current));
        _walk.Visit(new LuaValue(_main));
        _walk.Visit(PendingError);
        _walk.Add(Writer.Bytes);
        foreach (var standing in Standing) standing.Visit(_walk);
        Kept.Visit(_walk);
        Running?.Visit(_walk);
    }
}
