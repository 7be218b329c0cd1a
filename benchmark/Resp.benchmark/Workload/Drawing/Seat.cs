namespace RespBenchmark.Workload;

/// <summary>Whose requests are drawn: the loop, among how many, for how many sessions in all, from which
/// seed.</summary>
internal readonly record struct Seat(int Loop, int Loops, int Sessions, ulong Seed)
{
    /// <summary>A generator of this loop's own for one of its streams: the draws of one never shift
    /// another's.</summary>
    public Xoshiro256 Generator(int stream) =>
        new(SplitMix.Mix(Seed + SplitMix.Mix(((ulong)(uint)Loop << 32) | (uint)stream)));
}
