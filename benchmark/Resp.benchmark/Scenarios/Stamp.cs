using System.Buffers.Text;

namespace RespBenchmark.Scenarios;

//  | intended 16 hex | sent 16 hex | x x x ... to the length asked for |

/// <summary>A message's body that says when it was due and when it left.</summary>
internal sealed class Stamp
{
    public const int BytesMin = 32;

    private const int Digits = 16;
    private static readonly System.Buffers.StandardFormat Hexadecimal = new('x', Digits);

    private readonly byte[] _body;

    /// <param name="bytes">Its length; at least <see cref="BytesMin"/>.</param>
    public Stamp(int bytes)
    {
        _body = new byte[Math.Max(BytesMin, bytes)];
        _body.AsSpan().Fill((byte)'x');
    }

    /// <summary>The body for one message, until the next call.</summary>
    public ReadOnlySpan<byte> Write(in Departure departure)
    {
        Utf8Formatter.TryFormat(departure.Intended, _body, out _, Hexadecimal);
        Utf8Formatter.TryFormat(departure.Sent, _body.AsSpan(Digits), out _, Hexadecimal);
        return _body;
    }

    /// <summary>Reads a body back. False: it is not one of ours.</summary>
    public static bool TryRead(ReadOnlySpan<byte> body, out Departure departure)
    {
        departure = default;
        if (body.Length < BytesMin || !Utf8Parser.TryParse(body[..Digits], out long intended, out int first, 'x')
            || first != Digits
            || !Utf8Parser.TryParse(body.Slice(Digits, Digits), out long sent, out int second, 'x')
            || second != Digits) return false;
        departure = new Departure(intended, sent);
        return true;
    }
}
