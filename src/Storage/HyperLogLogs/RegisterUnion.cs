using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The union of several HyperLogLogs: PFCOUNT of several keys, PFMERGE. A missing key adds nothing.</summary>
/// <remarks>After the first value that is none, or corrupt, the others are not looked at.</remarks>
internal struct RegisterUnion : IManyRead
{
    private readonly byte[] _registers;

    /// <param name="registers">Where the highest of each register goes, a byte each.</param>
    public RegisterUnion(byte[] registers)
    {
        Debug.Assert(registers.Length == HyperLogLog.Registers, "there is a byte for each register");
        _registers = registers;
        Restart();
    }

    /// <summary>The highest of each register, a byte each.</summary>
    public readonly ReadOnlySpan<byte> Registers => _registers;

    /// <summary>What was wrong with a value, if anything was.</summary>
    public HyperLogLogStatus Status { get; private set; }

    /// <summary>Whether one of them is dense.</summary>
    public bool HasDense { get; private set; }

    /// <summary>How many different elements went into all of them.</summary>
    public readonly long Cardinality
    {
        get
        {
            Span<int> histogram = stackalloc int[RegisterHistogram.Length];
            histogram.Clear();
            RegisterHistogram.Of(Registers, histogram);
            return RegisterHistogram.Cardinality(histogram);
        }
    }

    /// <summary>The bytes of a string, as far as they can be a HyperLogLog: the digits of an integer cannot.</summary>
    public static ReadOnlySpan<byte> TextOf(in ValueView value) =>
        value.Kind == ValueKind.Integer ? default : value.Bytes;

    /// <inheritdoc/>
    public void Restart()
    {
        _registers.AsSpan().Clear();
        Status = HyperLogLogStatus.Ok;
        HasDense = false;
    }

    /// <inheritdoc/>
    public void Read(int index, in ValueView value)
    {
        if (!value.Exists || Status != HyperLogLogStatus.Ok) return;
        if (value.Type != DataType.String)
        {
            Status = HyperLogLogStatus.WrongType;
            return;
        }

        Status = HyperLogLog.Merge(TextOf(value), _registers, out var encoding);
        HasDense |= encoding == HyperLogLogEncoding.Dense;
    }
}
