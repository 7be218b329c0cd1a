using System.Runtime.CompilerServices;

namespace RespBenchmark.Engine;

/// <summary>Commands of one kind that left together and whose replies are out.</summary>
internal struct InflightRun
{
    /// <summary>When they left, and when they were meant to, in nanoseconds of the clock; equal in a closed
    /// loop.</summary>
    public long Sent, Intended;

    /// <summary>Replies still missing.</summary>
    public int Count;

    public byte Kind;
}

/// <summary>What a session has sent and not been answered, oldest first: runs of equal commands, and the keys of each
/// command where replies are verified.</summary>
/// <remarks>Grows to the most that was ever outstanding, then allocates nothing.</remarks>
internal sealed class InflightRing(bool tracksKeys)
{
    private InflightRun[] _runs = new InflightRun[16];
    private int _first, _runCount;
    private long[] _keys = tracksKeys ? new long[16] : [];
    private int _firstKey, _keyCount;

    /// <summary>Commands outstanding.</summary>
    public int Commands { get; private set; }

    /// <summary>The oldest run; there must be one.</summary>
    public ref InflightRun Oldest => ref _runs[_first];

    /// <summary>The key of the oldest command.</summary>
    public long OldestKey => _keyCount > 0 ? _keys[_firstKey] : 0;

    /// <summary>Adds commands of one kind; those of the same send extend its run.</summary>
    public void Add(int count, byte kind, long sent, long intended)
    {
        Commands += count;
        if (_runCount > 0)
        {
            ref InflightRun newest = ref _runs[(_first + _runCount - 1) & (_runs.Length - 1)];
            if (newest.Kind == kind && newest.Sent == sent && newest.Intended == intended)
            {
                newest.Count += count;
                return;
            }
        }

        if (_runCount == _runs.Length) _runs = Grow(_runs, ref _first);
        _runs[(_first + _runCount++) & (_runs.Length - 1)] =
            new InflightRun { Sent = sent, Intended = intended, Count = count, Kind = kind };
    }

    public void AddKeys(ReadOnlySpan<long> keys)
    {
        foreach (long key in keys)
        {
            if (_keyCount == _keys.Length) _keys = Grow(_keys, ref _firstKey);
            _keys[(_firstKey + _keyCount++) & (_keys.Length - 1)] = key;
        }
    }

    /// <summary>Takes off the oldest commands; they belong to the oldest run.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Take(int count)
    {
        Commands -= count;
        if ((_runs[_first].Count -= count) == 0)
        {
            _first = (_first + 1) & (_runs.Length - 1);
            _runCount--;
        }

        if (_keyCount > 0)
        {
            _firstKey = (_firstKey + count) & (_keys.Length - 1);
            _keyCount -= count;
        }
    }

    public void Clear() => _first = _runCount = _firstKey = _keyCount = Commands = 0;

    private static T[] Grow<T>(T[] ring, ref int first)
    {
        var larger = new T[ring.Length * 2];
        ring.AsSpan(first).CopyTo(larger);
        ring.AsSpan(0, first).CopyTo(larger.AsSpan(ring.Length - first));
        first = 0;
        return larger;
    }
}
