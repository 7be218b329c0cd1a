namespace Kv.Lua;

/// <summary>Finds strings by their bytes, before there is a string of them.</summary>
internal sealed class ByText : IEqualityComparer<LuaString>, IAlternateEqualityComparer<ReadOnlySpan<byte>, LuaString>
{
    public static readonly ByText Instance = new();

    public bool Equals(LuaString? x, LuaString? y) => x is null ? y is null : x.Equals(y);

    public int GetHashCode(LuaString obj) => obj.Hash;

    public bool Equals(ReadOnlySpan<byte> alternate, LuaString other) => alternate.SequenceEqual(other.Span);

    public int GetHashCode(ReadOnlySpan<byte> alternate) => LuaString.HashOf(alternate);

    public LuaString Create(ReadOnlySpan<byte> alternate) => new(alternate);
}
