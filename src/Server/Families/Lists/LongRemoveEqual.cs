using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Elements of a long list that equal one, taken out, for LREM.</summary>
internal sealed class LongRemoveEqual(byte[] element, long most, bool fromRight) : LongElements
{
    private const int LeavesMax = 32, LeavesPerStep = 16;

    private int _first, _at = -1;
    private bool _isSearched;

    /// <inheritdoc/>
    public override bool HasChanged => Count != 0;

    /// <summary>Begins, if the list is long.</summary>
    /// <param name="most">At most so many.</param>
    /// <param name="fromRight">Begin with the last.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> element, long most,
        bool fromRight) =>
        new ListValue(held.Value).Leaves > LeavesMax && !context.InTransaction
        && new LongRemoveEqual(element.ToArray(), most, fromRight)
            .TryBegin(ref context, held, ReplyHead.Number, count: 0);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var list = new ListValue(value);
        if (!_isSearched)
        {
            Count += list.RemoveEqual(element, most - Count, fromRight, ref _first, LeavesPerStep);
            _isSearched = Count == most || _first >= list.Leaves;
            return _isSearched && Count == 0;
        }

        if (!list.EndRemoval(ref _at, LeavesPerStep)) return false;
        list.Settle();
        return true;
    }
}
