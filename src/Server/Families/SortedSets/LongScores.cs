using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many elements of a sorted set that follow each other, for ZRANGE and its kin.</summary>
internal sealed class LongScores(long first, long count, bool isReversed, bool withScores) : LongElements
{
    private long _first = first, _left = count;

    /// <summary>Begins, if there are many.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long first, long count, bool isReversed,
        bool withScores)
    {
        if (!IsWanted(ref context, count)) return false;
        bool isFlat = withScores && context.Reply.Version == RespVersion.Resp2;
        return new LongScores(first, count, isReversed, withScores)
            .TryBegin(ref context, held, ReplyHead.Array, checked((int)(isFlat ? count * 2 : count)));
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var walk = new SortedSetValue(value).View.From(_first, isReversed);
        for (var budget = new StepBudget(reply);
            _left > 0 && budget.TryTake() && walk.Next(out var member, out double score); _left--)
        {
            new ElementReply(reply.Next(), withScores).Write(member, score);
            _first += isReversed ? -1 : 1;
        }

        return _left == 0;
    }
}
