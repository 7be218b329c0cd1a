using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A consumer that has much pending, removed from its group, for XGROUP DELCONSUMER.</summary>
/// <param name="group">What it is called in the region.</param>
/// <param name="consumer">What the consumer is called.</param>
internal sealed class LongConsumerRemove(byte[] name, uint group, uint consumer) : LongElements
{
    private IdCursor _at;
    private uint _leaf;
    private bool _isEnded;

    /// <inheritdoc/>
    public override bool HasChanged => true;

    /// <summary>Begins, if there is much to do.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, uint group, ReadOnlySpan<byte> name)
    {
        StreamConsumer consumer = new StreamValue(held.Value).Groups[group].Find(name);
        if (!consumer.Exists) return false;
        long pending = consumer.Pending.Count;
        return IsWanted(ref context, pending)
            && new LongConsumerRemove(name.ToArray(), group, consumer.Record)
                .TryBegin(ref context, held, ReplyHead.Number, pending);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        var groups = new StreamValue(held.Value(0)).Groups;
        int most = ElementsPerStep;
        if (!_isEnded)
        {
            _isEnded = groups.EndPending(group, consumer, ref _at, most);
            return false;
        }

        if (!groups.Consumer(consumer).Pending.Clear(ref _leaf, ref most)) return false;
        groups.RemoveConsumer(group, name);
        return true;
    }
}
