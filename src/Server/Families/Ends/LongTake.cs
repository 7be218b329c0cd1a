using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many elements from one end of a list or sorted set: all are answered, then taken out.</summary>
/// <remarks>In this order, so that a reply that gets too large has changed nothing. To take out all of them is to
/// delete the key.</remarks>
/// <param name="index">Which of the keys it is.</param>
/// <param name="count">At most as many as there are.</param>
internal abstract class LongTake(int index, long count) : LongElements
{
    private long _answered, _taken;
    private bool _hasChanged;

    /// <inheritdoc/>
    public sealed override bool HasChanged => _hasChanged;

    /// <summary>Values in the reply for each element.</summary>
    protected virtual int ValuesEach => 1;

    /// <summary>Begins.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public bool TryBegin(ref CommandContext context, in HeldKey held) =>
        TryBegin(ref context, held, ReplyHead.Array, checked((int)(count * ValuesEach)));

    /// <inheritdoc cref="TryBegin(ref CommandContext, in HeldKey)"/>
    public bool TryBegin(ref CommandContext context, in HeldKeys held) =>
        TryBegin(ref context, held, ReplyHead.Array, checked((int)(count * ValuesEach)));

    protected sealed override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(index);
        if (_answered < count)
        {
            _answered += Answer(value, _answered, count - _answered, reply);
            return false;
        }

        if (_taken == 0 && CountOf(value) == count)
        {
            value.Delete();
            return true;
        }

        if (!_hasChanged) value.BeginChange();
        _hasChanged = true;
        _taken += Take(value, count - _taken, reply);
        if (_taken < count) return false;
        Settle(value);
        return true;
    }

    /// <summary>Elements of the collection.</summary>
    protected abstract long CountOf(HeldValue value);

    /// <summary>Answers some elements.</summary>
    /// <param name="from">The place of the first of them, from the end that they are taken from.</param>
    /// <param name="most">At most so many.</param>
    /// <returns>How many.</returns>
    protected abstract long Answer(HeldValue value, long from, long most, LongReply reply);

    /// <summary>Takes some out.</summary>
    /// <param name="most">At most so many, of which there are more.</param>
    /// <returns>How many.</returns>
    protected abstract long Take(HeldValue value, long most, LongReply reply);

    /// <summary>Behind the change.</summary>
    protected abstract void Settle(HeldValue value);
}
