namespace Kv.Storage;

/// <summary>The update of a plain SET: these bytes, or this block, whatever was there.</summary>
internal readonly ref struct SetString(ReadOnlySpan<byte> value, Block block, long expiryMs) : IValueUpdate
{
    private readonly ReadOnlySpan<byte> _value = value;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        next.Kind = ValueKind.String;
        next.Length = _value.Length;
        next.Block = block;
        next.ExpiryMs = expiryMs;
        return Change.Replace;
    }

    public void Write(Span<byte> destination) => _value.CopyTo(destination);
}
