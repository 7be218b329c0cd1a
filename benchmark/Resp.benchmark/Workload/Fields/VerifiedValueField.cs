namespace RespBenchmark.Workload;

//   63      32 31       0
//  +----------+-----------+
//  | bytes 32 | version 32|     a draw
//  +----------+-----------+

/// <summary>A value that can be checked when it is read back: it carries its key and a version.</summary>
/// <param name="key">The field of the unit that draws the key's number.</param>
/// <param name="isLoad">A load writes version 0, all others a random one.</param>
internal sealed class VerifiedValueField(ValueVerifier verifier, Sizes sizes, Field key, bool isLoad) : Field
{
    public override int Width => sizes.IsConstant ? (int)sizes.Max : -1;

    public override long WidthMax => Math.Max(ValueVerifier.HeadBytes, sizes.Max);

    public override bool IsFree => false;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer(verifier, sizes, seat.Generator(stream), unit.Find(key).Place, isLoad);

    private sealed class Writer(ValueVerifier verifier, Sizes sizes, Xoshiro256 generator, int keyPlace, bool isLoad)
        : FieldWriter
    {
        private Xoshiro256 _generator = generator;

        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn)
        {
            long version = isLoad ? 0 : (long)(_generator.Next() >> 32);
            return (Math.Max(ValueVerifier.HeadBytes, sizes.Next(ref _generator)) << 32) | version;
        }

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => draw >> 32;

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            verifier.Write(drawn[keyPlace], (uint)draw, draw >> 32, from, to);
    }
}
