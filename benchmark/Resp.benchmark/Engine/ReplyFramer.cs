using System.Buffers.Text;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Kv.Protocol;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>Cuts received bytes into replies, each checked against what its command may give, and hands them to the
/// recorder. Long bodies are passed over by count and never kept; a reply may be cut anywhere.</summary>
/// <remarks>Threads: its loop's. Both versions of RESP; streamed strings and aggregates ("$?") are not read: no server
/// sends them. Cost: a reply equal in form to the one before of its kind is one compare of 8 bytes and one of its line
/// end.</remarks>
internal sealed class ReplyFramer(Workload.Workload workload, Recorder recorder, bool latency,
    double verifyShare, ulong seed)
{
    /// <summary>Bytes that must be readable behind the input: the compare of a header takes 8 at once.</summary>
    public const int Slack = 8;

    /// <summary>A line longer than this is no reply.</summary>
    public const int LineBytesMax = 64 * 1024;

    /// <summary>Longer bodies are not worth a shape: they seldom lie whole in what was received.</summary>
    public const int BodyOfShapeMax = 64 * 1024;

    /// <summary>Of an error's text that comes in pieces, what is kept.</summary>
    private const int ErrorBytesMax = 512;

    private const int Broken = -1, Unfinished = -2;

    private readonly ReplyShape[] _shapes = new ReplyShape[workload.Kinds.Count];
    private readonly ReplyRule[] _rules = [.. workload.Kinds.Select(kind => kind.Reply)];
    private readonly bool _verifies = verifyShare > 0 && workload.TracksKeys;
    private ulong _draw = seed | 1;

    /// <summary>Reads all that can be read.</summary>
    /// <param name="input">What came; <see cref="Slack"/> bytes behind it must be readable.</param>
    /// <returns>Bytes used. The rest is the beginning of a line, to be given again with more behind it. -1: no RESP;
    /// the session says where.</returns>
    public int Read(Session session, ReadOnlySpan<byte> input, long now)
    {
        ref FrameState frame = ref session.Frame;
        int position = 0;
        // Ends: each round uses at least one byte, or leaves.
        while (position < input.Length)
        {
            if (!frame.Inside && session.Inflight.Commands > 0 && session.HandshakeReplies == 0)
            {
                int used = ReadAlike(session, input[position..], now);
                if (used > 0)
                {
                    position += used;
                    continue;
                }
            }

            int next = ReadPart(session, ref frame, input, position, now);
            if (next == Unfinished) break;
            if (next == Broken) return Break(session, input, position);
            position = next;
        }

        return position;
    }

    /// <summary>The common case: replies of the form of the one before, as many as there are of the oldest
    /// run.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int ReadAlike(Session session, ReadOnlySpan<byte> input, long now)
    {
        ref InflightRun run = ref session.Inflight.Oldest;
        ref ReplyShape shape = ref _shapes[run.Kind];
        int length = shape.Length;
        if (length == 0 || input.Length < length) return 0;

        ulong header = shape.Header, mask = shape.Mask;
        int count = 0, whole = Math.Min(run.Count, input.Length / length);
        ref byte at = ref MemoryMarshal.GetReference(input);
        while (count < whole)
        {
            if ((Unsafe.ReadUnaligned<ulong>(ref at) & mask) != header) break;
            if (Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref at, length - 2)) != 0x0A0D) break;
            at = ref Unsafe.Add(ref at, length);
            count++;
        }

        if (count == 0) return 0;
        if (shape.IsNil) recorder.Nil(run.Kind, count);
        recorder.Replied(run, count, now, latency);
        session.ExpectedBytes -= (long)count * session.ReplyBytes[run.Kind];
        session.LastKind = run.Kind;
        session.Inflight.Take(count);
        return count * length;
    }

    /// <summary>One line, or one piece of a body, of any reply.</summary>
    private int ReadPart(Session session, ref FrameState frame, ReadOnlySpan<byte> input, int position, long now)
    {
        if (frame.Body > 0)
        {
            int part = (int)Math.Min(frame.Body, input.Length - position);
            if (frame.Gathers) Gather(session, frame, input.Slice(position, part));
            frame.Body -= part;
            return position + part;
        }

        if (frame.LineEnd > 0)
        {
            if (input[position] != (frame.LineEnd == 2 ? '\r' : '\n')) return Broken;
            if (--frame.LineEnd == 0) EndFrame(session, ref frame, now);
            return position + 1;
        }

        if (!IsType(input[position])) return Broken;
        ReadOnlySpan<byte> rest = input[position..];
        int end = rest.IndexOf((byte)'\r');
        if (end < 0 || end + 1 == rest.Length) return rest.Length > LineBytesMax ? Broken : Unfinished;
        if (rest[end + 1] != '\n') return Broken;
        return ReadLine(session, ref frame, rest[..(end + 2)], now) ? position + end + 2 : Broken;
    }

    private bool ReadLine(Session session, ref FrameState frame, ReadOnlySpan<byte> line, long now)
    {
        byte type = line[0];
        ReadOnlySpan<byte> text = line[1..^2];
        bool begins = !frame.Inside;
        if (begins && !Begin(session, ref frame, type)) return false;
        frame.Owed--;
        switch (type)
        {
            case RespType.Bulk or RespType.BulkError or RespType.Verbatim:
                if (!TryLength(text, type == RespType.Bulk, out long bytes)) return false;
                if (bytes < 0) break;
                frame.Body = bytes;
                frame.LineEnd = 2;
                if (!begins || frame.OutOfBand) return true;
                if (type == RespType.BulkError || Verifies(session)) frame.Gathers = true;
                else Learn(session, frame, line, bytes);
                return true;

            case RespType.Array or RespType.Set or RespType.Push or RespType.Map or RespType.Attribute:
                if (!TryLength(text, type == RespType.Array, out long count)) return false;
                if (count < 0) break;
                frame.Owed += type is RespType.Map or RespType.Attribute ? 2 * count : count;
                if (type == RespType.Attribute && !begins) frame.Owed++;        // the value they belong to follows
                EndFrame(session, ref frame, now);
                return true;

            case RespType.Error:
                if (begins) Keep(session, text);
                EndFrame(session, ref frame, now);
                return true;

            default:
                if (!IsScalar(type, text)) return false;
                if (begins && type != RespType.Null && !frame.OutOfBand) Learn(session, frame, line, -1);
                if (begins && type == RespType.Null) frame.IsNil = true;
                EndFrame(session, ref frame, now);
                return true;
        }

        if (begins)
        {
            frame.IsNil = true;
            Learn(session, frame, line, -1);
        }

        EndFrame(session, ref frame, now);
        return true;
    }

    /// <summary>A unit begins: a reply, or what may come between replies.</summary>
    /// <returns>False for a reply that nobody asked for.</returns>
    private static bool Begin(Session session, ref FrameState frame, byte type)
    {
        frame = default;
        frame.Inside = true;
        frame.Owed = 1;
        frame.OutOfBand = type is RespType.Push or RespType.Attribute;
        frame.IsError = type is RespType.Error or RespType.BulkError;
        frame.Type = RuleOf(type);
        session.GatheredCount = 0;
        return frame.OutOfBand || session.Inflight.Commands > 0 || session.HandshakeReplies > 0;
    }

    private void EndFrame(Session session, ref FrameState frame, long now)
    {
        if (frame.Owed > 0) return;
        frame.Inside = false;
        if (frame.OutOfBand) return;
        if (session.HandshakeReplies > 0)
        {
            session.HandshakeReplies--;
            if (frame.IsError) session.Refusal = System.Text.Encoding.Latin1.GetString(session.GatheredBytes);
            return;
        }

        ref InflightRun run = ref session.Inflight.Oldest;
        byte kind = run.Kind;
        ReplyRule given = frame.IsNil ? ReplyRule.Nil : frame.Type;
        if (frame.IsError)
        {
            recorder.Error(kind, session.GatheredBytes);
        }
        else if ((_rules[kind] & given) == 0)
        {
            recorder.Mismatch();
        }
        else
        {
            if (frame.IsNil) recorder.Nil(kind, 1);
            recorder.Replied(run, 1, now, latency);
            if (frame.Gathers && frame.Type == ReplyRule.Bulk
                && !workload.Verify(kind, session.Inflight.OldestKey, session.GatheredBytes)) recorder.Wrong++;
        }

        session.ExpectedBytes -= session.ReplyBytes[kind];
        session.LastKind = kind;
        session.Inflight.Take(1);
    }

    /// <summary>Remembers the form of a reply that its kind may give, for the next ones.</summary>
    private void Learn(Session session, in FrameState frame, ReadOnlySpan<byte> line, long body)
    {
        if (_verifies || frame.OutOfBand || session.HandshakeReplies > 0) return;
        byte kind = session.Inflight.Oldest.Kind;
        if ((_rules[kind] & (frame.IsNil ? ReplyRule.Nil : frame.Type)) == 0) return;
        _shapes[kind] = ReplyShape.Of(line, body, frame.IsNil);
    }

    private bool Verifies(Session session)
    {
        // no key: nothing to compare with
        if (!_verifies || session.HandshakeReplies > 0 || session.Inflight.OldestKey < 0) return false;
        if (verifyShare >= 1) return true;
        _draw ^= _draw << 13;
        _draw ^= _draw >> 7;
        _draw ^= _draw << 17;
        return (_draw >> 11) * (1.0 / (1UL << 53)) < verifyShare;
    }

    private static void Gather(Session session, in FrameState frame, ReadOnlySpan<byte> part)
    {
        if (frame.IsError)
        {
            int room = Math.Max(0, ErrorBytesMax - session.GatheredCount);
            if (part.Length > room) part = part[..room];
        }

        session.Gather(part);
    }

    private static void Keep(Session session, ReadOnlySpan<byte> text)
    {
        session.GatheredCount = 0;
        session.Gather(text[..Math.Min(text.Length, ErrorBytesMax)]);
    }

    private static int Break(Session session, ReadOnlySpan<byte> input, int position)
    {
        ReadOnlySpan<byte> seen = input.Slice(position, Math.Min(32, input.Length - position));
        session.Breakage =
            $"no RESP at byte {session.BytesParsed + position} of the connection: {Convert.ToHexString(seen)}";
        return Broken;
    }

    private static ReplyRule RuleOf(byte type) => type switch
    {
        RespType.SimpleString => ReplyRule.Status,
        RespType.Integer => ReplyRule.Integer,
        RespType.Bulk or RespType.Verbatim => ReplyRule.Bulk,
        RespType.Array or RespType.Set => ReplyRule.Array,
        RespType.Map => ReplyRule.Map,
        RespType.Double => ReplyRule.Double,
        RespType.Boolean => ReplyRule.Boolean,
        RespType.BigNumber => ReplyRule.BigNumber,
        RespType.Null => ReplyRule.Nil,
        _ => ReplyRule.None,
    };

    private static bool IsType(byte type) =>
        type is RespType.SimpleString or RespType.Error or RespType.Integer or RespType.Bulk
        or RespType.Array or RespType.Null or RespType.Boolean or RespType.Double or RespType.BigNumber
        or RespType.BulkError
        or RespType.Verbatim or RespType.Map or RespType.Set or RespType.Push or RespType.Attribute;

    private static bool IsScalar(byte type, ReadOnlySpan<byte> text) => type switch
    {
        RespType.SimpleString => true,
        RespType.Integer => TryInteger(text, out _),
        RespType.Null => text.IsEmpty,
        RespType.Boolean => text.Length == 1 && text[0] is (byte)'t' or (byte)'f',
        _ => !text.IsEmpty,
    };

    private static bool TryInteger(ReadOnlySpan<byte> text, out long value) =>
        Utf8Parser.TryParse(text, out value, out int used) && used == text.Length;

    private static bool TryLength(ReadOnlySpan<byte> text, bool nullable, out long length) =>
        TryInteger(text, out length) && length <= int.MaxValue && (length >= 0 || (nullable && length == -1));
}
