using System.Text;

namespace Kv.Tests.Protocol;

/// <summary>Random pipelines of well-formed commands, with what they must parse to.</summary>
internal sealed class RandomWire
{
    private readonly Random _random;
    private readonly MemoryStream _bytes = new();
    private readonly StringBuilder _expected = new();
    private readonly List<int> _commandEnds = [];

    private RandomWire(Random random) => _random = random;

    public byte[] Bytes { get; private set; } = [];

    /// <summary>In the form of <see cref="ParserResult"/>.</summary>
    public string Expected { get; private set; } = "";

    /// <summary>Where each command ends, empty ones too.</summary>
    public List<int> Ends { get; } = [];

    /// <summary>How many commands are whole, and not empty, in the first so many bytes.</summary>
    public int CommandsWithin(int bytes) => _commandEnds.Count(end => end <= bytes);

    /// <summary>Up to so many commands, empty ones and inline ones among them; a few with arguments of some
    /// KB.</summary>
    public static RandomWire Next(Random random, int commandsMax = 6)
    {
        var wire = new RandomWire(random);
        for (int count = random.Next(1, commandsMax + 1); count > 0; count--) wire.AddCommand();
        wire.Bytes = wire._bytes.ToArray();
        wire.Expected = wire._expected.Append("Complete").ToString();
        return wire;
    }

    private void AddCommand()
    {
        int kind = _random.Next(12);
        switch (kind)
        {
            case 0: _bytes.Write(Encoding.ASCII.GetBytes(Pick("*0\r\n", "*-1\r\n", "\r\n", "\n", " \r\n"))); break;
            case 1 or 2: AddInline(); break;
            case 3: AddMultibulk(_random.Next(10, 130)); break;
            default: AddMultibulk(_random.Next(1, 6)); break;
        }

        Ends.Add((int)_bytes.Length);
        if (kind != 0) _commandEnds.Add((int)_bytes.Length);
    }

    private void AddMultibulk(int count)
    {
        _bytes.Write(Encoding.ASCII.GetBytes($"*{count}\r\n"));
        for (int index = 0; index < count; index++)
        {
            byte[] argument = new byte[ArgumentBytes()];
            _random.NextBytes(argument);
            if (_random.Next(3) == 0) argument.AsSpan().Fill(Pick((byte)'\r', (byte)'\n', (byte)'$', (byte)'*'));
            _bytes.Write(Encoding.ASCII.GetBytes($"${argument.Length}\r\n"));
            _bytes.Write(argument);
            _bytes.Write("\r\n"u8);
            Expect(argument, index, count);
        }
    }

    private void AddInline()
    {
        int count = _random.Next(1, 5);
        for (int index = 0; index < count; index++)
        {
            byte[] argument = new byte[_random.Next(1, 12)];
            for (int at = 0; at < argument.Length; at++) argument[at] = (byte)_random.Next('a', 'z' + 1);
            bool quoted = index > 0 && _random.Next(3) == 0;
            if (index > 0) _bytes.WriteByte((byte)' ');
            if (quoted) argument[_random.Next(argument.Length)] = (byte)' ';
            if (quoted) _bytes.WriteByte((byte)'"');
            _bytes.Write(argument);
            if (quoted) _bytes.WriteByte((byte)'"');
            Expect(argument, index, count);
        }

        _bytes.Write(_random.Next(2) == 0 ? "\r\n"u8 : "\n"u8);
    }

    private void Expect(byte[] argument, int index, int count) =>
        _expected.Append('[').Append(Encoding.Latin1.GetString(argument)).Append(index == count - 1 ? "]\n" : "] ");

    private int ArgumentBytes() => _random.Next(40) switch
    {
        0 => _random.Next(100, 1100),
        1 => Pick(9, 10, 99, 100, 999, 1000),
        < 6 => _random.Next(10, 40),
        _ => _random.Next(0, 12),
    };

    private T Pick<T>(params T[] of) => of[_random.Next(of.Length)];
}
