using System.Collections.Concurrent;

namespace Kv.Lua;

/// <summary>The names of events and library functions: one object each for all machines and chunks, so that a look-up
/// by such a name compares references.</summary>
internal static class CommonStrings
{
    private static readonly ConcurrentDictionary<LuaString, LuaString> Known = new(ByText.Instance);

    public static readonly LuaString Index = Add("__index"), NewIndex = Add("__newindex"), Call = Add("__call"),
        Add_ = Add("__add"),
        Sub = Add("__sub"), Mul = Add("__mul"), Div = Add("__div"), Mod = Add("__mod"), Pow = Add("__pow"),
            Unm = Add("__unm"), Len = Add("__len"),
        Concat = Add("__concat"), Eq = Add("__eq"), Lt = Add("__lt"), Le = Add("__le"), ToText = Add("__tostring"),
            Metatable = Add("__metatable"), Mode = Add("__mode");

    /// <summary>The one object for a name of the host's libraries.</summary>
    public static LuaString Add(string name)
    {
        var made = new LuaString(name).Share();
        return Known.GetOrAdd(made, made);
    }

    /// <summary>The known string with these bytes, or null.</summary>
    public static LuaString? Find(ReadOnlySpan<byte> bytes)
    {
        const int longest = 24;
        if (bytes.Length > longest) return null;
        return Known.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(bytes, out var found) ? found : null;
    }
}
