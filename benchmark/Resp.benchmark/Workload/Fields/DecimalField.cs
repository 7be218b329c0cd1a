using Kv.Protocol;

namespace RespBenchmark.Workload;

/// <summary>A number with six decimals, all alike in a range.</summary>
internal sealed class DecimalField(double from, double to) : Field
{
    private const int Decimals = 6;
    private const long Scale = 1_000_000;

    private readonly long _from = (long)Math.Round(from * Scale);
    private readonly long _count = Math.Max(1, (long)Math.Round((to - from) * Scale));

    /// <summary>The largest magnitude whose millionths are exact.</summary>
    public const double Limit = 1e9;

    public override int Width => -1;

    public override long WidthMax => NumberText.MaxInt64Bytes + 2;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer(_from, _count, seat.Generator(stream));

    private sealed class Writer(long from, long count, Xoshiro256 generator) : FieldWriter
    {
        private Xoshiro256 _generator = generator;

        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) =>
            from + _generator.Below(count);

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) =>
            (draw < 0 ? 1 : 0) + NumberText.LengthOf(Math.Abs(draw) / Scale) + 1 + Decimals;

        public override void Write(long draw, ReadOnlySpan<long> drawn, long start, Span<byte> to)
        {
            if (draw < 0)
            {
                to[0] = (byte)'-';
                to = to[1..];
            }

            (long whole, long rest) = Math.DivRem(Math.Abs(draw), Scale);
            int digits = NumberText.FormatInt64(whole, to);
            to[digits] = (byte)'.';
            PaddedDigits.Write(rest, ref to[digits + 1], Decimals, (byte)'0');
        }
    }
}
