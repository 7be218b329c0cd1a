using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A group of a stream, removed with its consumers and all that is pending.</summary>
/// <param name="group">What it is called in the region.</param>
internal struct StreamGroupRemoval(uint group)
{
    private const int NodesAtOnce = 512;

    private int _consumer;
    private uint _leaf;

    /// <summary>Removes some of what it has; it itself at the end.</summary>
    /// <param name="name">Its name.</param>
    /// <returns>True when it is gone.</returns>
    public bool Run<TBudget>(HeldValue value, ReadOnlySpan<byte> name, ref TBudget budget)
        where TBudget : struct, IStepBudget
    {
        var groups = new StreamValue(value).Groups;
        StreamGroup removed = groups[group];
        Debug.Assert(new StreamValue(value).View.FindGroup(name).Record == group, "the name is the group's");
        int nodes = TBudget.IsBounded ? NodesAtOnce : int.MaxValue;
        for (; _consumer < removed.Consumers.Count; _consumer++)
            if (nodes <= 0 || !removed.ConsumerAt(_consumer).Pending.Clear(ref _leaf, ref nodes)) return false;
        if (nodes <= 0 || !removed.Pending.Clear(ref _leaf, ref nodes)) return false;
        groups.Remove(name);
        return true;
    }
}

/// <summary>A consumer of a group, removed with all that is pending there.</summary>
/// <param name="group">What the group is called in the region.</param>
/// <param name="consumer">What the consumer is called there.</param>
internal struct StreamConsumerRemoval(uint group, uint consumer)
{
    private IdCursor _at;
    private uint _leaf;
    private bool _isEnded;

    /// <summary>Removes some of what it has; it itself at the end.</summary>
    /// <param name="name">Its name.</param>
    /// <returns>True when it is gone.</returns>
    public bool Run<TBudget>(HeldValue value, ReadOnlySpan<byte> name, ref TBudget budget)
        where TBudget : struct, IStepBudget
    {
        var groups = new StreamValue(value).Groups;
        Debug.Assert(groups[group].Find(name).Record == consumer, "the name is the consumer's");
        int most = TBudget.IsBounded ? IStepBudget.WholePiece : int.MaxValue;
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
