using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>ZRANGESTORE: elements of a sorted set that follow each other, made another key's value.</summary>
/// <remarks>The destination is the first of the held keys, the source the second. Neither changes before the last
/// piece.</remarks>
internal struct RangeStoreWork(Store store, long first, long count, bool isReversed) : IKeysWork
{
    private SortedSetBuilder _result = new(store) { MayBeInOrder = true };
    private long _first = first, _left = count;

    public readonly ReplyHead Head => ReplyHead.Number;

    public long Count { get; private set; }

    public static bool MayFail => true;

    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    public readonly bool IsLong(in HeldKeys held) => _left > StepBudget.OneTurnMax;

    public void Dispose() => _result.Dispose();

    public bool Run<TReply, TBudget>(in HeldKeys held, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        int elements = TBudget.IsBounded ? IStepBudget.WholePiece : int.MaxValue;
        if (_left > 0)
        {
            var walk = new SortedSetValue(held.Value(1)).View.From(_first, isReversed);
            for (; _left > 0 && elements > 0 && walk.Next(out var member, out double score); _left--, elements--)
            {
                if (!_result.TryAdd(member, score, ScoreAggregate.Sum)) return Fail();
                _first += isReversed ? -1 : 1;
            }

            Debug.Assert(_left == 0 || elements == 0, "the range is within the set");

            return false;
        }

        if (!_result.TryFinish(elements, out bool isDone)) return Fail();
        if (!isDone) return false;
        Count = _result.Count;
        Status = _result.Store(held.Value(0));
        return true;
    }

    private bool Fail()
    {
        Status = StoreStatus.OutOfMemory;
        return true;
    }
}
