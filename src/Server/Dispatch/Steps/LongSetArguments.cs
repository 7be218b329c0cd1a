using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Very many members of a set, for SADD, SREM and SMISMEMBER.</summary>
internal sealed class LongSetArguments : LongArguments
{
    private LongSetArguments(ref CommandContext context, int first, ArgumentUse use)
        : base(ref context, first, stride: 1, use)
    {
    }

    /// <summary>Begins, if there are very many; of what is added all is reserved.</summary>
    /// <param name="first">The first of them.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, int first, ArgumentUse use) =>
        AreMany(ref context) && new LongSetArguments(ref context, first, use).TryBegin(ref context, held);

    protected override void Do(HeldValue value, ArgumentUse use, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, LongReply reply)
    {
        var set = new SetValue(value, stackalloc byte[SetView.DigitsMax]);
        if (use == ArgumentUse.Find) reply.Next().WriteInteger(set.View.Contains(first) ? 1 : 0);
        else if (use == ArgumentUse.Add) Count += set.Add(first) ? 1 : 0;
        else if (value.Exists) Count += set.Remove(first) ? 1 : 0;
    }

    protected override void Settle(HeldValue value) => new SetValue(value, default).Settle();
}
