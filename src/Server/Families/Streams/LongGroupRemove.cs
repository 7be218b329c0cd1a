using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A group of a stream that has much pending, removed, for XGROUP DESTROY.</summary>
/// <param name="group">What it is called in the region.</param>
internal sealed class LongGroupRemove(byte[] name, uint group) : LongElements
{
    private const int NodesPerStep = 512, PendingPerNode = 4;

    private int _consumer;
    private uint _leaf;

    /// <inheritdoc/>
    public override bool HasChanged => true;

    /// <summary>Begins, if there is much to do.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> name)
    {
        StreamGroup group = new StreamView(held.Value.View).FindGroup(name);
        return group.Exists && IsWanted(ref context, group.Pending.Count / PendingPerNode)
            && new LongGroupRemove(name.ToArray(), group.Record)
                .TryBegin(ref context, held, ReplyHead.Number, count: 1);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        var groups = new StreamValue(held.Value(0)).Groups;
        StreamGroup removed = groups[group];
        int nodes = NodesPerStep;
        for (; _consumer < removed.Consumers.Count; _consumer++)
            if (nodes <= 0 || !removed.ConsumerAt(_consumer).Pending.Clear(ref _leaf, ref nodes)) return false;
        if (nodes <= 0 || !removed.Pending.Clear(ref _leaf, ref nodes)) return false;
        groups.Remove(name);
        return true;
    }
}
