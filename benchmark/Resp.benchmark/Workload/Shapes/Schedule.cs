namespace RespBenchmark.Workload;

/// <summary>Which unit of a workload a session sends next, for one loop.</summary>
internal abstract class Schedule
{
    public static readonly Func<Seat, Schedule> OnlyOne = _ => new Single();

    /// <summary>Takes the next units.</summary>
    /// <param name="max">At least 1.</param>
    /// <param name="unit">Which; the same for all taken.</param>
    /// <returns>How many were taken; 0: the session's stream has ended.</returns>
    public abstract int Take(ref SessionStream session, int max, out int unit);

    private sealed class Single : Schedule
    {
        public override int Take(ref SessionStream session, int max, out int unit)
        {
            unit = 0;
            return max;
        }
    }
}

/// <summary>Units in exact shares: every so many commands of a session hold each as often as its weight says,
/// shuffled.</summary>
internal sealed class MixSchedule : Schedule
{
    private readonly byte[] _deck;              // each unit as often as its weight
    private readonly List<byte[]?> _order = []; // by session; made when it is first needed
    private readonly SessionCounters _next;
    private Xoshiro256 _generator;

    public MixSchedule(IReadOnlyList<int> weights, in Seat seat, int stream)
    {
        int divisor = weights.Aggregate(GreatestDivisor);
        _deck = [.. weights.SelectMany((weight, unit) => Enumerable.Repeat((byte)unit, weight / divisor))];
        _next = new SessionCounters(seat.Sessions);
        _generator = seat.Generator(stream);
        for (int session = 0; session < seat.Sessions; session++)
            _order.Add(session % seat.Loops == seat.Loop ? [.. _deck] : null);
    }

    /// <summary>After so many commands the shares are exact again.</summary>
    public int Cycle => _deck.Length;

    public override int Take(ref SessionStream session, int max, out int unit)
    {
        ref long next = ref _next[session.Session];
        byte[] order = OrderOf(session.Session);
        if (next == 0) Shuffle(order);
        unit = order[next];
        if (++next == order.Length) next = 0;
        return 1;
    }

    private byte[] OrderOf(int session)
    {
        while (session >= _order.Count) _order.Add(null);
        return _order[session] ??= [.. _deck];
    }

    private void Shuffle(byte[] order)
    {
        for (int last = order.Length - 1; last > 0; last--)
        {
            int other = (int)_generator.Below(last + 1);
            (order[last], order[other]) = (order[other], order[last]);
        }
    }

    private static int GreatestDivisor(int a, int b) => b == 0 ? a : GreatestDivisor(b, a % b);
}

/// <summary>Of each cycle of a session's commands the first half is one unit, the rest the other.</summary>
internal sealed class HalvesSchedule(int cycle) : Schedule
{
    private readonly int _first = (cycle + 1) / 2;

    public override int Take(ref SessionStream session, int max, out int unit)
    {
        int inCycle = (int)(session.Begun % cycle);
        unit = inCycle < _first ? 0 : 1;
        return Math.Min(max, unit == 0 ? _first - inCycle : cycle - inCycle);
    }
}

/// <summary>One unit so many times in all, dealt to the loops in blocks.</summary>
internal sealed class CountedSchedule(long count, in Seat seat) : Schedule
{
    private LoopShare _share = new(seat.Loop, seat.Loops);

    public override int Take(ref SessionStream session, int max, out int unit)
    {
        unit = 0;
        long left = count - _share.Position;
        if (left <= 0) return 0;
        int taken = (int)Math.Min(Math.Min(left, max), _share.Run);
        _share.Advance(taken);
        return taken;
    }
}
