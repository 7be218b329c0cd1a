namespace Kv.Tests.Models;

//  Bytes of a state:
//  | control 2 | buckets (2 + Chains) x entries | links of chains | chains taken | records x 4 | threads x 32 | calls x 4 |
//
//  control   | sequence 3 | overflow 3 | depth 1 | latch 1 |    bucket 0 is the near half, 1 the far one, 1 + n overflow n
//  record    | flags | version | low half of the value | high half |

/// <summary>One state of the model: the memory that threads share, and where each thread is.</summary>
internal sealed class ModelState
{
    public const int Chains = 7, ThreadBytes = 32, RecordBytes = 4, CallBytes = 4;
    public const byte Lock = 1, Dead = 2, Placeholder = 4;
    public const byte Latch = 1, Depth = 2, OverflowShift = 2, SequenceOne = 32;

    private readonly int _links, _records, _threads, _calls, _entries;

    public ModelState(int entries, int records, int threads, int calls)
    {
        _entries = entries;
        _links = 2 + (2 + Chains) * entries;
        _records = _links + Chains + 2;
        _threads = _records + (records + 1) * RecordBytes;
        _calls = _threads + threads * ThreadBytes;
        Bytes = new byte[_calls + calls * CallBytes];
    }

    public byte[] Bytes { get; }

    public ref byte Control(int home) => ref Bytes[home];
    public ref byte Entry(int bucket, int lane) => ref Bytes[2 + bucket * _entries + lane];
    public ref byte Link(int bucket) => ref Bytes[_links + bucket - 1];
    public ref byte ChainsTaken => ref Bytes[_links];
    public ref byte Flags(int record) => ref Bytes[_records + record * RecordBytes];
    public ref byte Version(int record) => ref Bytes[_records + record * RecordBytes + 1];
    public ref byte Low(int record) => ref Bytes[_records + record * RecordBytes + 2];
    public ref byte High(int record) => ref Bytes[_records + record * RecordBytes + 3];
    public Span<byte> Thread(int thread) => Bytes.AsSpan(_threads + thread * ThreadBytes, ThreadBytes);

    /// <summary>Of a call: done, the calls that were done when it began, and two results.</summary>
    public Span<byte> Call(int call) => Bytes.AsSpan(_calls + call * CallBytes, CallBytes);

    public static int OverflowOf(byte control) => (control >> OverflowShift) & 7;

    /// <summary>128 bits that stand for the state among those visited.</summary>
    public UInt128 Digest()
    {
        ulong first = 0x9E3779B97F4A7C15, second = 0xC2B2AE3D27D4EB4F;
        int at = 0;
        for (; at + 8 <= Bytes.Length; at += 8) Mix(BitConverter.ToUInt64(Bytes, at));
        ulong rest = 0;
        for (; at < Bytes.Length; at++) rest = rest << 8 | Bytes[at];
        Mix(rest);
        return new UInt128(first, second);

        void Mix(ulong word)
        {
            ulong high = Math.BigMul(first ^ word, 0xA0761D6478BD642F, out ulong low);
            first = high ^ low ^ second;
            high = Math.BigMul(second ^ word, 0xE7037ED1A0B428DB, out low);
            second = unchecked((high ^ low) + word * 0x8EBC6AF09C88C6E3);
        }
    }
}
