using Kv.Protocol;

namespace RespBenchmark.Workload;

/// <summary>The number of the session that sends.</summary>
internal sealed class SessionField : Field
{
    public override int Width => -1;

    public override long WidthMax => NumberText.MaxInt64Bytes;

    public override FieldWriter Open(in Seat seat, int stream, UnitFields unit) => new Writer();

    private sealed class Writer : FieldWriter
    {
        public override long Draw(ref SessionStream session, ReadOnlySpan<long> drawn) => session.Session;

        public override long WidthOf(long draw, ReadOnlySpan<long> drawn) => NumberText.LengthOf(draw);

        public override void Write(long draw, ReadOnlySpan<long> drawn, long from, Span<byte> to) =>
            NumberText.FormatInt64(draw, to);
    }
}
