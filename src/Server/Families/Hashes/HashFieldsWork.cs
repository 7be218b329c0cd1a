using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>HGETALL, HKEYS and HVALS: all fields, their values, or both.</summary>
/// <remarks>What has expired is left out. Of a small hash it is removed first; in a large one it stays, for that is
/// work of its own.</remarks>
internal struct HashFieldsWork : IValueWork
{
    private readonly bool _fields, _values;
    private readonly long _nowMs, _count;
    private HashFields _all;

    /// <param name="value">A hash.</param>
    /// <param name="fields">Whether their names are answered.</param>
    /// <param name="values">Whether their values are.</param>
    public HashFieldsWork(HeldValue value, bool fields, bool values)
    {
        Debug.Assert(fields || values, "something is asked for");
        (_fields, _values) = (fields, values);
        _nowMs = value.NowMs;
        bool mayLeaveOut = IsLong(value) && value.FieldExpiryMs != FieldExpiry.Never;
        _count = mayLeaveOut ? -1 : new HashValue(value).Count;
    }

    public readonly ReplyHead Head => _fields && _values ? ReplyHead.Map : ReplyHead.Array;

    public readonly long Count => _count >= 0 ? _count : _all.Written;

    readonly bool IValueWork.IsLong(HeldValue value) => IsLong(value);

    /// <summary>Whether there are too many for one turn.</summary>
    public static bool IsLong(HeldValue value) =>
        value.Kind == ValueKind.Hash && new HashValue(value).Count > StepBudget.OneTurnMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new FieldSink<TReply>(reply, _fields, _values);
        return _all.Run(new HashView(value.View, in value.Hash, _nowMs), sink, ref budget);
    }

    private readonly struct FieldSink<TReply>(TReply reply, bool fields, bool values) : IPairSink
        where TReply : struct, IReplyTarget
    {
        public void Write(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value)
        {
            if (fields) reply.Next().WriteBulk(field);
            if (values) reply.Next().WriteBulk(value);
        }
    }
}
