namespace RespBenchmark.Workload;

//   63        22 21            0
//  +------------+---------------+
//  |  bytes 42  |  place 22     |      a draw: where in the pool of 2^22 bytes the value begins, and its length
//  +------------+---------------+

/// <summary>A value: a slice of a pool, its place drawn anew for each command, its length constant or drawn
/// too.</summary>
internal sealed class SliceField(TextPool pool, Sizes sizes) : Field
{
    private const int PlaceBits = 22;
    private const long PlaceMask = (1L << PlaceBits) - 1;

    public override int Width => sizes.IsConstant && sizes.Max <= int.MaxValue ? (int)sizes.Max : -1;

    public override long WidthMax => sizes.Max;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer(pool, sizes, seat.Generator(stream));

    private sealed class Writer(TextPool pool, Sizes sizes, Xoshiro256 generator) : FieldWriter
    {
        private Xoshiro256 _generator = generator;

        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn)
        {
            long place = (long)(_generator.Next() >> (64 - PlaceBits));
            return (sizes.Next(ref _generator) << PlaceBits) | place;
        }

        public override void DrawColumn(ref SessionStream session, Span<long> column)
        {
            foreach (ref long draw in column) draw = Draw(ref session, default);
        }

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => draw >> PlaceBits;

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            pool.CopyTo((draw & PlaceMask) + from, to);
    }
}
