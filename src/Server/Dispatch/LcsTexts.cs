using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Two strings as of one instant: short ones copied, those in blocks by reference. An absent key is empty.</summary>
internal struct LcsTexts(StoreSession session) : IManyRead
{
    private byte[] _first = [], _second = [];
    private Block _firstBlock, _secondBlock;

    /// <summary>Whether one of the keys holds something else than a string.</summary>
    public bool HasOtherType { get; private set; }

    public readonly ReadOnlySpan<byte> First => _firstBlock.IsNone ? _first : _firstBlock.Span;

    public readonly ReadOnlySpan<byte> Second => _secondBlock.IsNone ? _second : _secondBlock.Span;

    /// <summary>Forgets both, and gives their blocks back.</summary>
    public void Restart()
    {
        if (!_firstBlock.IsNone) session.Release(_firstBlock);
        if (!_secondBlock.IsNone) session.Release(_secondBlock);
        _firstBlock = _secondBlock = default;
        HasOtherType = false;
        _first = _second = [];
    }

    /// <inheritdoc/>
    public void Read(int index, in ValueView value)
    {
        if (!value.Exists) return;
        HasOtherType |= value.Type != DataType.String;
        if (HasOtherType) return;

        // None where a writer came in between: then both are read again.
        var block = value.Block;
        if (!block.IsNone) block.AddReference();
        byte[] text = block.IsNone ? Copy(value) : [];
        if (index == 0) (_first, _firstBlock) = (text, block);
        else (_second, _secondBlock) = (text, block);
    }

    private static byte[] Copy(in ValueView value)
    {
        if (value.Kind != ValueKind.Integer) return value.Bytes.ToArray();
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        return digits[..NumberText.FormatInt64(value.Integer, digits)].ToArray();
    }
}
