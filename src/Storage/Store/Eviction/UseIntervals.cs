using System.Diagnostics;

namespace Kv.Storage;

//   the past                                                                          now
//   ...-----------------|---------------------|-----------|------|---|--|-|-|..........|
//        interval 9            4                   12        7     2  15 3 0   current 6
//                        each about three times as long ago as the next

/// <summary>When keys were last used, as one of 16 intervals of time that records have the number of: about a second
/// long at first, then merged two by two, so that they are the longer the longer ago they were.</summary>
/// <remarks>
/// A record that has the current interval's number is not written to when it is used again. An interval that nobody has
/// used yet begins now, however long ago its number was given: so nothing goes on while nothing is used.
/// Two intervals are merged by a walk through all records (<see cref="UseWalk"/>), which gives those of the one the
/// number of the other. So does a change between policies that have intervals and those that count (<see
/// cref="EvictionRule"/>).
/// Threads: upkeep alone changes intervals; sessions read them, and say that the current one is used. They may go by
/// what was true when their turn began: a use is then one interval too old, or, after a turn that was longer than a
/// walk, in the interval that was given the number meanwhile, which is as near. Bounds are read one by one: of an
/// interval that is merged at that moment they may be those before and after. A record that is locked when the walk
/// comes by has the current number when it is let go of, unless its owner leaves no trace: then it may keep a number
/// that is given again, and looks as if it had been used.
/// </remarks>
internal sealed class UseIntervals
{
    public const int Count = 16;

    /// <summary>An interval lasts as long as this at least.</summary>
    private const long LeastMs = 1000;

    /// <summary>How many times as long ago the next interval begins, before anything was used: keys that come from
    /// elsewhere were used before this store was there. The last three reach further: the ends are at 3^10 s (16
    /// hours), 4.1 and 24.6 days.</summary>
    /// <remarks>With 4 for all of them as many days are reached, but too few numbers are left for the keys of this
    /// store: an idle time was a sixth of the truth.</remarks>
    private const int Growth = 3, LastGrowth = 6, LastGrowths = 3;

    /// <summary>The same after a change from a policy that counts, whose counts look like the first eight numbers until
    /// all are renamed: seven are left, whose ends are 1, 11, 121... s ago, the last at 20.5 days.</summary>
    private const int FirstBesideCounts = (RecordUse.CountMax + 1) / (RecordUse.HeatBits + 1), GrowthBesideCounts = 11;

    private const int None = -1;

    private const long Never = long.MaxValue;

    private readonly long[] _begin = new long[Count], _end = new long[Count];
    private readonly byte[] _renames = new byte[RecordWord.UseMax + 1];
    private volatile int _current, _from = None;
    private volatile bool _isUsed, _isMixed;
    private bool _counts;

    public UseIntervals(long nowMs)
    {
        Free(1);
        _begin[0] = nowMs;
        long ago = 0;
        for (int i = 2; i < Count; i++)
        {
            _end[i] = nowMs - ago;
            ago = Math.Max(LeastMs, ago * (i < Count - LastGrowths ? Growth : LastGrowth));
            _begin[i] = nowMs - ago;
        }
    }

    /// <summary>The number of what is used now.</summary>
    public int Current => _current;

    /// <summary>Whether records are to have other uses than they have: a walk is wanted.</summary>
    public bool Renames { get; private set; }

    /// <summary>Says that a record has the current number. Written to only when it is the first one.</summary>
    public void NoteUse()
    {
        if (!_isUsed) _isUsed = true;
    }

    /// <summary>Says that there are records with the use of a policy of the other kind.</summary>
    public void RenameAll() => _isMixed = true;

    /// <summary>Until when a record was not used, in unix ms: until it was written, if it is known that it was not used
    /// after that, else until its interval ended.</summary>
    /// <param name="use">Of the record (<see cref="RecordUse"/>).</param>
    /// <param name="writtenSeconds">When its segment was written, unix seconds.</param>
    public long LastUse(int use, long writtenSeconds, long nowMs)
    {
        int interval = RecordUse.Interval(use);
        long end = interval == _current ? nowMs : Math.Min(nowMs, Volatile.Read(ref _end[interval]));
        bool isAsMade = RecordUse.Heat(use) == 0
            && (writtenSeconds + 1) * 1000 > Volatile.Read(ref _begin[interval]);
        return isAsMade ? Math.Min(writtenSeconds * 1000, end) : end;
    }

    /// <summary>The number for a key that was not used for so long elsewhere: the nearest interval's.</summary>
    public int Ago(long idleSeconds, long nowMs)
    {
        int current = _current, nearest = current;
        double least = Distance(0);
        for (int i = 0; i < Count; i++)
        {
            long end = Volatile.Read(ref _end[i]);
            if (i == current || i == _from || end > nowMs) continue;        // free ones end never
            double distance = Distance(nowMs - end);
            if (distance >= least) continue;
            (nearest, least) = (i, distance);
        }

        return nearest;

        // Half a second more, so that 0 and 1 are not infinitely far from one another.
        double Distance(long ms) => Math.Abs(Math.Log(((ms / 1000.0) + 0.5) / (idleSeconds + 0.5)));
    }

    /// <summary>Lets time pass: ends the current interval when it has lasted for long enough, and has two others merged
    /// where no number is left for the one after the next; until that is done the next one lasts.</summary>
    /// <param name="countsFrequency">Whether the policy counts uses, and has no intervals.</param>
    /// <returns>Whether <see cref="Renamed"/> has become another function: a walk begins, anew if there is
    /// one.</returns>
    public bool Advance(bool countsFrequency, long nowMs)
    {
        if (countsFrequency != _counts)
        {
            _counts = countsFrequency;
            if (!_isMixed) return false;
            _isMixed = false;
            if (_counts) RenameToCounts();
            else RenameToIntervals(nowMs);
            return true;
        }

        if (_counts) return false;
        int current = _current;
        // Also where the clock was put back.
        if (!_isUsed || nowMs < _begin[current])
        {
            Volatile.Write(ref _begin[current], nowMs);
            return false;
        }

        if (Renames || nowMs - _begin[current] < LeastMs) return false;
        int next = Array.FindLastIndex(_begin, IsFree);
        Debug.Assert(next >= 0 && next != current, "a number is left for the next interval");
        Volatile.Write(ref _end[current], nowMs);
        Volatile.Write(ref _begin[next], nowMs);
        _isUsed = false;
        _current = next;
        if (Array.Exists(_begin, IsFree)) return false;
        Merge(nowMs);
        return true;

        static bool IsFree(long begin) => begin == Never;
    }

    /// <summary>Begins to merge the two neighbours whose bounds are least apart, by how long ago they are.</summary>
    private void Merge(long nowMs)
    {
        Span<int> order = stackalloc int[Count - 1];
        int count = 0;
        for (int i = 0; i < Count; i++)
            if (i != _current) order[count++] = i;
        order.Sort((left, right) => _end[right].CompareTo(_end[left]));
        double least = double.MaxValue;
        int from = None, to = None;
        for (int i = 0; i + 1 < count; i++)
        {
            int newer = order[i], older = order[i + 1];
            double apart = (double)(nowMs - _begin[older] + LeastMs) / (nowMs - _end[newer] + LeastMs);
            if (apart >= least) continue;
            (least, from, to) = (apart, older, newer);
        }

        Debug.Assert(from != None && from != to && to != _current, "two that are over become one");
        Volatile.Write(ref _begin[to], _begin[from]);
        _from = from;
        for (int use = 0; use < _renames.Length; use++)
            _renames[use] = (byte)(RecordUse.Interval(use) == from ? RecordUse.Of(to, RecordUse.Heat(use)) : use);
        Renames = true;
    }

    /// <summary>An interval and a heat become a count, which is the heat.</summary>
    private void RenameToCounts()
    {
        _from = None;
        for (int use = 0; use < _renames.Length; use++) _renames[use] = (byte)RecordUse.Heat(use);
        Renames = true;
    }

    /// <summary>A count becomes a heat, in the interval of all that was before now. Counts are numbers of intervals 0
    /// to 7, and what is used meanwhile is in the last one. Those between are for keys that come from elsewhere with an
    /// idle time: without them each of these would look as if it had been used until now.</summary>
    private void RenameToIntervals(long nowMs)
    {
        for (int i = 0; i < FirstBesideCounts; i++) Free(i);
        (_begin[0], _end[0]) = (0, nowMs);
        long ago = LeastMs;
        for (int i = FirstBesideCounts; i < Count - 1; i++)
        {
            Volatile.Write(ref _end[i], nowMs - ago);
            ago *= GrowthBesideCounts;
            Volatile.Write(ref _begin[i], nowMs - ago);
        }

        _begin[Count - 1] = nowMs;
        _isUsed = false;
        _current = Count - 1;
        for (int use = 0; use < _renames.Length; use++)
            _renames[use] = (byte)(use <= RecordUse.CountMax ? Math.Clamp(use - 1, 0, RecordUse.HeatMax) : use);
        Renames = true;
    }

    /// <summary>Ends the walk: no record has the old use any more.</summary>
    public void EndWalk()
    {
        Debug.Assert(_from == None || _from != _current, "what is merged is over");
        if (_from != None) Free(_from);
        _from = None;
        Renames = false;
    }

    /// <summary>The word of a record with the use that it is to have.</summary>
    public ulong Renamed(ulong word) => Renames ? RecordWord.WithUse(word, _renames[RecordWord.Use(word)]) : word;

    private void Free(int interval)
    {
        Volatile.Write(ref _begin[interval], Never);
        Volatile.Write(ref _end[interval], Never);
    }
}
