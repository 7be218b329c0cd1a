using System.Runtime.CompilerServices;
using Kv.Protocol;

namespace RespBenchmark.Workload;

//  SessionStream inside a unit:   CutKind    the unit's number, plus 1; 0: at a unit's beginning
//                                 CutPiece   pieces of the unit that are out: a section counts as often as it stands there
//                                 CutOffset  ┌ 63..40 step of the piece ┬ 39..0 bytes of the step that are out ┐
//                                 CutDraw    1: the piece has been drawn; its draws are kept by session

/// <summary>Every other case: kinds in turn, layouts that vary, sequences, commands longer than the image.</summary>
/// <remarks>A command that fits an image is never cut. Allocates only when a session is first seen.</remarks>
internal sealed class PieceSource : RequestSource
{
    private const int CommandsMax = 32 * 1024;
    private const int OffsetBits = 40;

    private readonly byte[] _image = GC.AllocateUninitializedArray<byte>(ImageBytes, pinned: true);
    private readonly UnitShape[] _units;
    private readonly FieldWriter[][] _writers;
    private readonly byte[][] _kindNumbers;
    private readonly Schedule _schedule;
    private readonly long[] _drawn;             // of the unit at work
    private readonly byte[] _kinds;
    private readonly long[] _keys;
    private readonly int _wholeBytesMax;        // the longest command that is never cut
    private readonly bool _mayStop;             // whether a unit can be left unfinished between two calls
    private long[]?[] _kept;                    // by session: the draws of a unit left unfinished
    private long _key = -1;
    private int _length;

    public PieceSource(UnitShape[] units, FieldWriter[][] writers, byte[][] kindNumbers, Schedule schedule,
        int sessions,
        bool tracksKeys)
    {
        _units = units;
        _writers = writers;
        _kindNumbers = kindNumbers;
        _schedule = schedule;
        _drawn = new long[Math.Max(1, units.Max(unit => unit.Fields.Count))];
        bool oneKind = units.Length == 1 && units[0].Commands == 1;
        _kinds = oneKind ? [] : new byte[CommandsMax];
        _keys = tracksKeys ? new long[CommandsMax] : [];
        long[] bytes = [.. units.SelectMany(unit => Enumerable.Range(0, unit.Commands).Select(unit.BytesMaxOf))];
        _wholeBytesMax = (int)bytes.Where(length => length <= ImageBytes).DefaultIfEmpty(1).Max();
        _mayStop = bytes.Any(length => length > ImageBytes) || units.Any(unit => unit.Commands > 1);
        _kept = new long[]?[_mayStop ? sessions : 0];
        if (_mayStop) for (int session = 0; session < sessions; session++) _kept[session] = new long[_drawn.Length + 1];
    }

    public override RequestChunk Render(ref SessionStream session, int commandsMax)
    {
        int begun = 0, done = 0;
        bool isCut = false;
        _length = 0;
        if (session.CutKind != 0) Resume(session.Session);
        if (session.CutDraw != 0) begun = 1;        // a command that goes on counts as one that begins
        while (!isCut)
        {
            if (session.CutKind == 0)
            {
                if (!HasRoom(begun, commandsMax) || _schedule.Take(ref session, 1, out int next) == 0) break;
                session.CutKind = next + 1;
            }

            int unit = session.CutKind - 1;
            if (!WriteUnit(ref session, unit, ref begun, ref done, commandsMax, out isCut)) break;
            session.CutKind = session.CutPiece = 0;
            session.CutOffset = session.CutDraw = 0;
        }

        if (session.CutKind != 0) Keep(session.Session);
        return new RequestChunk
        {
            Bytes = new ReadOnlySpan<byte>(_image, 0, _length),
            Commands = done,
            Kinds = _kinds.Length > 0 ? new ReadOnlySpan<byte>(_kinds, 0, done) : default,
            Keys = _keys.Length > 0 ? new ReadOnlySpan<long>(_keys, 0, done) : default,
            IsCut = isCut,
        };
    }

    private bool HasRoom(int begun, int commandsMax) =>
        begun < commandsMax && begun < CommandsMax && ImageBytes - _length >= _wholeBytesMax;

    /// <summary>Writes what is left of a unit, as far as it may.</summary>
    /// <returns>Whether it is complete. Not: the image is full (<paramref name="isCut"/> when inside a command), or as
    /// many commands as may be have begun.</returns>
    private bool WriteUnit(ref SessionStream session, int unit, ref int begun, ref int done, int commandsMax,
        out bool isCut)
    {
        UnitShape shape = _units[unit];
        isCut = false;
        foreach (Section section in shape.Sections)
        {
            while (session.CutPiece - section.FirstPiece < section.Times)
            {
                bool first = session.CutPiece == section.FirstPiece;
                bool last = session.CutPiece - section.FirstPiece == section.Times - 1;
                if (session.CutDraw == 0)
                {
                    if (first && section.BeginsCommand)
                    {
                        if (!HasRoom(begun, commandsMax)) return false;
                        begun++;
                        _key = -1;
                    }

                    Draw(ref session, section, _writers[unit]);
                }

                if (!WritePiece(ref session, section, _writers[unit]))
                {
                    isCut = true;
                    return false;
                }

                session.CutPiece++;
                session.CutOffset = session.CutDraw = 0;
                if (!last || !section.EndsCommand) continue;
                session.Begun++;
                session.InBatch++;
                if (_kinds.Length > 0) _kinds[done] = _kindNumbers[unit][section.Command];
                if (_keys.Length > 0) _keys[done] = _key;
                done++;
            }
        }

        return true;
    }

    private void Draw(ref SessionStream session, Section section, FieldWriter[] writers)
    {
        int end = section.FirstPlace + section.Fields.Count;
        for (int place = section.FirstPlace; place < end; place++)
            _drawn[place] = writers[place].Draw(ref session, _drawn);
        if (section.KeyPlace >= 0) _key = _drawn[section.KeyPlace];
        session.CutDraw = 1;
    }

    private bool WritePiece(ref SessionStream session, Section section, FieldWriter[] writers)
    {
        if (section.Fixed is not { } bytes || session.CutOffset != 0 || bytes.Length > ImageBytes - _length)
            return WriteSteps(ref session, section, writers);

        Span<byte> to = _image.AsSpan(_length, bytes.Length);
        bytes.CopyTo(to);
        for (int index = 0; index < section.Gaps.Length; index++)
        {
            (int offset, int width) = section.Gaps[index];
            int place = section.FirstPlace + index;
            if (width > 0) writers[place].Write(_drawn[place], _drawn, 0, to.Slice(offset, width));
        }

        _length += bytes.Length;
        return true;
    }

    /// <summary>Writes the steps of a piece from where it stopped.</summary>
    /// <returns>False: the image is full before its end; the session's stream says where.</returns>
    private bool WriteSteps(ref SessionStream session, Section section, FieldWriter[] writers)
    {
        int step = (int)(session.CutOffset >> OffsetBits);
        long from = session.CutOffset & ((1L << OffsetBits) - 1);
        for (; step < section.Steps.Length; step++, from = 0)
        {
            ref Step next = ref section.Steps[step];
            Span<byte> room = _image.AsSpan(_length);
            long left;
            if (next.Text is { } text)
            {
                left = text.Length - from;
                int count = (int)Math.Min(left, room.Length);
                text.AsSpan((int)from, count).CopyTo(room);
                Advance(count, ref left, ref from);
            }
            else if (next.Place >= 0)
            {
                long draw = _drawn[next.Place];
                left = writers[next.Place].WidthOf(draw, _drawn) - from;
                // Short texts are written whole, long ones as far as there is room.
                int count = left <= room.Length ? (int)left : left <= FieldWriter.SmallBytes && from == 0
                    ? 0 : room.Length;
                if (count > 0) writers[next.Place].Write(draw, _drawn, from, room[..count]);
                Advance(count, ref left, ref from);
            }
            else
            {
                left = room.Length < UnitShape.HeaderBytesMax ? 1 : 0;
                if (left == 0) WriteHeader(next, writers, room);
            }

            if (left == 0) continue;
            session.CutOffset = ((long)step << OffsetBits) | from;
            return false;
        }

        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Advance(int count, ref long left, ref long from)
    {
        _length += count;
        left -= count;
        from += count;
    }

    private void WriteHeader(in Step step, FieldWriter[] writers, Span<byte> to)
    {
        long bytes = step.ConstantBytes;
        for (int place = step.FirstPlace; place < step.FirstPlace + step.Places; place++)
            bytes += writers[place].WidthOf(_drawn[place], _drawn);
        to[0] = (byte)'$';
        int digits = NumberText.FormatInt64(bytes, to[1..]);
        to[1 + digits] = (byte)'\r';
        to[2 + digits] = (byte)'\n';
        _length += digits + 3;
    }

    private void Keep(int session)
    {
        if (session >= _kept.Length) Array.Resize(ref _kept, Math.Max(session + 1, 2 * _kept.Length));
        long[] kept = _kept[session] ??= new long[_drawn.Length + 1];
        _drawn.CopyTo(kept, 0);
        kept[^1] = _key;
    }

    private void Resume(int session)
    {
        long[] kept = _kept[session]!;
        kept.AsSpan(0, _drawn.Length).CopyTo(_drawn);
        _key = kept[^1];
    }

    public override void Dispose()
    {
    }
}
