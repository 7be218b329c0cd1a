using Kv.Protocol;

namespace RespBenchmark.Workload;

/// <summary>The end of a range whose begin another field drew: so much more, at most n−1.</summary>
internal sealed class RangeEndField(Field low, long n, long width) : Field
{
    public override int Width => -1;

    public override long WidthMax => NumberText.LengthOf(n);

    public override bool IsFree => false;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer(unit.Find(low).Place, n, width);

    private sealed class Writer(int place, long n, long width) : FieldWriter
    {
        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) =>
            Math.Min(drawn[place] + width, n - 1);

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => NumberText.LengthOf(draw);

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            NumberText.FormatInt64(draw, to);
    }
}
