using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SRANDMEMBER, HRANDFIELD and ZRANDMEMBER with a count: members of a collection at random.</summary>
internal struct SampleWork : IValueWork
{
    /// <summary>How many buckets a step searches for expired fields: some 200 us.</summary>
    private const int BucketsPerStep = 64;

    // Count, until the expired fields have been removed.
    private const long NotKnown = -1;

    private readonly bool _withValues;
    private readonly RespVersion _version;
    private readonly long _wanted;
    private MemberSample _sample;

    /// <param name="value">A collection.</param>
    /// <param name="count">How many different elements are wanted, at most as many as there are; if negative, how many
    /// that may repeat.</param>
    /// <param name="withValues">Whether their values or scores are wanted, too.</param>
    public SampleWork(HeldValue value, RespVersion version, long count, bool withValues = false)
    {
        Debug.Assert(count != long.MinValue, "a count that was read has an opposite");
        _version = version;
        _withValues = withValues;
        _wanted = count;
        _sample = new MemberSample(count);
        Count = MayHaveExpired(value) ? NotKnown : ElementsOf(count);
    }

    public readonly ReplyHead Head => ReplyHead.Array;

    public long Count { get; private set; }

    public static bool Owns => true;

    public readonly bool IsLong(HeldValue value)
    {
        if (!value.HoldsRegion && _wanted >= 0) return false;       // a record has few elements
        long looks = value.Kind == ValueKind.Hash && MayHaveExpired(value) ? new HashValue(value).Count : 0;
        return Math.Max(looks, Math.Abs(_wanted)) > StepBudget.OneTurnMax;
    }

    public void Dispose() => _sample.Dispose();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        long buckets = TBudget.IsBounded ? BucketsPerStep : long.MaxValue;
        if (Count == NotKnown && !TryRemoveExpired(value, buckets)) return false;
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
        Debug.Assert(_sample.Left > 0 && Count != NotKnown,
            "something is left to be drawn, and its number is announced");
        var type = value.Type;
        if (type == DataType.Set)
        {
            var members = new BulkSink<TReply>(reply);
            return new SetValue(value).View.Sample(ref _sample, value.Budget, ref members, ref budget);
        }

        if (type == DataType.Hash)
        {
            var fields = new PairSink<TReply>(reply, _withValues);
            return new HashValue(value).View.Sample(ref _sample, value.Budget, ref fields, ref budget);
        }

        var scores = new ScoreSink<TReply>(reply, new ScoreForm(_version, _withValues));
        return new SortedSetValue(value).View.Sample(ref _sample, value.Budget, ref scores, ref budget);
    }

    /// <summary>Removes the fields that have expired, and counts what is left.</summary>
    /// <returns>False when some buckets have not been searched yet.</returns>
    private bool TryRemoveExpired(HeldValue value, long buckets)
    {
        Debug.Assert(buckets > 0, "each call looks at a bucket");
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
