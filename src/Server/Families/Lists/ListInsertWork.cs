using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LINSERT: puts an element next to the first one that equals a pivot.</summary>
internal struct ListInsertWork(KeptArgument pivot, KeptArgument element, ListSearch search, bool before) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Number;

    /// <summary>How long the list is then; -1: there is no such element.</summary>
    public long Count { get; private set; } = -1;

    public static bool MayFail => true;

    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    public readonly bool IsLong(HeldValue value) => new ListValue(value).Count > ListSearchWork.LookedMax;

    public void Keep()
    {
        pivot.Keep();
        element.Keep();
    }

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var list = new ListValue(value);
        if (!search.Run(list, pivot.Span, default(NoPlaces), ref budget)) return false;
        if (search.Found == 0) return true;
        Debug.Assert((ulong)search.Place < (ulong)list.Count, "the pivot is in the list");
        if (list.TryReserveInsert(element.Span.Length))
        {
            list.Insert(before ? search.Place : search.Place + 1, element.Span);
            Count = list.Count;
        }
        else
        {
            Status = StoreStatus.OutOfMemory;
        }

        return true;
    }
}
