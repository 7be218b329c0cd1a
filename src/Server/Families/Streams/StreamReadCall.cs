using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What XREAD or XREADGROUP gives of streams that are held, to the client that asked, at once or after it has
/// waited.</summary>
internal unsafe ref struct StreamReadCall
{
    private readonly Argument* _keys;
    private readonly byte[][] _copies;

    /// <param name="keys">The keys where they were received, one behind the other.</param>
    public StreamReadCall(Argument* keys)
    {
        _keys = keys;
        _copies = [];
    }

    /// <param name="keys">Copies of a command that goes on in later turns.</param>
    public StreamReadCall(byte[][] keys) => _copies = keys;

    /// <summary>How many entries of each stream at most.</summary>
    public long Count { get; init; }

    /// <summary>What is delivered is not pending.</summary>
    public bool NoAck { get; init; }

    public long NowMs { get; init; }

    /// <summary>Reads for a consumer of a group.</summary>
    public bool IsGroup { get; init; }

    public ReadOnlySpan<byte> Group { get; init; }

    public ReadOnlySpan<byte> Consumer { get; init; }

    public readonly ReadOnlySpan<byte> Key(int index) => _keys != null ? _keys[index].Span : _copies[index];

    /// <summary>Whether some stream has something behind its id: then <see cref="TryWrite"/> answers.</summary>
    /// <param name="ids">Behind which id each is read; the greatest one for what no consumer of the group has
    /// got.</param>
    public readonly bool HasAny(scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids)
    {
        for (int i = 0; i < ids.Length; i++)
            if (held.Exists(i) && HasAny(new StreamView(held[i].View), ids[i])) return true;
        return false;
    }

    /// <summary>How many groups that something is given of do not know the consumer yet.</summary>
    public readonly int CountNewConsumers(scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids)
    {
        int count = 0;
        for (int i = 0; i < ids.Length; i++)
        {
            var stream = new StreamView(held[i].View);
            if (HasAny(stream, ids[i]) && !stream.FindGroup(Group).Find(Consumer).Exists) count++;
        }

        return count;
    }

    /// <summary>Whether a stream has something behind an id.</summary>
    public readonly bool HasAny(StreamView stream, StreamId id) =>
        !IsGroup ? stream.HasAfter(id) : id != StreamId.Max || stream.HasAfter(stream.FindGroup(Group).LastId);

    /// <summary>A stream for the consumer's group, which is there.</summary>
    public readonly StreamGroupRead GroupOf(HeldValue value) => new(value, Group, NowMs);

    /// <summary>What begins the reply, which is a map from keys where there are maps.</summary>
    public static ReplyHead HeadOf(RespVersion version) =>
        version == RespVersion.Resp3 ? ReplyHead.Map : ReplyHead.Array;

    /// <summary>Answers what there is, or that there is no memory.</summary>
    /// <returns>False when there is nothing: nothing was written. Consumers have been noted all the same.</returns>
    public readonly bool TryWrite(ReplyWriter reply, scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids)
    {
        var begin = reply.Mark();
        ReplyHead head = HeadOf(reply.Version);
        // With one stream, the common case, the header comes first, and nothing is moved.
        bool isOne = ids.Length == 1;
        if (isOne) head.Write(reply, 1);
        var work = default(StreamReadWork);
        var budget = default(Unbounded);
        work.Run(this, held, ids, new DirectTarget(reply), ref budget);
        if (work.Streams == 0) reply.Rewind(begin);
        if (work.Status != StoreStatus.Ok) reply.WriteError(Errors.For(work.Status));
        else if (work.Streams == 0) return false;
        else if (!isOne) head.WriteAhead(reply, begin, work.Streams);
        return true;
    }
}
