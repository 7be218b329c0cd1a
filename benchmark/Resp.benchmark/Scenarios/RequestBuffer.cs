using System.Buffers.Text;

namespace RespBenchmark.Scenarios;

/// <summary>Requests of one connection that the kernel has still to take, as arrays of bulk strings.</summary>
internal sealed class RequestBuffer
{
    private byte[] _bytes = new byte[512];
    private int _start, _end;

    public ReadOnlySpan<byte> Unsent => _bytes.AsSpan(_start, _end - _start);

    /// <summary>Begins a request of so many arguments, which follow.</summary>
    public RequestBuffer Command(int arguments) => Header('*', arguments);

    public RequestBuffer Add(ReadOnlySpan<byte> argument)
    {
        Header('$', argument.Length);
        argument.CopyTo(Room(argument.Length));
        _end += argument.Length;
        return EndLine();
    }

    public RequestBuffer Add(long number)
    {
        Span<byte> text = stackalloc byte[20];
        Utf8Formatter.TryFormat(number, text, out int digits);
        return Add(text[..digits]);
    }

    /// <summary>The first bytes went out.</summary>
    public void Sent(int count)
    {
        _start += count;
        if (_start == _end) _start = _end = 0;
    }

    private RequestBuffer Header(char sign, int number)
    {
        Span<byte> room = Room(1 + 10 + 2);
        room[0] = (byte)sign;
        Utf8Formatter.TryFormat(number, room[1..], out int digits);
        _end += 1 + digits;
        return EndLine();
    }

    private RequestBuffer EndLine()
    {
        "\r\n"u8.CopyTo(Room(2));
        _end += 2;
        return this;
    }

    private Span<byte> Room(int count)
    {
        if (_end + count > _bytes.Length)
        {
            byte[] larger = _end - _start + count <= _bytes.Length / 2
                ? _bytes : new byte[Math.Max(_bytes.Length * 2, _end - _start + count)];
            Unsent.CopyTo(larger);
            (_end, _start, _bytes) = (_end - _start, 0, larger);
        }

        return _bytes.AsSpan(_end);
    }
}
