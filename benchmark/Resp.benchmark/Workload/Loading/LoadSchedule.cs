namespace RespBenchmark.Workload;

/// <summary>A load's commands of a session: whole ones (unit 0), then one for the rest of its slice. Slices differ by
/// one key, so there are two rests at most: the longer slices' is unit 1 where they have one.</summary>
internal sealed class LoadSchedule(long keys, int slices, long pairs) : Schedule
{
    private readonly long _longerRest = RestOf(keys, slices, pairs, 0);

    /// <summary>The keys that a slice has beyond its whole commands.</summary>
    public static long RestOf(long keys, int slices, long pairs, int slice) =>
        Slice.Of(keys, slices, slice).Length % pairs;

    public override int Take(ref SessionStream session, int max, out int unit)
    {
        long whole = session.Session < slices ? Slice.Of(keys, slices, session.Session).Length / pairs : 0;
        unit = 0;
        if (session.Begun < whole) return (int)Math.Min(max, whole - session.Begun);
        long rest = session.Session < slices ? RestOf(keys, slices, pairs, session.Session) : 0;
        if (rest == 0 || session.Begun > whole) return 0;
        unit = rest == _longerRest || _longerRest == 0 ? 1 : 2;
        return 1;
    }
}
