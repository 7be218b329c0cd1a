using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Where a <see cref="StreamGroupWalk"/> is.</summary>
internal enum StreamStop : byte
{
    Begin,

    /// <summary>At a group.</summary>
    Group,

    /// <summary>At something that is pending in it.</summary>
    Pending,

    /// <summary>After all that is pending in it, before its consumers.</summary>
    Consumers,

    /// <summary>At a consumer of it.</summary>
    Consumer,

    /// <summary>At something that is pending with the consumer.</summary>
    Held,

    /// <summary>After everything.</summary>
    End,
}

/// <summary>Visits every group, consumer and pending entry of a stream, in the order RDB stores them: each group, what
/// is pending in it, its consumers, and what is pending with each of them.</summary>
/// <remarks>It keeps places, no addresses: it can go on in a later turn, if the stream has not changed.</remarks>
internal unsafe struct StreamGroupWalk
{
    private int _group, _consumer;
    private IdCursor _at;
    private StreamStop _stop;

    /// <summary>Goes to the next stop.</summary>
    public StreamStop Next(LargeStream stream)
    {
        Debug.Assert(_stop is StreamStop.Begin or StreamStop.End || _group < stream.Groups.Count,
            "the stream has not changed");
        switch (_stop)
        {
            case StreamStop.Begin:
                _group = -1;
                return NextGroup(stream);
            case StreamStop.Group:
                return At(GroupOf(stream).Pending.From(StreamId.Zero), StreamStop.Pending, stream);
            case StreamStop.Pending:
                GroupOf(stream).Pending.MoveNext(ref _at);
                return At(_at, StreamStop.Pending, stream);
            case StreamStop.Consumers:
                _consumer = -1;
                return NextConsumer(stream);
            case StreamStop.Consumer:
                return At(ConsumerOf(stream).Pending.From(StreamId.Zero), StreamStop.Held, stream);
            case StreamStop.Held:
                ConsumerOf(stream).Pending.MoveNext(ref _at);
                return At(_at, StreamStop.Held, stream);
            default:
                return StreamStop.End;
        }
    }

    /// <summary>Goes to the next stop that is not one more pending entry of this group or consumer.</summary>
    public StreamStop Pass(LargeStream stream) =>
        _stop is StreamStop.Group or StreamStop.Pending ? _stop = StreamStop.Consumers
        : _stop is StreamStop.Consumer or StreamStop.Held ? NextConsumer(stream) : Next(stream);

    /// <summary>The group.</summary>
    public readonly StreamGroup GroupOf(LargeStream stream) => new(stream.Region, stream.Groups[_group]);

    /// <summary>The consumer, while at a consumer or at what is pending with it.</summary>
    public readonly StreamConsumer ConsumerOf(LargeStream stream)
    {
        Debug.Assert(_stop is StreamStop.Consumer or StreamStop.Held, "the walk is at a consumer");
        return GroupOf(stream).ConsumerAt(_consumer);
    }

    /// <summary>The id of what is pending.</summary>
    public readonly StreamId IdOf(LargeStream stream)
    {
        Debug.Assert(_stop is StreamStop.Pending or StreamStop.Held, "the walk is at something pending");
        return GroupOf(stream).Pending.IdAt(_at);
    }

    /// <summary>What is known of a pending entry, while at one of the group.</summary>
    public readonly PendingEntry* EntryOf(LargeStream stream)
    {
        Debug.Assert(_stop == StreamStop.Pending, "the walk is at something pending in the group");
        return (PendingEntry*)GroupOf(stream).Pending.PayloadAt(_at);
    }

    /// <summary>A copy of what is known of that entry.</summary>
    public readonly PendingEntry DeliveryOf(LargeStream stream) => *EntryOf(stream);

    private StreamStop At(IdCursor at, StreamStop stop, LargeStream stream)
    {
        _at = at;
        if (!at.IsEnd) return _stop = stop;
        return stop == StreamStop.Held ? NextConsumer(stream) : _stop = StreamStop.Consumers;
    }

    private StreamStop NextConsumer(LargeStream stream) =>
        ++_consumer < GroupOf(stream).Consumers.Count ? _stop = StreamStop.Consumer : NextGroup(stream);

    private StreamStop NextGroup(LargeStream stream) =>
        _stop = ++_group < stream.Groups.Count ? StreamStop.Group : StreamStop.End;
}
