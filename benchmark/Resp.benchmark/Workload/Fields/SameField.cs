namespace RespBenchmark.Workload;

/// <summary>What another field of the unit drew, once more.</summary>
internal sealed class SameField(Field other) : Field
{
    public override int Width => other.Width;

    public override long WidthMax => other.WidthMax;

    public override bool IsFree => false;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit)
    {
        (int place, FieldWriter writer) = unit.Find(other);
        return new Writer(place, writer);
    }

    private sealed class Writer(int place, FieldWriter other) : FieldWriter
    {
        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) => drawn[place];

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => other.WidthOf(draw, drawn);

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            other.Write(draw, drawn, from, to);
    }
}
