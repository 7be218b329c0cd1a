using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Text.Unicode;

namespace Kv.Server.Diagnostics;

//  1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a \"b\"\r\n\x00"
//  seconds.microseconds [database client] arguments

/// <summary>A command as MONITOR shows it, in one line. The caller disposes it.</summary>
internal struct MonitorLine : IDisposable
{
    /// <summary>More bytes of arguments (and three for each argument) are not shown, only counted: whoever runs a
    /// command writes its line, and others wait for that.</summary>
    public const int ArgumentBytesMax = 1 << 20;

    /// <summary>Times, the number of a database, and how many bytes are left out.</summary>
    private const int OtherBytesMax = 128;

    /// <summary>What an argument takes beside its bytes, each of which takes four at most.</summary>
    private const int QuotesBytes = 3, EscapedBytesMax = 4;

    private byte[] _bytes;
    private int _length, _shown;
    private long _leftOut;

    /// <param name="client">Who sent it: an address, or what stands for one.</param>
    public MonitorLine(DateTimeOffset time, int database, string client)
    {
        _bytes = ArrayPool<byte>.Shared.Rent(OtherBytesMax + (client.Length * EscapedBytesMax));
        long microseconds = (time - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;
        Utf8.TryWrite(_bytes, CultureInfo.InvariantCulture,
            $"{microseconds / 1_000_000}.{microseconds % 1_000_000:D6} [{database} {client}]", out _length);
        Debug.Assert(_length > 0, "there was room for it");
    }

    /// <summary>The line so far.</summary>
    public readonly ReadOnlySpan<byte> Text => _bytes.AsSpan(0, _length);

    /// <summary>Adds an argument, in quotes.</summary>
    public void Append(ReadOnlySpan<byte> argument)
    {
        int room = ArgumentBytesMax - _shown - QuotesBytes;
        if (_leftOut > 0 || room < 0)
        {
            _leftOut += argument.Length + QuotesBytes;
            return;
        }

        int shown = Math.Min(argument.Length, room);
        _shown += shown + QuotesBytes;
        _leftOut = argument.Length - shown;
        Reserve((shown * EscapedBytesMax) + QuotesBytes);
        Add(' ');
        Add('"');
        foreach (byte one in argument[..shown]) Escape(one);
        Add('"');
    }

    /// <summary>Adds what stands for a secret.</summary>
    public void AppendRedacted() => Append("(redacted)"u8);

    /// <summary>Says how much was left out, if anything was.</summary>
    public void End()
    {
        if (_leftOut == 0) return;
        Reserve(OtherBytesMax);
        Utf8.TryWrite(_bytes.AsSpan(_length), CultureInfo.InvariantCulture, $"... ({_leftOut} more bytes)",
            out int more);
        _length += more;
    }

    public readonly void Dispose() => ArrayPool<byte>.Shared.Return(_bytes);

    private void Escape(byte one)
    {
        switch (one)
        {
            case (byte)'"' or (byte)'\\': AddEscaped((char)one); break;
            case (byte)'\n': AddEscaped('n'); break;
            case (byte)'\r': AddEscaped('r'); break;
            case (byte)'\t': AddEscaped('t'); break;
            case (byte)'\a': AddEscaped('a'); break;
            case (byte)'\b': AddEscaped('b'); break;
            case >= 0x20 and < 0x7F: Add((char)one); break;
            default:
                AddEscaped('x');
                Add(HexOf(one >> 4));
                Add(HexOf(one & 15));
                break;
        }
    }

    private static char HexOf(int digit) => (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);

    private void AddEscaped(char one)
    {
        Add('\\');
        Add(one);
    }

    private void Add(char one) => _bytes[_length++] = (byte)one;

    private void Reserve(int bytes)
    {
        if (_bytes.Length - _length >= bytes) return;
        var larger = ArrayPool<byte>.Shared.Rent(Math.Max(_length + bytes, _bytes.Length * 2));
        Text.CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
    }
}
