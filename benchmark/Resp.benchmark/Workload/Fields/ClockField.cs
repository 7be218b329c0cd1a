using Kv.Protocol;

namespace RespBenchmark.Workload;

/// <summary>The time of rendering, since 1970.</summary>
/// <param name="ticks">Of 100 ns, in one unit.</param>
internal sealed class ClockField(long ticks) : Field
{
    public override int Width => -1;

    public override long WidthMax => NumberText.MaxInt64Bytes;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) => new Writer(ticks);

    private sealed class Writer(long ticks) : FieldWriter
    {
        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) =>
            (DateTime.UtcNow.Ticks - DateTime.UnixEpoch.Ticks) / ticks;

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => NumberText.LengthOf(draw);

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            NumberText.FormatInt64(draw, to);
    }
}
