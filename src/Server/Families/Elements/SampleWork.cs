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
    private bool _isReady;

    /// <param name="value">With a collection.</param>
    /// <param name="count">So many different ones, at most as many as there are; below 0 so many that may be the
    /// same.</param>
    /// <param name="withValues">Whether their values or scores come with them.</param>
    public SampleWork(HeldValue value, RespVersion version, long count, bool withValues = false)
    {
        _version = version;
        _withValues = withValues;
        _wanted = count;
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
        if (!_isReady && !TryBegin(value, TBudget.IsBounded ? BucketsPerStep : long.MaxValue)) return false;
        if (_sample.Left == 0) return true;
        if (value.Type == DataType.Set)
        {
            var members = new BulkSink<TReply>(reply);
            return new SetValue(value).View.Sample(ref _sample, Random.Shared, ref members, ref budget);
        }

        if (value.Type == DataType.Hash)
        {
            var fields = new PairSink<TReply>(reply, _withValues);
            return new HashValue(value).View.Sample(ref _sample, Random.Shared, ref fields, ref budget);
        }

        var scores = new ScoreSink<TReply>(reply, new ScoreForm(_version, _withValues));
        return new SortedSetValue(value).View.Sample(ref _sample, Random.Shared, ref scores, ref budget);
    }

    /// <summary>Removes the fields that have expired, and counts what is left.</summary>
    /// <returns>False when there are more of them.</returns>
    private bool TryBegin(HeldValue value, long buckets)
    {
        if (value.Type == DataType.Hash)
        {
            new ExpiredFields(value).Remove(buckets, out bool more);
            if (more) return false;
        }

        _isReady = true;
        long count = !value.Exists ? 0 : _wanted < 0 ? _wanted : Math.Min(_wanted, CountOf(value));
        Count = ElementsOf(count);
        if (count == 0) return true;
        _sample = value.Type switch
        {
            DataType.Set => new SetValue(value).View.BeginSample(value.Budget, count),
            DataType.Hash => new HashValue(value).View.BeginSample(value.Budget, count),
            _ => new SortedSetValue(value).View.BeginSample(value.Budget, count),
        };
        return true;
    }

    private static bool MayHaveExpired(HeldValue value) =>
        value.Type == DataType.Hash && new ExpiredFields(value).MayExist;

    private static long CountOf(HeldValue value) => value.Type switch
    {
        DataType.Set => new SetValue(value).View.Count,
        DataType.Hash => new HashValue(value).Count,
        _ => new SortedSetValue(value).View.Count,
    };

    private readonly long ElementsOf(long count) =>
        _withValues && _version == RespVersion.Resp2 ? 2 * Math.Abs(count) : Math.Abs(count);
}
