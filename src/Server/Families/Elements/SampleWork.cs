using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SRANDMEMBER, HRANDFIELD and ZRANDMEMBER with a count: members of a collection at random.</summary>
internal struct SampleWork : IValueWork
{
    /// <summary>Looked at for fields that have expired: some 200 us.</summary>
    private const int BucketsPerStep = 64;

    private readonly bool _withValues;
    private readonly RespVersion _version;
    private readonly long _wanted;
    private MemberSample _sample;

    /// <param name="value">With a collection.</param>
    /// <param name="count">So many different ones, at most as many as there are; below 0 so many that may be the
    /// same.</param>
    /// <param name="withValues">Whether their values or scores come with them.</param>
    public SampleWork(HeldValue value, RespVersion version, long count, bool withValues = false)
    {
        _version = version;
        _withValues = withValues;
        _wanted = count;
        _sample = new MemberSample(count);
        Count = MayHaveExpired(value) ? -1 : ElementsOf(count);
    }

    public readonly ReplyHead Head => ReplyHead.Array;

    public long Count { get; private set; }

    public static bool Owns => true;

    public readonly bool IsLong(HeldValue value)
    {
        if (!value.HoldsRegion && _wanted >= 0) return false;       // no more than a record has
        long looks = value.Kind == ValueKind.Hash && MayHaveExpired(value) ? new HashValue(value).Count : 0;
        return Math.Max(looks, Math.Abs(_wanted)) > StepBudget.OneTurnMax;
    }

    public void Dispose() => _sample.Dispose();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        if (Count < 0 && !TryRemoveExpired(value, TBudget.IsBounded ? BucketsPerStep : long.MaxValue)) return false;
        if (_sample.Left == 0) return true;
        return TBudget.IsBounded || !value.HoldsRegion ? Draw(value, reply, ref budget)
            : DrawAll(value, reply, ref budget);
    }

    private bool DrawAll<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        try
        {
            return Draw(value, reply, ref budget);
        }
        finally
        {
            Dispose();
        }
    }

    private bool Draw<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var type = value.Type;
        if (type == DataType.Set)
        {
            var members = new BulkSink<TReply>(reply);
            return new SetValue(value).View.Sample(ref _sample, value.Budget, Random.Shared, ref members, ref budget);
        }

        if (type == DataType.Hash)
        {
            var fields = new PairSink<TReply>(reply, _withValues);
            return new HashValue(value).View.Sample(ref _sample, value.Budget, Random.Shared, ref fields, ref budget);
        }

        var scores = new ScoreSink<TReply>(reply, new ScoreForm(_version, _withValues));
        return new SortedSetValue(value).View.Sample(ref _sample, value.Budget, Random.Shared, ref scores, ref budget);
    }

    /// <summary>Removes the fields that have expired, and counts what is left.</summary>
    /// <returns>False when there are more of them.</returns>
    private bool TryRemoveExpired(HeldValue value, long buckets)
    {
        new ExpiredFields(value).Remove(buckets, out bool more);
        if (more) return false;
        long count = !value.Exists ? 0 : _wanted < 0 ? _wanted : Math.Min(_wanted, new HashValue(value).Count);
        Count = ElementsOf(count);
        _sample = new MemberSample(count);
        return true;
    }

    private static bool MayHaveExpired(HeldValue value) =>
        value.Type == DataType.Hash && new ExpiredFields(value).MayExist;

    private readonly long ElementsOf(long count) =>
        _withValues && _version == RespVersion.Resp2 ? 2 * Math.Abs(count) : Math.Abs(count);
}
