using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Two strings as of one instant. An absent key is empty.</summary>
internal struct LcsTexts(StoreSession session) : IManyRead
{
    private StringSnapshot _first = new(session), _second = new(session);

    /// <summary>Whether one of the keys holds something else than a string.</summary>
    public bool HasOtherType { get; private set; }

    public readonly ReadOnlySpan<byte> First => _first.Bytes;

    public readonly ReadOnlySpan<byte> Second => _second.Bytes;

    /// <summary>Forgets both, and gives their blocks back.</summary>
    public void Restart()
    {
        _first.Forget();
        _second.Forget();
        HasOtherType = false;
    }

    /// <inheritdoc/>
    public void Read(int index, in ValueView value)
    {
        Debug.Assert(index is 0 or 1, "two strings are compared");
        if (!value.Exists) return;
        HasOtherType |= value.Type != DataType.String;
        if (HasOtherType) return;
        if (index == 0) _first.Read(value);
        else _second.Read(value);
    }
}
