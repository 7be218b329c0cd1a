using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A HyperLogLog that is being changed, in memory of its own until the store takes it. A session's scratch,
/// used again and again.</summary>
/// <remarks>Threads: one. 49 KB, kept, so that no operation allocates.</remarks>
internal sealed class HyperLogLogDraft
{
    private readonly byte[] _text = new byte[HyperLogLog.SparseBytesMax + SparseRegisters.GrowthMax];
    private int _length;

    /// <summary>The most bytes of a sparse one; at most what a sound one can need, so that none outgrows its
    /// room.</summary>
    public long SparseBytesMax
    {
        get;
        set => field = Math.Min(value, HyperLogLog.SparseBytesMax);
    } = HyperLogLog.SparseBytesMax;

    public bool IsDense { get; private set; }

    /// <summary>The whole string, header included.</summary>
    public Span<byte> Text => _text.AsSpan(0, _length);

    /// <summary>Room for the registers of a union, a byte each. Used by <see cref="TryMakeDense"/>, too.</summary>
    public byte[] Registers { get; } = new byte[HyperLogLog.Registers];

    /// <summary>Begins with an empty one.</summary>
    public void LoadEmpty()
    {
        _length = HyperLogLog.EmptyBytes;
        IsDense = false;
        HyperLogLog.WriteEmpty(Text);
    }

    /// <summary>Begins with a copy of one.</summary>
    /// <returns>False: it is longer than one with all its registers can be.</returns>
    public bool TryLoad(ReadOnlySpan<byte> text)
    {
        if (text.Length > HyperLogLog.SparseBytesMax) return false;
        _length = text.Length;
        text.CopyTo(Text);
        IsDense = HyperLogLog.TryReadEncoding(text, out var encoding) && encoding == HyperLogLogEncoding.Dense;
        return true;
    }

    /// <summary>Raises the register that an element goes to.</summary>
    /// <returns>Unchanged, Raised or Corrupt.</returns>
    public SparseResult Add(HyperLogLog.Observation seen)
    {
        Debug.Assert(seen.Register is >= 0 and < HyperLogLog.Registers && seen.Rank is > 0 and <= HyperLogLog.RankMax,
            "an element goes to a register, and raises it");
        if (!IsDense)
        {
            var cursor = SparseRegisters.Cursor.Start;
            var result = SparseRegisters.Raise(_text, ref _length, seen, SparseBytesMax, ref cursor);
            if (result != SparseResult.NeedsDense) return result;
            if (!TryMakeDense()) return SparseResult.Corrupt;
        }

        return DenseRegisters.Raise(Text[HyperLogLog.HeaderBytes..], seen.Register, seen.Rank)
            ? SparseResult.Raised : SparseResult.Unchanged;
    }

    /// <summary>Raises all registers of a sparse one, one after another, to those of a union that it is part
    /// of.</summary>
    public void RaiseTo(ReadOnlySpan<byte> registers)
    {
        Debug.Assert(!IsDense, "a dense one takes all registers at once");
        Debug.Assert(registers.Length == HyperLogLog.Registers, "all registers are there");
        var cursor = SparseRegisters.Cursor.Start;
        // Ends: each round goes past the register that it found.
        for (int register = 0; ; register++)
        {
            int next = registers[register..].IndexOfAnyExcept((byte)0);
            if (next < 0) return;
            register += next;
            var seen = new HyperLogLog.Observation(register, registers[register]);
            if (SparseRegisters.Raise(_text, ref _length, seen, SparseBytesMax, ref cursor) != SparseResult.NeedsDense)
                continue;
            SetDense(registers);        // which has those before and after this one as well
            return;
        }
    }

    /// <summary>Makes a sparse one dense.</summary>
    /// <returns>False: its registers are not all there; it stays as it was.</returns>
    public bool TryMakeDense()
    {
        Registers.AsSpan().Clear();
        if (!SparseRegisters.TryMerge(Text, Registers)) return false;
        SetDense(Registers);
        return true;
    }

    /// <summary>Makes it a dense one of these registers; the rest of the header stays.</summary>
    public void SetDense(ReadOnlySpan<byte> registers)
    {
        Debug.Assert(registers.Length == HyperLogLog.Registers, "all registers are there");
        _length = HyperLogLog.DenseBytes;
        DenseRegisters.Pack(registers, Text[HyperLogLog.HeaderBytes..]);
        HyperLogLog.SetDense(Text);
        IsDense = true;
    }
}
