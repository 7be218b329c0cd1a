using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Makes a union, which the destination is part of, the destination.</summary>
internal struct MergeHyperLogLogs(HyperLogLogDraft draft) : IValueUpdate
{
    public RegisterUnion Union = new(draft.Registers);

    /// <inheritdoc/>
    public Change Decide(in ValueView current, ref NewValue next)
    {
        // The destination was read with the others: its bytes are good.
        bool isLoaded = !current.Exists || draft.TryLoad(current.Bytes);
        Debug.Assert(isLoaded && Union.Status == HyperLogLogStatus.Ok, "all that were read are good");
        if (!current.Exists) draft.LoadEmpty();
        if (Union.HasDense) draft.SetDense(Union.Registers);
        else draft.RaiseTo(Union.Registers);
        HyperLogLog.ForgetCardinality(draft.Text);
        return HyperLogLogChange.Replace(draft, ref next);
    }

    /// <inheritdoc/>
    public readonly void Write(Span<byte> destination) => draft.Text.CopyTo(destination);
}
