using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>Functions of libraries whose texts have run on a machine, for the next calls on it.</summary>
/// <remarks>
/// Workers have machines of their own, and a function may run on any: so every call is to find the variables of its
/// library as they were loaded. Those of a text that changes none of them need not be made anew. Threads: the
/// machine's.
/// </remarks>
internal sealed class KeptLibraries(LuaMachine machine, FunctionLibraries libraries)
{
    // Less than a machine may be left with (ScriptProgram).
    private const long BytesMax = 512 * 1024;

    private readonly Dictionary<LibraryText, Dictionary<LuaString, LuaFunction>> _bodies = [];
    private readonly Dictionary<LuaString, LuaFunction> _registered = [];
    private object? _version;

    /// <summary>Finds what a function is on this machine.</summary>
    public LuaFunction? Find(LibraryFunction function)
    {
        LookAtChange(function.Text);
        if (_version != libraries.Version) Forget();
        return _bodies.TryGetValue(function.Text, out var bodies) ? bodies.GetValueOrDefault(function.NameText) : null;
    }

    /// <summary>The text of a library begins to run.</summary>
    public void Begin() => _registered.Clear();

    /// <summary>It has registered a function.</summary>
    public void Add(in FunctionRegistration function) => _registered[function.Name] = function.Body;

    /// <summary>It has registered all: they are kept, if they can be.</summary>
    public void End(LibraryText text)
    {
        if (!text.HasState)
        {
            if (machine.TryKeep(_registered.Values, BytesMax - machine.KeptBytes)) _bodies[text] = new(_registered);
            else if (machine.KeptBytes > 0) Forget();       // it may be the others that are too much: the next time
            else text.HasState = true;
        }

        _registered.Clear();
    }

    /// <summary>A function has ended, or is begun anew.</summary>
    public void LookAtChange(LibraryText text)
    {
        if (!machine.HasChangedKept) return;
        text.HasState = true;
        Forget();
    }

    private void Forget()
    {
        _version = libraries.Version;
        _bodies.Clear();
        machine.ForgetKept();
    }
}
