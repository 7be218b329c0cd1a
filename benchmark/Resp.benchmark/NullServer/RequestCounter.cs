using System.Buffers.Text;

namespace RespBenchmark.NullServer;

/// <summary>Counts commands in a stream without looking at their arguments: once a command's shape is known, an equal
/// one is passed over by its length.</summary>
/// <remarks>A shape is all bytes of a command that say lengths; two commands of one shape differ in bodies
/// only.</remarks>
internal sealed class RequestCounter
{
    /// <summary>What is kept of an incomplete line or name; a longer one is no request.</summary>
    public const int TailMax = 256;

    private const int ShapeArgumentsMax = 16, ShapeBytesMax = 4096;

    private readonly CannedReplies _replies;

    // The shape of the last command that fitted: its length and the places of its fixed bytes.
    private readonly byte[] _shape = new byte[ShapeBytesMax];
    private readonly (int Offset, int Length)[] _fixed = new (int, int)[ShapeArgumentsMax + 1];
    private int _fixedCount, _shapeBytes;
    private ReplyPattern? _shapeReply;

    public RequestCounter(CannedReplies replies) => _replies = replies;

    /// <summary>Passes over commands and gives each its reply.</summary>
    /// <returns>The bytes consumed, all but an incomplete line or name; -1 when this is no request.</returns>
    public int Consume(ReadOnlySpan<byte> input, NullConnection connection)
    {
        int at = 0;
        while (at < input.Length)       // ends: each round takes bytes or returns
        {
            if (connection.SkipBytes > 0)
            {
                int skipped = (int)Math.Min(connection.SkipBytes, input.Length - at);
                connection.SkipBytes -= skipped;
                at += skipped;
                if (connection.SkipBytes == 0 && connection.ArgumentsLeft == 0) connection.Answer(connection.Reply!, 1);
                continue;
            }

            if (connection.ArgumentsLeft == 0)
            {
                int run = CountShape(input[at..]);
                if (run > 0)
                {
                    connection.Answer(_shapeReply!, run);
                    at += run * _shapeBytes;
                    continue;
                }
            }

            int taken = ConsumePart(input[at..], connection);
            if (taken <= 0) return taken < 0 || input.Length - at > TailMax ? -1 : at;
            at += taken;
        }

        return at;
    }

    /// <summary>How many commands of the known shape begin the input, one behind the other.</summary>
    private int CountShape(ReadOnlySpan<byte> input)
    {
        int count = 0;
        if (_shapeBytes == 0) return 0;
        for (; input.Length >= _shapeBytes; input = input[_shapeBytes..], count++)
        {
            for (int part = 0; part < _fixedCount; part++)
            {
                (int offset, int length) = _fixed[part];
                if (!input.Slice(offset, length).SequenceEqual(_shape.AsSpan(offset, length))) return count;
            }
        }

        return count;
    }

    /// <summary>Takes a whole command where it is all there, else its header and name, else the header of an
    /// argument.</summary>
    private int ConsumePart(ReadOnlySpan<byte> input, NullConnection connection)
    {
        if (connection.ArgumentsLeft > 0) return ConsumeArgument(input, connection);
        if (input[0] is (byte)'\r' or (byte)'\n') return 1;
        if (input[0] != '*')
        {
            int line = input.IndexOf((byte)'\n');
            if (line < 0) return 0;
            connection.Answer(_replies.Find(input[..input.IndexOfAny((byte)' ', (byte)'\r', (byte)'\n')], 1), 1);
            return line + 1;
        }

        int at = 0;
        if (!TryReadHeader(input, ref at, (byte)'*', out int arguments)) return at;
        if (arguments < 1) return at;
        if (!TryReadHeader(input, ref at, (byte)'$', out int nameBytes)) return at;
        if (nameBytes is < 0 or > TailMax / 2) return -1;
        if (input.Length < at + nameBytes + 2) return 0;
        ReplyPattern reply = _replies.Find(input.Slice(at, nameBytes), arguments);
        int nameAt = at;
        at += nameBytes + 2;
        if (LearnShape(input, nameAt, at, arguments, reply)) return TakeShape(connection);
        connection.Reply = reply;
        connection.ArgumentsLeft = arguments - 1;
        if (arguments == 1) connection.Answer(reply, 1);
        return at;
    }

    private int TakeShape(NullConnection connection)
    {
        connection.Answer(_shapeReply!, 1);
        return _shapeBytes;
    }

    private static int ConsumeArgument(ReadOnlySpan<byte> input, NullConnection connection)
    {
        int at = 0;
        if (!TryReadHeader(input, ref at, (byte)'$', out int bytes)) return at;
        if (bytes < 0) return -1;
        connection.ArgumentsLeft--;
        connection.SkipBytes = (long)bytes + 2;
        return at;
    }

    /// <summary>Keeps the shape of a command that is small and all there.</summary>
    private bool LearnShape(ReadOnlySpan<byte> input, int nameAt, int at, int arguments, ReplyPattern reply)
    {
        if (arguments > ShapeArgumentsMax) return false;
        int fixedCount = 0, begin = 0;
        for (int argument = 1; argument < arguments; argument++)
        {
            if (!TryReadHeader(input, ref at, (byte)'$', out int bytes) || bytes < 0 || input.Length - at < bytes + 2)
                return false;
            _fixed[fixedCount++] = (begin, at - begin);
            begin = at += bytes;            // the CR LF behind a body belongs to the next fixed part
            at += 2;
        }

        if (at > ShapeBytesMax || at > input.Length || nameAt > at) return false;
        _fixed[fixedCount++] = (begin, at - begin);
        input[..at].CopyTo(_shape);
        _fixedCount = fixedCount;
        _shapeBytes = at;
        _shapeReply = reply;
        return true;
    }

    /// <summary>Reads a header line; false with <paramref name="at"/> 0 when more is needed and -1 when it is
    /// none.</summary>
    private static bool TryReadHeader(ReadOnlySpan<byte> input, ref int at, byte mark, out int number)
    {
        number = 0;
        ReadOnlySpan<byte> rest = input[at..];
        int end = rest.IndexOf((byte)'\n');
        if (end < 0)
        {
            at = rest.Length > 32 || (rest.Length > 0 && rest[0] != mark) ? -1 : 0;
            return false;
        }

        if (rest[0] != mark || end < 2 || !Utf8Parser.TryParse(rest[1..(end - 1)], out number, out int taken)
            || taken != end - 2)
        {
            at = -1;
            return false;
        }

        at += end + 1;
        return true;
    }
}
