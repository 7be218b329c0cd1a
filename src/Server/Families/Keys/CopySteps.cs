using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A copy of a collection of megabytes, for COPY: of the first key, to the second.</summary>
internal sealed class CopySteps(Store store) : HeldSteps
{
    private const long BytesMax = 1 << 20;

    private Region _copy;
    private long _copied;

    /// <summary>Begins, if there is much to copy.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held)
    {
        HeldValue source = held.Value(0);
        return source.HoldsRegion && source.Region.UsedBytes > BytesMax && context.MayStep
            && new CopySteps(context.Server.Store).TryBegin(ref context, held, ReplyHead.Number);
    }

    public override void Dispose()
    {
        base.Dispose();
        if (!_copy.IsNone) _copy.Free();
        _copy = default;
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        HeldValue source = held.Value(0);
        Debug.Assert(source.HoldsRegion, "only a large collection is copied in steps");
        if (_copy.IsNone)
        {
            _copy = source.Region.BeginCopy(store.Budget);
            if (_copy.IsNone) Status = StoreStatus.OutOfMemory;
            return _copy.IsNone;
        }

        _copied = source.Region.CopyTo(_copy, _copied, BytesPerStep);
        if (_copied != Region.CopyEnded) return false;
        Status = held.Value(1).TryReplace(source.Kind, _copy, source.View.ExpiryMs);
        if (Status == StoreStatus.Ok) _copy = default;      // the record's now
        Count = 1;
        return true;
    }
}
