using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Counts in a record's word that it was used.</summary>
/// <remarks>
/// Threads: one session's. A record that is as hot as it can be is not written to, so one that everybody reads stays in
/// everybody's cache. The count of recent use goes up with each use, to 3; that of frequency by a throw, the less
/// likely the higher it is (a Morris counter), to 31.
/// </remarks>
internal unsafe struct UseMeter(uint seed)
{
    private int _heatMax, _heatMaxOfRule;
    private uint _random = seed | 1, _logFactor;
    private bool _byChance;
    private long _hits, _misses;

    /// <summary>Reads that found their key, and those that did not.</summary>
    // Volatile: the session's; a sum that is read meanwhile may be some operations old.
    public long Hits => Volatile.Read(ref _hits);

    /// <inheritdoc cref="Hits"/>
    public long Misses => Volatile.Read(ref _misses);

    /// <summary>Whether uses leave no trace in the records; reads are counted all the same.</summary>
    public bool LeavesNoTrace
    {
        readonly get;
        set
        {
            field = value;
            _heatMax = value ? 0 : _heatMaxOfRule;      // no record is hot enough to be made hotter
        }
    }

    /// <summary>Counts as a policy wants it.</summary>
    public void Follow(EvictionRule rule)
    {
        _heatMaxOfRule = rule.HeatMax;
        _heatMax = LeavesNoTrace ? 0 : _heatMaxOfRule;
        _byChance = rule.Worth == EvictionWorth.Frequency;
        _logFactor = (uint)rule.LogFactor;
    }

    /// <summary>Counts a read, and the use of its record, which somebody else may be using.</summary>
    /// <param name="word">As it was found: neither locked nor dead.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Count(byte* record, ulong word)
    {
        _hits++;
        if (RecordWord.Heat(word) < _heatMax) CountSlow(record, word);
    }

    /// <summary>Counts the use of a record that the caller has locked.</summary>
    /// <returns>The word that it is to write.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ulong Counted(ulong word) => RecordWord.Heat(word) < _heatMax ? CountedSlow(word) : word;

    /// <summary>Counts a read alone.</summary>
    public void CountRead(bool found)
    {
        if (found) _hits++;
        else _misses++;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void CountSlow(byte* record, ulong word)
    {
        ulong hotter = CountedSlow(word);
        // Once: if another was quicker, the record was used all the same, or is being written to.
        if (hotter != word) Interlocked.CompareExchange(ref *(ulong*)record, hotter, word);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ulong CountedSlow(ulong word)
    {
        int heat = RecordWord.Heat(word);
        return _byChance && !IsLucky((uint)heat) ? word : RecordWord.WithHeat(word, heat + 1);
    }

    /// <summary>The first use always counts, the next ones one time in (heat - 1) x factor + 1.</summary>
    private bool IsLucky(uint heat)
    {
        if (heat <= 1) return true;
        _random ^= _random << 13;
        _random ^= _random >> 17;
        _random ^= _random << 5;
        return ((ulong)_random * ((heat - 1) * _logFactor + 1)) >> 32 == 0;
    }
}
