using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

/// <summary>Feeds bytes to the parser as a session would, and keeps what came out as text.</summary>
internal sealed unsafe class ParserRun : IDisposable
{
    private readonly GuardedInput _input;
    private readonly ArgumentTable _table = new();
    private ParseState _state;

    public ParserRun(int capacity = 256 * 1024) => _input = new GuardedInput(capacity);

    public RespLimits Limits { get; } = new();

    public bool Authenticated { get; set; } = true;

    public ref ParseState State => ref _state;

    public ArgumentTable Table => _table;

    /// <summary>What lies behind the input; hostile on request.</summary>
    public byte[] Beyond { get; set; } = [];

    /// <summary>One call of the parser.</summary>
    public ParseStatus Parse(ReadOnlySpan<byte> input, ref int position, out byte[][] arguments)
    {
        byte* start = _input.Place(input, Beyond);
        int before = _table.Count;
        int at = position;
        ParseStatus status = CommandParser.Parse(start, input.Length, ref position, _table, Limits, Authenticated,
            ref _state, out int first, out int count);
        arguments = new byte[count][];
        for (int index = 0; index < count; index++) arguments[index] = _table.Items[first + index].Span.ToArray();
        if (status != ParseStatus.Complete)
        {
            Assert.Equal(at, position);
            Assert.Equal(before, _table.Count);
            Assert.Empty(arguments);
        }

        return status;
    }

    /// <summary>All commands of the input that arrive in pieces ending at <paramref name="cuts"/>; the base moves with
    /// each, and consumed bytes leave the buffer.</summary>
    public ParserResult Run(ReadOnlySpan<byte> input, params ReadOnlySpan<int> cuts)
    {
        var commands = new List<byte[][]>();
        int begin = 0;
        for (int piece = 0; piece <= cuts.Length; piece++)
        {
            int end = piece < cuts.Length ? cuts[piece] : input.Length;
            int position = 0;
            ReadOnlySpan<byte> arrived = input[begin..end];
            while (true)
            {
                ParseStatus status = Parse(arrived, ref position, out byte[][] arguments);
                if (status == ParseStatus.NeedMoreData) break;
                if (status != ParseStatus.Complete) return new ParserResult(commands, status, _state.Got);
                if (arguments.Length > 0) commands.Add(arguments);
            }

            begin += position;
            _table.Clear();
        }

        return new ParserResult(commands, begin == input.Length ? ParseStatus.Complete : ParseStatus.NeedMoreData, 0);
    }

    public void Reset()
    {
        _state.Reset();
        _table.Clear();
    }

    public void Dispose()
    {
        _state.Dispose();
        _table.Dispose();
        _input.Dispose();
    }
}

/// <summary>What the parser made of some bytes; equal by content.</summary>
internal sealed class ParserResult(List<byte[][]> commands, ParseStatus end, byte got)
{
    public IReadOnlyList<byte[][]> Commands => commands;

    /// <summary>The protocol error; or Complete, or NeedMoreData when a part of a command is left over.</summary>
    public ParseStatus End => end;

    public byte Got => got;

    public override string ToString()
    {
        var text = new StringBuilder();
        foreach (byte[][] command in commands)
            text.AppendJoin(' ', command.Select(word => $"[{Encoding.Latin1.GetString(word)}]")).Append('\n');
        text.Append(end);
        if (end == ParseStatus.ExpectedDollar) text.Append(' ').Append(got);
        return text.ToString();
    }
}
