using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Notes in a record's word that it was used.</summary>
/// <remarks>
/// Threads: one session's. A record of which there is nothing more to note is not written to, so one that everybody
/// reads stays in everybody's cache until the next interval begins (<see cref="UseIntervals"/>). The heat of recent use
/// goes up with each use, to 3; the count of frequency by a throw, the less likely the higher it is (a Morris counter),
/// to 31.
/// </remarks>
internal unsafe struct UseMeter(uint seed, UseIntervals intervals)
{
    private EvictionRule? _rule;    // null: none is followed yet
    private ulong _most, _bits;     // of a word: what it is compared with, and where; 0: there is nothing to note
    private uint _random = seed | 1;
    private long _hits, _misses;

    /// <summary>Reads that found their key, and those that did not.</summary>
    // Volatile: the session's; a sum that is read meanwhile may be some operations old.
    public long Hits => Volatile.Read(ref _hits);

    /// <inheritdoc cref="Hits"/>
    public long Misses => Volatile.Read(ref _misses);

    /// <summary>The interval in which uses are noted.</summary>
    public int Interval { readonly get; private set; }

    /// <summary>Whether what a policy wants is noted, in the interval that it is now.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool Follows(EvictionRule rule) =>
        ReferenceEquals(_rule, rule) && Interval == intervals.Current;

    /// <summary>Whether uses leave no trace in the records; reads are counted all the same.</summary>
    public bool LeavesNoTrace
    {
        readonly get;
        set
        {
            field = value;
            if (_rule != null) Follow(_rule);
        }
    }

    /// <summary>Notes what a policy wants, in the interval that it is now.</summary>
    public void Follow(EvictionRule rule)
    {
        _rule = rule;
        Interval = intervals.Current;
        _most = RecordWord.WithUse(0, rule.MostUsed(Interval));
        _bits = LeavesNoTrace ? 0 : RecordWord.WithUse(0, rule.NotedBits);      // 0: all is noted already
    }

    /// <summary>Counts a read, and the use of its record, which somebody else may be using.</summary>
    /// <param name="word">As it was found: neither locked nor dead.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Count(byte* record, ulong word)
    {
        _hits++;
        if (((word ^ _most) & _bits) != 0) CountSlow(record, word);
    }

    /// <summary>Counts the use of a record that the caller has locked.</summary>
    /// <returns>The word that it is to write.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Counted(ulong word) => ((word ^ _most) & _bits) != 0 ? CountedSlow(word) : word;

    /// <summary>Counts a read alone.</summary>
    public void CountRead(bool found)
    {
        if (found) _hits++;
        else _misses++;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void CountSlow(byte* record, ulong word)
    {
        ulong noted = CountedSlow(word);
        // Once: if another was quicker, the record was used all the same, or is being written to.
        if (noted != word) Interlocked.CompareExchange(ref *(ulong*)record, noted, word);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong CountedSlow(ulong word)
    {
        int use = RecordWord.Use(word);
        EvictionRule rule = _rule!;     // else there is nothing to note
        if (rule.Worth != EvictionWorth.Frequency) intervals.NoteUse();
        else if (!IsLucky((uint)RecordUse.Count(use), rule.LogFactor)) return word;
        return RecordWord.WithUse(word, rule.UsedAgain(use, Interval));
    }

    /// <summary>The first use always counts, the next ones one time in (count - 1) x factor + 1.</summary>
    private bool IsLucky(uint count, int factor)
    {
        if (count <= 1) return true;
        _random ^= _random << 13;
        _random ^= _random >> 17;
        _random ^= _random << 5;
        return ((ulong)_random * ((count - 1) * (uint)factor + 1)) >> 32 == 0;
    }
}
