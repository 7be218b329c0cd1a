using System.Buffers.Binary;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>PFSELFTEST: packed registers keep what is put into them, and estimates are as near as the theory
/// says.</summary>
internal sealed class HyperLogLogSelfTest : ICommandSteps
{
    private const int PackedRounds = 64, ElementsMax = 10_000_000, ElementsPerStep = 20_000;

    /// <summary>An estimate is wrong by more than six standard deviations once in 500 million runs.</summary>
    private const double Deviations = 6;

    private readonly byte[] _registers = new byte[HyperLogLog.Registers];
    private readonly byte[] _dense = new byte[HyperLogLog.DenseBytes];
    private readonly Random _random = new();
    private readonly HyperLogLogDraft _draft = new();
    private ulong _seed;
    private int _round, _elements;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_round < PackedRounds)
        {
            if (KeepsRegisters()) return false;
            context.Fail("TESTFAILED packed registers do not hold what was put into them"u8);
        }
        else if (!CountsElements(out long estimate))
        {
            context.Fail(System.Text.Encoding.ASCII.GetBytes(
                $"TESTFAILED {_elements} elements are counted as {estimate}, seed {_seed:x16}"));
        }
        else
        {
            if (_elements < ElementsMax) return false;
            context.Reply.WriteOk();
        }

        return true;
    }

    private bool KeepsRegisters()
    {
        Span<byte> packed = _dense.AsSpan(HyperLogLog.HeaderBytes);
        packed.Clear();
        for (int register = 0; register < HyperLogLog.Registers; register++)
        {
            _registers[register] = (byte)_random.Next(DenseRegisters.Max + 1);
            DenseRegisters.Raise(packed, register, _registers[register]);
        }

        Span<byte> again = stackalloc byte[DenseRegisters.Bytes];
        DenseRegisters.Pack(_registers, again);
        if (!again.SequenceEqual(packed)) return false;
        for (int register = 0; register < HyperLogLog.Registers; register++)
            if (DenseRegisters.Get(packed, register) != _registers[register]) return false;
        if (++_round == PackedRounds) Begin();
        return true;
    }

    private void Begin()
    {
        _seed = (ulong)_random.NextInt64();
        _draft.LoadEmpty();
        _draft.TryMakeDense();
    }

    /// <summary>Adds some elements, and looks at the estimate at each power of ten.</summary>
    private bool CountsElements(out long estimate)
    {
        estimate = 0;
        Span<byte> element = stackalloc byte[sizeof(ulong)];
        for (int i = 0; i < ElementsPerStep && _elements < ElementsMax; i++)
        {
            BinaryPrimitives.WriteUInt64LittleEndian(element, _seed ^ (ulong)_elements++);
            _draft.Add(HyperLogLog.Observe(element));
            if (!IsPowerOfTen(_elements)) continue;
            HyperLogLog.Count(_draft.Text, out estimate);
            double deviation = 1.04 / Math.Sqrt(HyperLogLog.Registers);
            // Of a few elements two may share a register.
            double error = _elements <= 10 ? 1 : Math.Ceiling(Deviations * deviation * _elements);
            if (Math.Abs(estimate - _elements) > error) return false;
        }

        return true;
    }

    private static bool IsPowerOfTen(int number)
    {
        while (number % 10 == 0) number /= 10;      // ends: a number above 0 loses a digit each round
        return number == 1;
    }
}
