namespace RespBenchmark.Workload;

/// <summary>One of some texts, all alike likely: {pick a|b|c}, the lines of a file.</summary>
internal sealed class PickField(IReadOnlyList<byte[]> texts) : Field
{
    public override int Width => texts.All(text => text.Length == texts[0].Length) ? texts[0].Length : -1;

    public override long WidthMax => texts.Max(text => text.LongLength);

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) =>
        new Writer([.. texts], seat.Generator(stream));

    private sealed class Writer(byte[][] texts, Xoshiro256 generator) : FieldWriter
    {
        private Xoshiro256 _generator = generator;

        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) =>
            _generator.Below(texts.Length);

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => texts[draw].Length;

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            texts[draw].AsSpan((int)from, to.Length).CopyTo(to);
    }
}
