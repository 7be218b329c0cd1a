namespace RespBenchmark.Network;

/// <summary>Where the calling thread, and those it starts from now on, may run.</summary>
internal static unsafe class Affinity
{
    private const int MaskBytes = 512;      // 4,096 processors, the most that Linux has

    /// <returns>False: the system refuses.</returns>
    public static bool Pin(IReadOnlyList<int> cores)
    {
        byte* mask = stackalloc byte[MaskBytes];
        new Span<byte>(mask, MaskBytes).Clear();
        foreach (int core in cores) mask[core / 8] |= (byte)(1 << (core % 8));
        return Libc.sched_setaffinity(0, MaskBytes, mask) == 0;
    }
}
