using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Very many fields of a hash, for HSET, HDEL and HMGET.</summary>
internal sealed class LongHashArguments : LongArguments
{
    private LongHashArguments(ref CommandContext context, int first, ArgumentUse use)
        : base(ref context, first, use == ArgumentUse.Add ? 2 : 1, use)
    {
    }

    /// <inheritdoc cref="LongSetArguments.TryBegin"/>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, int first, ArgumentUse use) =>
        AreMany(ref context) && new LongHashArguments(ref context, first, use).TryBegin(ref context, held);

    protected override void Do(HeldValue value, ArgumentUse use, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, LongReply reply)
    {
        var hash = new HashValue(value);
        if (use == ArgumentUse.Add) Count += hash.Set(first, second) ? 1 : 0;
        else if (use == ArgumentUse.Remove) Count += value.Exists && hash.Remove(first) ? 1 : 0;
        else if (hash.View.TryGet(first, out var found)) reply.Next().WriteBulk(found);
        else reply.Next().WriteNull();
    }

    protected override void Settle(HeldValue value) => new HashValue(value).Settle();
}
