using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many members with the lowest or highest scores, for ZPOPMIN, ZPOPMAX, ZMPOP and BZMPOP.</summary>
internal sealed class LongScoreTake : LongTake
{
    private const int RemovedAtOnce = 64;

    private readonly bool _highest, _pairsAlways, _isFlat;

    private LongScoreTake(ref CommandContext context, int index, bool highest, long count, bool pairsAlways)
        : base(index, count)
    {
        _highest = highest;
        _pairsAlways = pairsAlways;
        _isFlat = !pairsAlways && context.Reply.Version == RespVersion.Resp2;
    }

    protected override int ValuesEach => _isFlat ? 2 : 1;

    /// <summary>What takes elements in steps, if there are many.</summary>
    /// <param name="value">A sorted set.</param>
    /// <param name="highest">From which end.</param>
    /// <param name="most">So many, or all.</param>
    /// <param name="pairsAlways">Whether member and score are an array in RESP2, too.</param>
    /// <param name="index">Which of the keys it is.</param>
    /// <param name="key">Its name, if that is a part of the reply.</param>
    /// <returns>Null: do it all in this turn.</returns>
    public static LongScoreTake? IfMany(ref CommandContext context, HeldValue value, bool highest, long most,
        bool pairsAlways, int index = 0, byte[]? key = null)
    {
        long count = Math.Min(most, new SortedSetValue(value).Count);
        return IsWanted(ref context, count)
            ? new LongScoreTake(ref context, index, highest, count, pairsAlways) { Key = key } : null;
    }

    protected override long CountOf(HeldValue value) => new SortedSetValue(value).Count;

    protected override long Answer(HeldValue value, long from, long most, LongReply reply)
    {
        var set = new SortedSetValue(value).View;
        var walk = set.From(_highest ? set.Count - 1 - from : from, _highest);
        long answered = 0;
        for (var budget = new StepBudget(reply);
            answered < most && budget.TryTake() && walk.Next(out var member, out double score); answered++)
            new ElementReply(reply.Next(), withScores: true, _pairsAlways).Write(member, score);
        return answered;
    }

    protected override long Take(HeldValue value, long most, LongReply reply)
    {
        var set = new SortedSetValue(value);
        long taken = 0;
        for (var budget = new StepBudget(reply); taken < most && budget.TryTake(RemovedAtOnce);)
        {
            long some = Math.Min(most - taken, RemovedAtOnce);
            // The place of the first of those that go is the same each time.
            set.RemoveAt(_highest ? set.Count - (most - taken) : 0, some);
            taken += some;
        }

        return taken;
    }

    protected override void Settle(HeldValue value) => new SortedSetValue(value).Settle();
}
