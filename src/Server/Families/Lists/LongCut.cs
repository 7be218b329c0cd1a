using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very many elements removed from both ends of a list, for LTRIM.</summary>
/// <param name="first">The first of those that stay.</param>
/// <param name="count">So many stay.</param>
internal sealed class LongCut(long first, long count) : LongElements
{
    private const int LeavesMax = 4096, LeavesPerStep = 1024;

    private long _first = first;
    private bool _hasChanged;

    /// <inheritdoc/>
    public override bool HasChanged => _hasChanged;

    /// <summary>Begins, if it is very long.</summary>
    /// <param name="first">The first of those that stay.</param>
    /// <param name="count">So many stay.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long first, long count) =>
        new ListValue(held.Value).Leaves > LeavesMax && !context.InTransaction
        && new LongCut(first, count).TryBegin(ref context, held, ReplyHead.None, count: 0);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var list = new ListValue(value);
        if (!_hasChanged) value.BeginChange();
        _hasChanged = true;
        long behind = list.Count - _first - count;
        if (behind != 0)
        {
            long taken = Math.Min(behind, list.CountIn(list.Count - 1, LeavesPerStep, backwards: true));
            list.Remove(list.Count - taken, taken);
            return false;
        }

        if (_first != 0)
        {
            long taken = Math.Min(_first, list.CountIn(0, LeavesPerStep));
            list.Remove(0, taken);
            _first -= taken;
            return false;
        }

        list.Settle();
        reply.Next().WriteOk();
        return true;
    }
}
