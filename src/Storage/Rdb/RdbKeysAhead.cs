using System.Diagnostics;

namespace Kv.Storage;

//    buffer   |  done  |  item  | item | item | item | ... not looked at yet ... |
//                      ^ position                    ^ at

/// <summary>Finds the keys that a reader will come to next, so that what they need is fetched meanwhile: else most of
/// a load is waiting for one bucket of the index after another.</summary>
/// <remarks>It understands strings with or without a time, and stops at all else until the reader is past it. Nothing
/// hangs on what it finds.</remarks>
internal unsafe struct RdbKeysAhead
{
    /// <summary>As many as fetches are on their way at once, and some.</summary>
    private const int Distance = 12;

    private long _at;
    private int _keys;

    /// <summary>Looks at what comes next.</summary>
    /// <param name="bytes">What has not been read.</param>
    /// <param name="position">Where in the file it begins: at an item.</param>
    public void Look(byte* bytes, long count, long position, MemoryBudget budget, IRdbSink sink)
    {
        if (_at < position) (_at, _keys) = (position, 0);
        Debug.Assert(_at - position <= count, "it has looked at no more than there is");
        // Ends: at the distance, or at what it does not understand.
        while (_keys < Distance)
        {
            var input = new RdbInput(bytes + (_at - position), (int)Math.Min(count - (_at - position), int.MaxValue),
                budget, Store.ValueBytesMax);
            if (!TryPass(ref input, sink)) return;
            _at += input.Position;
            _keys++;
        }
    }

    /// <summary>The reader has come to a key.</summary>
    public void Pass()
    {
        if (_keys > 0) _keys--;
    }

    private static bool TryPass(ref RdbInput input, IRdbSink sink)
    {
        if (!input.TryReadByte(out byte first)) return false;
        if (first == (byte)RdbOpcode.ExpiryMs && !(input.TryReadInt64(out _) && input.TryReadByte(out first)))
            return false;
        if (first != (byte)RdbType.String || !input.TryReadHead(out var key) || !key.IsPlain
            || !input.TryReadHead(out _)) return false;
        sink.Foresee(key.Content);
        return true;
    }
}
