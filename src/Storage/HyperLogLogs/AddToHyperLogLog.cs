using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Adds elements to a HyperLogLog: to a dense value in its place, to a sparse one in a draft.</summary>
internal ref struct AddToHyperLogLog<TElements>(TElements elements, HyperLogLogDraft draft) : IValueUpdate
    where TElements : struct, IElementList, allows ref struct
{
    private readonly TElements _elements = elements;
    private int _firstRaised = -1;       // of a dense value: what comes before it changes nothing

    public HyperLogLogStatus Status { get; private set; }

    public bool HasChanged { get; private set; }

    /// <summary>How many of the elements have raised a register, and one more if there was nothing.</summary>
    public int Changes { get; private set; }

    /// <inheritdoc/>
    public Change Decide(in ValueView current, ref NewValue next)
    {
        ReadOnlySpan<byte> text = RegisterUnion.TextOf(current);
        _firstRaised = -1;
        HasChanged = !current.Exists;
        Changes = current.Exists ? 0 : 1;
        if (HasChanged) draft.LoadEmpty();
        else if (!HyperLogLog.TryReadEncoding(text, out var encoding)) return End(HyperLogLogStatus.NotOne);
        else if (encoding == HyperLogLogEncoding.Dense) return DecideDense(current, ref next);
        else if (!draft.TryLoad(text)) return End(HyperLogLogStatus.Corrupt);

        for (int i = 0; i < _elements.Count; i++)
        {
            var result = draft.Add(_elements.Observe(i));
            if (result == SparseResult.Corrupt) return End(HyperLogLogStatus.Corrupt);
            if (result != SparseResult.Raised) continue;
            HasChanged = true;
            Changes++;
        }

        Status = HyperLogLogStatus.Ok;
        if (!HasChanged) return Change.None;
        HyperLogLog.ForgetCardinality(draft.Text);
        return HyperLogLogChange.Replace(draft, ref next);
    }

    private Change DecideDense(in ValueView current, ref NewValue next)
    {
        ReadOnlySpan<byte> packed = current.Bytes[HyperLogLog.HeaderBytes..];
        Status = HyperLogLogStatus.Ok;
        for (int i = 0; i < _elements.Count; i++)
        {
            var seen = _elements.Observe(i);
            if (DenseRegisters.Get(packed, seen.Register) >= seen.Rank) continue;
            _firstRaised = i;
            HasChanged = true;
            return HyperLogLogChange.InPlace(current, ref next);
        }

        return Change.None;
    }

    /// <inheritdoc/>
    public void Write(Span<byte> destination)
    {
        if (_firstRaised < 0)
        {
            draft.Text.CopyTo(destination);
            return;
        }

        Changes = 0;
        Debug.Assert(destination.Length == HyperLogLog.DenseBytes, "only a dense one is changed in its place");
        Span<byte> packed = destination[HyperLogLog.HeaderBytes..];
        for (int i = _firstRaised; i < _elements.Count; i++)
        {
            var seen = _elements.Observe(i);
            if (DenseRegisters.Raise(packed, seen.Register, seen.Rank)) Changes++;
        }

        HyperLogLog.ForgetCardinality(destination);
    }

    private Change End(HyperLogLogStatus status)
    {
        Status = status;
        return Change.None;
    }
}

/// <summary>Elements by their places.</summary>
internal interface IElementList
{
    /// <summary>How many there are.</summary>
    int Count { get; }

    /// <summary>What one of them shows.</summary>
    HyperLogLog.Observation Observe(int index);
}
