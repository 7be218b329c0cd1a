using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A string as of one instant: a block is referred to, anything else copied. An absent key is empty.</summary>
/// <remarks>Writers go on meanwhile: a block that is referenced twice is never changed. Whoever takes a snapshot calls
/// <see cref="Forget"/> in the end.</remarks>
internal struct StringSnapshot : IValueRead
{
    private readonly StoreSession _session;
    private byte[] _copy;
    private Block _block;

    public StringSnapshot(StoreSession session)
    {
        _session = session;
        _copy = [];
    }

    public readonly ReadOnlySpan<byte> Bytes => _block.IsNone ? _copy : _block.Span;

    public readonly bool IsBlock => !_block.IsNone;

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Forget();
        // None if a writer came in between: then Read is called again.
        _block = value.Block;
        if (!_block.IsNone) _block.AddReference();
        else _copy = Copy(value);
    }

    /// <summary>Whether the value is still the one that was read; the key is held.</summary>
    public readonly bool IsSame(in ValueView value)
    {
        if (!value.Exists) return Bytes.IsEmpty;
        // A block that is referenced here, too, is not written to: one block has one content.
        return IsBlock ? value.Block == _block : !value.Block.IsNone
            ? false : Copy(value).AsSpan().SequenceEqual(_copy);
    }

    /// <summary>Gives the block back.</summary>
    public void Forget()
    {
        if (!_block.IsNone) _session.Release(_block);
        _block = default;
        _copy = [];
    }

    private static byte[] Copy(in ValueView value)
    {
        if (value.Kind != ValueKind.Integer) return value.Bytes.ToArray();
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        return digits[..NumberText.FormatInt64(value.Integer, digits)].ToArray();
    }
}
