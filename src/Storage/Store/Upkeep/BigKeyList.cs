using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The largest of the keys that it is offered, by memory or by elements.</summary>
/// <remarks>Threads: one. Cost: a compare for a key that is too small, else some 100 ns.</remarks>
internal sealed class BigKeyList(bool byElements)
{
    private readonly BigKey[] _keys = new BigKey[BigKeys.KeptMax];
    private int _count, _least;

    /// <summary>A key is taken if it has more than this.</summary>
    public long Threshold => _count < _keys.Length ? -1 : WorthOf(_keys[_least].Size);

    public ReadOnlySpan<BigKey> Keys => _keys.AsSpan(0, _count);

    /// <summary>Memory, or elements.</summary>
    public long WorthOf(in KeySize size) => byElements ? size.Elements : size.Bytes;

    /// <summary>Takes a key for which there is room, or that is larger than the smallest one. Of one that is here
    /// already, the size.</summary>
    public void Offer(BigKey key)
    {
        if (WorthOf(key.Size) <= Threshold) return;
        int at = Array.FindIndex(_keys, 0, _count, key.IsSameKey);
        if (at < 0) at = _count < _keys.Length ? _count++ : _least;
        _keys[at] = key;
        _least = 0;
        for (int i = 1; i < _count; i++)
            if (WorthOf(_keys[i].Size) < WorthOf(_keys[_least].Size)) _least = i;
        Debug.Assert(_least < _count, "the smallest is one of them");
    }

    public void Clear()
    {
        Array.Clear(_keys);
        _count = _least = 0;
    }
}
