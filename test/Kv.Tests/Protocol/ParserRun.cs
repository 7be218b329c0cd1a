using System.Text;
using Kv.Protocol;

namespace Kv.Tests.Protocol;

/// <summary>Feeds bytes to the parser as a session would, and keeps what came out.</summary>
internal sealed unsafe class ParserRun(int capacity = 256 * 1024) : IDisposable
{
    private readonly GuardedInput _input = new(capacity);
    private readonly ArgumentTable _table = new();
    private ParseState _state;

    public RespLimits Limits { get; } = new();

    public bool Authenticated { get; set; } = true;

    /// <summary>Uses the path that decides, without the fast one before it.</summary>
    public bool SlowOnly { get; set; }

    /// <summary>What lies behind the input; hostile on request.</summary>
    public byte[] Beyond { get; set; } = [];

    public ref ParseState State => ref _state;

    public ArgumentTable Table => _table;

    /// <summary>All commands of an input that arrives in pieces ending at <paramref name="cuts"/>. Between pieces the
    /// consumed bytes leave the buffer, and the rest moves.</summary>
    public ParserResult Run(ReadOnlySpan<byte> input, params ReadOnlySpan<int> cuts)
    {
        var commands = new List<byte[][]>();
        int begin = 0;
        for (int piece = 0; piece <= cuts.Length; piece++)
        {
            int end = piece < cuts.Length ? cuts[piece] : input.Length;
            ParseStatus status = ParseAll(input[begin..end], commands, out int consumed);
            if (status != ParseStatus.NeedMoreData)
            {
                var failed = new ParserResult(commands, status, _state.Got);
                Reset();
                return failed;
            }

            begin += consumed;
        }

        Reset();
        return new ParserResult(commands, begin == input.Length ? ParseStatus.Complete : ParseStatus.NeedMoreData, 0);
    }

    /// <summary>Parses until more is needed or an error stops it; the state stays.</summary>
    public ParseStatus ParseAll(ReadOnlySpan<byte> arrived, List<byte[][]> commands, out int consumed)
    {
        byte* start = _input.Place(arrived, Beyond);
        consumed = 0;
        _table.Clear();
        while (true)        // ends: a complete command takes at least one byte, and so does one that is interrupted
        {
            int at = consumed, before = _table.Count;
            ParseStatus status = Parse(start, arrived.Length, ref consumed, out int first, out int count);
            if (status != ParseStatus.Complete)
            {
                Assert.True((at == consumed || _state.IsLarge) && before == _table.Count
                    && count == 0, "an incomplete command left traces");
                if (status != ParseStatus.NeedMoreData || !_state.IsInterrupted) return status;
                continue;
            }

            Assert.True(consumed > at && consumed <= arrived.Length, "took nothing, or more than there is");
            if (count == 0) continue;
            var command = new byte[count][];
            for (int index = 0; index < count; index++) command[index] = _table.Items[first + index].Span.ToArray();
            commands.Add(command);
        }
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

    private ParseStatus Parse(byte* input, int length, ref int position, out int first, out int count) => SlowOnly
        ? CommandParser.ParseSlow(input, length, ref position, _table, Limits, Authenticated, ref _state,
            out first, out count)
        : CommandParser.Parse(input, length, ref position, _table, Limits, Authenticated, ref _state,
            out first, out count);
}

/// <summary>What the parser made of some bytes; compare as text.</summary>
internal sealed class ParserResult(List<byte[][]> commands, ParseStatus end, byte got)
{
    public IReadOnlyList<byte[][]> Commands => commands;

    /// <summary>The protocol error; else Complete, or NeedMoreData when a part of a command is left over.</summary>
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
