using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Very many members of a sorted set, for ZREM and ZMSCORE.</summary>
internal sealed class LongScoreArguments : LongArguments
{
    private LongScoreArguments(ref CommandContext context, int first, ArgumentUse use)
        : base(ref context, first, stride: 1, use)
    {
    }

    /// <inheritdoc cref="LongSetArguments.TryBegin"/>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, int first, ArgumentUse use) =>
        AreMany(ref context) && new LongScoreArguments(ref context, first, use).TryBegin(ref context, held);

    protected override void Do(HeldValue value, ArgumentUse use, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, LongReply reply)
    {
        var set = new SortedSetValue(value);
        if (use == ArgumentUse.Remove) Count += value.Exists && set.Remove(first) ? 1 : 0;
        else if (set.View.TryGetScore(first, out double score)) reply.Next().WriteDouble(score);
        else reply.Next().WriteNull();
    }

    protected override void Settle(HeldValue value) => new SortedSetValue(value).Settle();
}
