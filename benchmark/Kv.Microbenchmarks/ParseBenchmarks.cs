using System.Text;
using BenchmarkDotNet.Attributes;
using Kv.Protocol;

namespace Kv.Microbenchmarks;

/// <summary>Parsing a pipeline of 64 commands; a result is for one command.</summary>
[MemoryDiagnoser]
public unsafe class ParseBenchmarks
{
    private const int Commands = 64;

    private readonly ArgumentTable _table = new();
    private readonly RespLimits _limits = new();
    private byte[] _input = [];
    private int _length;

    [Params("GET", "SET", "MGET")]
    public string Command { get; set; } = "";

    [GlobalSetup]
    public void Setup()
    {
        string one = Command switch
        {
            "GET" => "*2\r\n$3\r\nGET\r\n$8\r\nkey:0001\r\n",
            "SET" => "*3\r\n$3\r\nSET\r\n$8\r\nkey:0001\r\n$8\r\nvalue:01\r\n",
            _ => "*11\r\n$4\r\nMGET\r\n" + string.Concat(Enumerable.Repeat("$8\r\nkey:0001\r\n", 10)),
        };
        byte[] bytes = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(one, Commands)));
        _length = bytes.Length;
        _input = GC.AllocateArray<byte>(_length + CommandParser.PaddingBytes, pinned: true);
        bytes.CopyTo(_input, 0);
    }

    [Benchmark(OperationsPerInvoke = Commands)]
    public int Parse()
    {
        _table.Clear();
        int position = 0, arguments = 0;
        var state = default(ParseState);
        fixed (byte* input = _input)
        {
            while (position < _length)
            {
                if (CommandParser.Parse(input, _length, ref position, _table, _limits, true, ref state, out _,
                    out int count) != ParseStatus.Complete)
                    throw new InvalidOperationException("the input of the benchmark is not a command");
                arguments += count;
            }
        }

        return arguments;
    }
}
