using System.Diagnostics;
using System.Text;
using Kv.Lua;
using Kv.Server.Effects;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>The libraries of a server and their functions.</summary>
/// <param name="commands">Those that functions call.</param>
/// <param name="load">Runs a library's text: <see cref="FunctionLibrary.Read"/>.</param>
/// <param name="charge">Accounts for what is kept.</param>
/// <remarks>Threads: any. What is there is replaced whole under <see cref="_changes"/>; looking up takes no
/// lock.</remarks>
internal sealed class FunctionLibraries(CommandTable commands,
    Func<LuaChunk, List<FunctionRegistration>, LoadLimits, string?> load, Action<long> charge)
{
    private readonly Lock _changes = new();
    private volatile Content _now = new([], new Dictionary<string, LibraryFunction>());

    /// <summary>Gets what changes; null: nobody wants it.</summary>
    public Feed? Feed { get; set; }

    /// <summary>In the order in which they came.</summary>
    public IReadOnlyList<FunctionLibrary> All => _now.Libraries;

    public int FunctionCount => _now.Functions.Count;

    public long Bytes => _now.Libraries.Sum(library => library.Bytes);

    /// <summary>Another object after each change.</summary>
    public object Version => _now;

    /// <summary>Finds a function that is to be called.</summary>
    public LibraryFunction? Find(ReadOnlySpan<byte> name) =>
        _now.Functions.GetValueOrDefault(Encoding.Latin1.GetString(name));

    /// <summary>Adds a library.</summary>
    /// <param name="replaces">Whether it may take the place of one of its name.</param>
    /// <returns>Its name.</returns>
    /// <exception cref="ScriptRefusedException">It is none, or something of it is there already; the message is the
    /// reply, and nothing has changed.</exception>
    public string Add(ReadOnlySpan<byte> text, bool replaces, LoadLimits limits)
    {
        string name = FunctionLibrary.ReadName(text, out _);
        if (!replaces) CheckIsNew(name);
        var library = FunctionLibrary.Read(text, commands, load, limits);      // outside of the lock: it takes its time
        lock (_changes)
        {
            if (!replaces) CheckIsNew(name);
            Publish([.. _now.Libraries.Where(other => other.Name != name), library]);
            var effects = new EffectBytes();
            AddLoad(effects, library);
            Say(effects);
        }

        return name;
    }

    /// <summary>Reads the texts of several libraries.</summary>
    /// <param name="texts">With their first lines.</param>
    /// <exception cref="ScriptRefusedException">One is none, or two do not go together, or they take too long to load;
    /// the message is the reply.</exception>
    public List<FunctionLibrary> Read(IReadOnlyList<byte[]> texts, LoadLimits limits)
    {
        long begin = Stopwatch.GetTimestamp();
        var libraries = new List<FunctionLibrary>();
        foreach (byte[] text in texts)
        {
            string name = FunctionLibrary.ReadName(text, out _);
            if (libraries.Exists(other => other.Name == name))
                throw new ScriptRefusedException($"ERR Library '{name}' already exists");
            libraries.Add(FunctionLibrary.Read(text, commands, load, limits));
            FunctionsOf(libraries);
            if (Stopwatch.GetElapsedTime(begin).TotalMilliseconds > limits.TogetherMs)
                throw new ScriptRefusedException(ScriptErrors.LoadTimeout);
        }

        return libraries;
    }

    /// <summary>Adds libraries, at one instant.</summary>
    /// <exception cref="ScriptRefusedException">Something of them is there already; the message is the reply, and
    /// nothing has changed.</exception>
    public void Add(List<FunctionLibrary> libraries, LibraryPolicy policy)
    {
        lock (_changes)
        {
            bool IsNamedAnew(FunctionLibrary old) => libraries.Exists(library => library.Name == old.Name);
            IEnumerable<FunctionLibrary> stay = policy == LibraryPolicy.Flush ? [] : _now.Libraries;
            if (policy == LibraryPolicy.Append && stay.FirstOrDefault(IsNamedAnew) is { } twice)
                throw new ScriptRefusedException($"ERR Library {twice.Name} already exists");
            Publish([.. stay.Where(library => !IsNamedAnew(library)), .. libraries]);
            var effects = new EffectBytes();
            if (policy == LibraryPolicy.Flush) Add(effects, "FLUSH"u8.ToArray());
            foreach (var library in libraries) AddLoad(effects, library);
            Say(effects);
        }
    }

    /// <returns>False: there is none of the name.</returns>
    public bool Remove(string name)
    {
        lock (_changes)
        {
            if (!Has(name)) return false;
            Publish([.. _now.Libraries.Where(library => library.Name != name)]);
            Say("DELETE"u8.ToArray(), Encoding.Latin1.GetBytes(name));
            return true;
        }
    }

    public void Clear()
    {
        lock (_changes)
        {
            Publish([]);
            Say("FLUSH"u8.ToArray());
        }
    }

    private void Say(params ReadOnlySpan<byte[]> words)
    {
        var effects = new EffectBytes();
        Add(effects, words);
        Say(effects);
    }

    private void Say(EffectBytes effects)
    {
        Debug.Assert(_changes.IsHeldByCurrentThread, "what is done is said in its order");
        if (!effects.IsEmpty && Feed is { IsOn: true } feed) feed.AddOther(effects);
    }

    // REPLACE, and after it is there: a snapshot may have it, too.
    private static void AddLoad(EffectBytes effects, FunctionLibrary library) =>
        Add(effects, "LOAD"u8.ToArray(), "REPLACE"u8.ToArray(), library.Code);

    private static void Add(EffectBytes effects, params ReadOnlySpan<byte[]> words)
    {
        effects.Begin(EffectBytes.NoDatabase, 1 + words.Length);
        effects.Add("FUNCTION"u8);
        foreach (byte[] word in words) effects.Add(word);
        effects.End();
    }

    private bool Has(string name) => _now.Libraries.Any(library => library.Name == name);

    private void CheckIsNew(string name)
    {
        if (Has(name)) throw new ScriptRefusedException($"ERR Library '{name}' already exists");
    }

    private void Publish(FunctionLibrary[] libraries)
    {
        Debug.Assert(_changes.IsHeldByCurrentThread, "libraries change one after another");
        var functions = FunctionsOf(libraries);
        long before = Bytes;
        _now = new Content(libraries, functions);
        charge(Bytes - before);
    }

    private static Dictionary<string, LibraryFunction> FunctionsOf(IEnumerable<FunctionLibrary> libraries)
    {
        // As the reference has it: libraries differ by case, functions do not.
        var functions = new Dictionary<string, LibraryFunction>(StringComparer.OrdinalIgnoreCase);
        foreach (var function in libraries.SelectMany(library => library.Functions))
        {
            if (!functions.TryAdd(function.Name, function))
                throw new ScriptRefusedException($"ERR Function {function.Name} already exists");
        }

        return functions;
    }

    private sealed record Content(FunctionLibrary[] Libraries, Dictionary<string, LibraryFunction> Functions);
}
