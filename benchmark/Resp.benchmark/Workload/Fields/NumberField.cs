using Kv.Protocol;

namespace RespBenchmark.Workload;

/// <summary>A decimal number: padded to a constant width, or as short as it is.</summary>
/// <param name="distribution">Of the number without <paramref name="from"/>.</param>
/// <param name="count">Numbers there are: it yields from, from+1 … from+count−1.</param>
/// <param name="width">Its width; 0: as short as it is. At least the digits of the largest; then nothing is
/// negative.</param>
internal sealed class NumberField(Distribution distribution, long count, int width = 0, byte pad = (byte)'0',
    long from = 0)
    : Field
{
    public override int Width => width > 0 ? width : from >= 0 && Shortest == Longest ? Longest : -1;

    public override long WidthMax => width > 0 ? width : Longest;

    private int Shortest => NumberText.LengthOf(from);

    private int Longest => Math.Max(NumberText.LengthOf(from), NumberText.LengthOf(from + count - 1));

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer(distribution.Open(count, seat), seat.Generator(stream), from, Width, pad);

    private sealed class Writer(Draws draws, Xoshiro256 generator, long from, int width, byte pad) : FieldWriter
    {
        private Xoshiro256 _generator = generator;

        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) =>
            from + draws.Next(ref _generator, ref session);

        public override void DrawColumn(ref SessionStream session, Span<long> column)
        {
            draws.Fill(ref _generator, ref session, column);
            if (from == 0) return;
            foreach (ref long draw in column) draw += from;
        }

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) =>
            width > 0 ? width : NumberText.LengthOf(draw);

        public override void Write(long draw, ReadOnlySpan<long> drawn, long start, Span<byte> to)
        {
            if (width > 0) PaddedDigits.Write(draw, ref to[0], width, pad);
            else NumberText.FormatInt64(draw, to);
        }

        public override void WriteColumn(ReadOnlySpan<long> column, ref byte first, nint stride, int fieldWidth) =>
            PaddedDigits.WriteColumn(column, ref first, stride, width, pad);
    }
}
