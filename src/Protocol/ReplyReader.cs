using System.Text;

namespace Kv.Protocol;

/// <summary>The client's side: takes replies of both versions out of received bytes. A peer may be any server, so it
/// believes nothing.</summary>
/// <remarks>Resumable by calling again with more bytes; a whole reply is looked for first, so that memory is made only
/// for bytes that are there. Streamed strings and aggregates ("$?") are not read: no server sends them.</remarks>
public static class ReplyReader
{
    /// <summary>Reads one reply.</summary>
    /// <param name="consumed">Its bytes, when complete; else 0.</param>
    public static ReplyStatus TryRead(ReadOnlySpan<byte> input, out int consumed, out RespValue value)
    {
        consumed = 0;
        value = null!;
        int end = 0;
        ReplyStatus status = TrySkip(input, ref end, out _);
        if (status != ReplyStatus.Complete) return status;

        int position = 0;
        status = Read(input[..end], ref position, 0, out value);
        if (status == ReplyStatus.Complete) consumed = position;
        return status;
    }

    /// <summary>Moves past one reply, with its attributes and elements, without building it.</summary>
    /// <param name="type">Its type; of the value itself where attributes come first.</param>
    /// <remarks>Allocates nothing. Cost: O(frames of the reply), independent of the lengths of its strings.</remarks>
    public static ReplyStatus TrySkip(ReadOnlySpan<byte> input, ref int position, out byte type)
    {
        type = 0;
        int at = position;
        long owed = 1;
        do
        {
            ReplyStatus status = ReadLine(input, ref at, out byte frame, out ReadOnlySpan<byte> line);
            if (status != ReplyStatus.Complete) return status;
            if (type == 0 && frame != RespType.Attribute && owed == 1) type = frame;
            owed--;
            switch (frame)
            {
                case RespType.Bulk or RespType.BulkError or RespType.Verbatim:
                    if (!TryReadLength(line, frame == RespType.Bulk, out long bytes)) return ReplyStatus.Invalid;
                    if (bytes < 0) break;
                    if (input.Length - at < bytes + 2) return ReplyStatus.NeedMoreData;
                    at += (int)bytes;
                    if (input[at] != '\r' || input[at + 1] != '\n') return ReplyStatus.Invalid;
                    at += 2;
                    break;
                case RespType.Array or RespType.Set or RespType.Push or RespType.Map or RespType.Attribute:
                    if (!TryReadLength(line, frame == RespType.Array, out long count)) return ReplyStatus.Invalid;
                    if (count > 0) owed += frame is RespType.Map or RespType.Attribute ? 2 * count : count;
                    if (frame == RespType.Attribute) owed++;
                    break;
                case RespType.SimpleString or RespType.Error or RespType.Integer or RespType.Null or RespType.Boolean
                    or RespType.Double or RespType.BigNumber:
                    break;
                default:
                    return ReplyStatus.Invalid;
            }
        }
        while (owed > 0);       // ends: each round takes at least one byte of the input
        position = at;
        return ReplyStatus.Complete;
    }

    private static ReplyStatus Read(ReadOnlySpan<byte> input, ref int position, int depth, out RespValue value)
    {
        value = null!;
        if (depth > RespLimits.MaxReplyDepth) return ReplyStatus.TooDeep;
        ReplyStatus status = ReadLine(input, ref position, out byte type, out ReadOnlySpan<byte> line);
        if (status != ReplyStatus.Complete) return status;
        switch (type)
        {
            case RespType.Array or RespType.Set or RespType.Push or RespType.Map:
                return ReadElements(input, ref position, depth, type, line, out value);
            case RespType.Attribute:
                return ReadAttributed(input, ref position, depth, line, out value);
            case RespType.Bulk or RespType.BulkError or RespType.Verbatim:
                return ReadBulk(input, ref position, type, line, out value);
            default:
                return ReadScalar(type, line, out value);
        }
    }

    private static ReplyStatus ReadElements(ReadOnlySpan<byte> input, ref int position, int depth, byte type,
        ReadOnlySpan<byte> line, out RespValue value)
    {
        value = null!;
        if (!TryReadLength(line, type == RespType.Array, out long count)) return ReplyStatus.Invalid;
        if (count < 0)
        {
            value = RespValue.OfNull(type);
            return ReplyStatus.Complete;
        }

        if (type == RespType.Map) count *= 2;
        var elements = new RespValue[count];        // they are all there: the frame was skipped before
        for (int index = 0; index < elements.Length; index++)
        {
            ReplyStatus status = Read(input, ref position, depth + 1, out elements[index]);
            if (status != ReplyStatus.Complete) return status;
        }

        value = RespValue.OfElements(type, elements);
        return ReplyStatus.Complete;
    }

    private static ReplyStatus ReadAttributed(ReadOnlySpan<byte> input, ref int position, int depth,
        ReadOnlySpan<byte> line, out RespValue value)
    {
        ReplyStatus status = ReadElements(input, ref position, depth, RespType.Map, line, out value);
        if (status != ReplyStatus.Complete) return status;
        RespValue[] attributes = value.Elements;
        status = Read(input, ref position, depth + 1, out value);
        if (status == ReplyStatus.Complete) value.Attributes = attributes;
        return status;
    }

    private static ReplyStatus ReadBulk(ReadOnlySpan<byte> input, ref int position, byte type, ReadOnlySpan<byte> line,
        out RespValue value)
    {
        value = null!;
        if (!TryReadLength(line, type == RespType.Bulk, out long bytes)) return ReplyStatus.Invalid;
        if (bytes < 0)
        {
            value = RespValue.OfNull(type);
            return ReplyStatus.Complete;
        }

        ReadOnlySpan<byte> body = input.Slice(position, (int)bytes);
        position += (int)bytes + 2;
        if (type != RespType.Verbatim)
        {
            value = RespValue.OfBytes(type, body.ToArray());
            return ReplyStatus.Complete;
        }

        if (body.Length < 4 || body[3] != ':') return ReplyStatus.Invalid;
        value = RespValue.OfVerbatim(body[4..].ToArray(), Encoding.Latin1.GetString(body[..3]));
        return ReplyStatus.Complete;
    }

    private static ReplyStatus ReadScalar(byte type, ReadOnlySpan<byte> line, out RespValue value)
    {
        value = null!;
        switch (type)
        {
            case RespType.SimpleString or RespType.Error or RespType.BigNumber:
                value = RespValue.OfBytes(type, line.ToArray());
                return ReplyStatus.Complete;
            case RespType.Integer:
                if (!NumberText.TryParseInt64(line, out long integer)) return ReplyStatus.Invalid;
                value = RespValue.OfInteger(type, integer, line.ToArray());
                return ReplyStatus.Complete;
            case RespType.Null:
                if (line.Length != 0) return ReplyStatus.Invalid;
                value = RespValue.OfNull(type);
                return ReplyStatus.Complete;
            case RespType.Boolean:
                if (line.Length != 1 || line[0] is not ((byte)'t' or (byte)'f')) return ReplyStatus.Invalid;
                value = RespValue.OfInteger(type, line[0] == 't' ? 1 : 0, line.ToArray());
                return ReplyStatus.Complete;
            case RespType.Double:
                double number = double.NaN;
                if (!line.SequenceEqual("nan"u8) && !NumberText.TryParseDouble(line, out number))
                    return ReplyStatus.Invalid;
                value = RespValue.OfDouble(number, line.ToArray());
                return ReplyStatus.Complete;
            default:
                return ReplyStatus.Invalid;
        }
    }

    private static ReplyStatus ReadLine(ReadOnlySpan<byte> input, ref int position, out byte type,
        out ReadOnlySpan<byte> line)
    {
        type = 0;
        line = default;
        if (position >= input.Length) return ReplyStatus.NeedMoreData;
        ReadOnlySpan<byte> rest = input[(position + 1)..];
        int bytes = rest.IndexOf((byte)'\r');
        if (bytes < 0 || bytes + 1 >= rest.Length) return ReplyStatus.NeedMoreData;
        if (rest[bytes + 1] != '\n') return ReplyStatus.Invalid;
        type = input[position];
        line = rest[..bytes];
        position += bytes + 3;
        return ReplyStatus.Complete;
    }

    private static bool TryReadLength(ReadOnlySpan<byte> line, bool nullable, out long length) =>
        NumberText.TryParseInt64(line, out length) && length <= int.MaxValue
        && (length >= 0 || (nullable && length == -1));
}
