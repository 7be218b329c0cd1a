using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many members of a collection at random, for SRANDMEMBER, HRANDFIELD and ZRANDMEMBER.</summary>
/// <param name="count">So many different ones; below 0 so many that may be the same.</param>
/// <param name="withValues">Whether their values or scores come with them.</param>
internal sealed unsafe class SampleSteps(long count, bool withValues) : HeldSteps
{
    /// <summary>Looked at for fields that have expired: some 200 us.</summary>
    private const int BucketsPerStep = 64;

    private MemberSample _sample;
    private bool _isReady;
    private long _left;

    /// <summary>Begins, if there are many.</summary>
    /// <param name="count">So many different ones, at most as many as there are; below 0 so many that may be the
    /// same.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long count, bool withValues = false)
    {
        HeldValue value = held.Value;
        if (!value.HoldsRegion && count >= 0) return false;     // no more than a record has
        long work = Math.Abs(count);
        if (value.Kind == ValueKind.Hash && new ExpiredFields(value).MayExist)
            work = Math.Max(work, new HashValue(value).Count);
        return IsWanted(ref context, work)
            && new SampleSteps(count, withValues).TryBegin(ref context, held, ReplyHead.Array, count: 0);
    }

    public override void Dispose()
    {
        base.Dispose();
        _sample.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        HeldValue value = held.Value(0);
        if (!_isReady && !TryPrepare(value, reply)) return false;
        var budget = new StepBudget(reply);
        if (_left != 0 && value.HoldsRegion) WriteFromTable(value, reply, budget);
        else for (; _left > 0 && budget.TryTake(); _left--) WritePacked(value, reply);
        return _left == 0;
    }

    /// <summary>Removes the fields that have expired; counts what is left.</summary>
    /// <returns>False when there are more of them.</returns>
    private bool TryPrepare(HeldValue value, CollectedReply reply)
    {
        bool more = false;
        if (value.Type == DataType.Hash) new ExpiredFields(value).Remove(BucketsPerStep, out more);
        if (more) return false;
        _isReady = true;
        long members = !value.Exists ? 0 : value.HoldsRegion
            ? new MemberTable(value.Region, in value.Hash).Count : long.MaxValue;
        _left = members == 0 ? 0 : count < 0 ? -count : Math.Min(count, members);
        if (value.HoldsRegion) _sample = new MemberSample(value.Budget, count < 0 ? count : _left, members);
        Count = withValues && reply.Version == RespVersion.Resp2 ? checked((int)(2 * _left)) : _left;
        return true;
    }

    private void WriteFromTable(HeldValue value, CollectedReply reply, StepBudget budget)
    {
        var table = new MemberTable(value.Region, in value.Hash);
        var batch = new MemberBatch();
        bool isHash = value.Type == DataType.Hash, isSet = value.Type == DataType.Set;
        while (budget.TryTake(MemberBatch.CountMax) && _sample.Fill(ref batch, table, Random.Shared))
        {
            for (int i = 0; i < batch.Count; i++)
            {
                if (isSet)
                {
                    reply.Next().WriteBulk(batch.Member(i));
                }
                else if (isHash)
                {
                    HashView.Split(batch.Item(i), out var field, out var content);
                    new PairReply(reply.Next(), withValues).Write(field, content);
                }
                else
                {
                    new ScoreForm(reply.Version, withValues).Write(reply.Next(), batch.Member(i), batch.Score(i));
                }
            }
        }

        _left = _sample.Left;
    }

    private void WritePacked(HeldValue value, CollectedReply reply)
    {
        if (value.Type == DataType.Set)
        {
            reply.Next().WriteBulk(new SetValue(value).View.Random(Random.Shared));
        }
        else if (value.Type == DataType.Hash)
        {
            new HashValue(value).View.Random(Random.Shared, out var field, out var content);
            new PairReply(reply.Next(), withValues).Write(field, content);
        }
        else
        {
            new SortedSetValue(value).View.Random(Random.Shared, out var member, out double score);
            new ScoreForm(reply.Version, withValues).Write(reply.Next(), member, score);
        }
    }
}
