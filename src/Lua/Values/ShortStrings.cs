namespace Kv.Lua;

/// <summary>Makes strings for one script at a time; the short ones among the first are used again for the
/// next.</summary>
/// <remarks>
/// Nothing that a script had outlives it: its stack and globals are cleared, what it found is read-only
/// (<see cref="LuaMachine.ProtectGlobals"/>). So when it is over, whoever made its strings may give them other bytes.
/// Threads: one machine's.
/// </remarks>
public sealed class ShortStrings
{
    // What most keys, small values and numbers fit; some 10 KB at most.
    private const int StringsMax = 64, BytesMax = 88;

    private LuaString[] _made = [];
    private int _count, _used;

    /// <summary>A string of bytes, until <see cref="TakeBack"/>.</summary>
    public LuaString New(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > BytesMax || _used == StringsMax) return new LuaString(bytes);
        if (_used == _count) Make();
        LuaString text = _made[_used++];
        text.Change(bytes);
        return text;
    }

    /// <summary>The script is over: nobody has any of its strings.</summary>
    public void TakeBack() => _used = 0;

    /// <summary>Somebody keeps some of its strings: they stay what they are.</summary>
    public void LetGo() => (_made, _count, _used) = ([], 0, 0);

    private void Make()
    {
        if (_count == _made.Length) Array.Resize(ref _made, Math.Min(StringsMax, Math.Max(4, _count * 2)));
        _made[_count++] = LuaString.WithRoom(BytesMax);
    }
}
