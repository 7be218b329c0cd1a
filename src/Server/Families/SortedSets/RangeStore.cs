using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Elements of a sorted set that follow each other, made another key's value, for ZRANGESTORE: whole, or a
/// piece at a time.</summary>
/// <remarks>The destination is the first of the held keys, the source the second. Neither changes before the last
/// piece.</remarks>
internal sealed class RangeStore(Store store, long first, long count, bool isReversed) : HeldSteps
{
    private SortedSetBuilder _result = new(store) { MayBeInOrder = true };
    private long _first = first, _left = count;

    /// <summary>Does it, or leaves it to later turns where there are many.</summary>
    public static void Run(ref CommandContext context, in HeldKeys held, long first, long count, bool isReversed)
    {
        var range = new RangeStore(context.Server.Store, first, count, isReversed);
        if (IsWanted(ref context, count) && range.TryBegin(ref context, held, ReplyHead.Number)) return;
        try
        {
            while (!range.Work(held, int.MaxValue))
            {
                // Ends: each round gets on.
            }

            if (range.Status == StoreStatus.Ok) context.Reply.WriteInteger(range.Count);
            else context.Fail(Errors.For(range.Status));
        }
        finally
        {
            range.Dispose();
        }
    }

    public override void Dispose()
    {
        base.Dispose();
        _result.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply) => Work(held, ElementsPerStep);

    private bool Work(in HeldKeys held, int elements)
    {
        if (_left > 0)
        {
            var walk = new SortedSetValue(held.Value(1)).View.From(_first, isReversed);
            for (; _left > 0 && elements > 0 && walk.Next(out var member, out double score); _left--, elements--)
            {
                if (!_result.TryAdd(member, score, ScoreAggregate.Sum)) return Fail();
                _first += isReversed ? -1 : 1;
            }

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
