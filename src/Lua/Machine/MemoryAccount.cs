namespace Kv.Lua;

/// <summary>What a machine's objects take, and the most that they may.</summary>
/// <remarks>
/// The collector is .NET's, so nobody learns when an object goes. What is made is added up; when the sum passes a
/// bound, all that can be reached is measured, and the sum begins again from there. So the true figure is never above
/// the limit by more than an eighth of it, and a script that makes much garbage is measured once in that many bytes.
/// In front of that bound is another, at which it is only said that this is wanted: it is done before the script's next
/// turn, in pieces (<see cref="Upkeep"/>). Threads: one machine's.
/// </remarks>
internal sealed class MemoryAccount(LuaMachine machine, long limitBytes)
{
    private long _sum, _wantAt = limitBytes / 2 / 4 * 3, _measureAt = limitBytes / 2;

    /// <summary>What is in use: measured a while ago, plus all that was made since.</summary>
    public long Bytes => _sum;

    /// <summary>The most that may be in use.</summary>
    public long LimitBytes { get; } = limitBytes;

    /// <summary>Accounts for memory that is about to be taken.</summary>
    /// <exception cref="LuaException">The limit is passed.</exception>
    public void Charge(long bytes)
    {
        _sum += bytes;
        if (_sum > _wantAt) ChargeSlow(bytes);
    }

    /// <summary>Accounts for memory in the middle of a change that cannot be undone: the next charge looks at the
    /// limit.</summary>
    public void ChargeUnseen(long bytes) => _sum += bytes;

    /// <summary>Takes work into account that no instruction counts, where only the account is at hand.</summary>
    /// <param name="units">About as many instructions.</param>
    public void Spend(long units) => machine.Budget -= units / 4;

    /// <summary>A script has written to a table that is kept for others.</summary>
    public void NoteKeptChange() => machine.Kept.HasChanged = true;

    /// <summary>A table has more nodes than buckets.</summary>
    public void NoteCrowded(LuaTable table) => machine.Upkeep.Add(table);

    /// <summary>Measures what can be reached.</summary>
    public void Measure() => Measure(0);

    /// <summary>Takes over what has been measured.</summary>
    /// <exception cref="LuaException">The limit is passed.</exception>
    public void TakeMeasured(long live)
    {
        _sum = live;
        if (_sum > LimitBytes) throw new LuaException("not enough memory");
        BeginSum();
    }

    private void ChargeSlow(long bytes)
    {
        if (_sum <= _measureAt || (machine.Upkeep.IsWorking && bytes <= LimitBytes)) machine.Upkeep.WantMeasure();
        else Measure(bytes);
    }

    private void BeginSum()
    {
        long more = Math.Max((LimitBytes - _sum) / 2, LimitBytes / 8);
        _measureAt = _sum + more;
        _wantAt = _measureAt - (more / 4);
    }

    private void Measure(long added)
    {
        if (added > LimitBytes)
        {
            _sum -= added;
            throw new LuaException("not enough memory");
        }

        long live = machine.MeasureReachable();
        _sum = live + added;
        if (_sum > LimitBytes)
        {
            _sum = live;
            throw new LuaException("not enough memory");
        }

        BeginSum();
    }
}
