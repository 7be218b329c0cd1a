namespace RespBenchmark.Engine;

/// <summary>One loop's schedule of an open loop: when each operation is meant to leave, whatever the replies
/// do.</summary>
/// <remarks>Poisson: within each window of as many operations as a second has (100 at least) the times are uniform
/// draws in order, which is a Poisson process that is known to have had so many arrivals; so the rate is exact over
/// every whole window, while gaps and bursts are those of a Poisson process. Computed one by one: with k draws left in
/// [t, end) the least lies at t + (end - t) * (1 - u^(1/k)).</remarks>
internal sealed class Arrivals(ArrivalPlan plan, int loop, int loops, ulong seed)
{
    private readonly double _gap = 1e9 * loops / plan.Rate;
    private readonly int _window = (int)Math.Max(100, Math.Round(plan.Rate / loops));
    private ulong _state = seed * 0x9E3779B97F4A7C15 + (ulong)loop;
    private double _at, _windowEnd;
    private long _begin, _steps, _drawn;
    private int _left, _ofBurst;

    // What was drawn beyond the next one: a ring.
    private readonly long[] _ahead = new long[AheadMax];
    private int _first, _count;

    /// <summary>How far ahead can be looked.</summary>
    public const int AheadMax = 64;

    /// <summary>Nanoseconds of the clock at which the next operation is meant to leave.</summary>
    public long Next { get; private set; }

    /// <summary>The most operations outstanding a session.</summary>
    public int InflightMax => plan.InflightMax;

    public void Begin(long now)
    {
        _begin = now;
        _at = _windowEnd = 0;
        _steps = 0;
        _left = 0;
        _ofBurst = 0;
        _count = 0;
        Advance();
    }

    public void Advance()
    {
        if (_count == 0)
        {
            Draw();
            Next = _drawn;
            return;
        }

        Next = _ahead[_first];
        _first = (_first + 1) % AheadMax;
        _count--;
    }

    /// <summary>How many operations were meant to leave by now, at most <see cref="AheadMax"/>.</summary>
    public int CountDue(long now)
    {
        if (Next > now) return 0;
        // Ends: with the first that is not due, or a full ring.
        while (_count < AheadMax && _drawn <= now)
        {
            Draw();
            _ahead[(_first + _count++) % AheadMax] = _drawn;
        }

        int due = 1;
        while (due <= _count && due < AheadMax && _ahead[(_first + due - 1) % AheadMax] <= now) due++;
        return due;
    }

    private void Draw()
    {
        switch (plan.Shape)
        {
            case ArrivalShape.Uniform:
                // From the count, not from a sum: rounding must not add up to a rate.
                _drawn = _begin + (long)((_steps++ + ((loop + 1.0) / loops)) * _gap);
                break;
            case ArrivalShape.Burst:
                if (_ofBurst-- > 0) break;
                _ofBurst = plan.Burst - 1;
                _drawn = _begin + (long)((_steps++ + ((loop + 1.0) / loops)) * _gap * plan.Burst);
                break;
            default:
                AdvancePoisson();
                break;
        }
    }

    private void AdvancePoisson()
    {
        if (_left == 0)
        {
            _at = _windowEnd;
            _windowEnd += _window * _gap;
            _left = _window;
        }

        _at += (_windowEnd - _at) * (1 - Math.Exp(Math.Log(Uniform()) / _left--));
        _drawn = _begin + (long)_at;
    }

    /// <summary>splitmix64, as a number in (0, 1].</summary>
    private double Uniform()
    {
        ulong z = _state += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        z ^= z >> 31;
        return ((z >> 11) + 1) * (1.0 / (1UL << 53));
    }
}
