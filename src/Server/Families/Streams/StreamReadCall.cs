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

    /// <param name="keys">Copies of a command that waits.</param>
    public StreamReadCall(byte[][] keys) => _copies = keys;

    /// <summary>Of each stream, at most so many entries.</summary>
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

    /// <summary>Whether a stream has something behind an id.</summary>
    public readonly bool HasAny(StreamView stream, StreamId id) =>
        !IsGroup ? stream.HasBehind(id) : id != StreamId.Max || stream.HasBehind(stream.FindGroup(Group).LastId);

    /// <summary>Answers what there is, or that there is no memory.</summary>
    /// <returns>False when there is nothing: nothing was written. Consumers have been noted all the same.</returns>
    public readonly bool TryWrite(ReplyWriter reply, scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids) =>
        IsGroup ? TryWriteGroup(reply, held, ids) : TryWriteEntries(reply, held, ids);

    private readonly bool TryWriteEntries(ReplyWriter reply, scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids)
    {
        var answer = new Answer(reply, ids.Length);
        for (int i = 0; i < ids.Length; i++)
        {
            if (!held.Exists(i)) continue;
            var stream = new StreamView(held[i].View);
            if (!stream.HasBehind(ids[i]) || !ids[i].TryNext(out StreamId first)) continue;
            answer.BeginStream(Key(i));
            StreamReply.WriteFrom(reply, stream, first, Count);
        }

        return answer.End();
    }

    private readonly bool TryWriteGroup(ReplyWriter reply, scoped HeldStreams held, scoped ReadOnlySpan<StreamId> ids)
    {
        // All that can fail first, as far as it is known.
        for (int i = 0; i < ids.Length; i++)
        {
            if (new StreamGroupRead(held[i], Group, NowMs).TryFindConsumer(Consumer)) continue;
            reply.WriteError(Errors.OutOfMemory);
            return true;
        }

        var begin = reply.Mark();
        var answer = new Answer(reply, ids.Length);
        for (int i = 0; i < ids.Length; i++)
        {
            var read = new StreamGroupRead(held[i], Group, NowMs);
            read.TryFindConsumer(Consumer);
            bool isNew = ids[i] == StreamId.Max;
            if (isNew && !read.HasNew) continue;
            answer.BeginStream(Key(i));
            if (!isNew)
            {
                read.WriteHistory(reply, ids[i], Count);
            }
            else if (!read.TryWriteNew(reply, Count, NoAck))
            {
                // Nothing of this stream was delivered: what others gave stays given.
                if (answer.Streams > 1)
                {
                    reply.WriteArray(0);
                    continue;
                }

                reply.Rewind(begin);
                reply.WriteError(Errors.OutOfMemory);
                return true;
            }
        }

        return answer.End();
    }

    /// <summary>The reply: a map from key to entries; in RESP2 an array of pairs.</summary>
    private ref struct Answer(ReplyWriter reply, int most)
    {
        private readonly ReplyMark _begin = reply.BeginArray();
        private readonly bool _isMap = reply.Version == RespVersion.Resp3;

        /// <summary>Streams that are in it.</summary>
        public int Streams { get; private set; }

        public void BeginStream(ReadOnlySpan<byte> key)
        {
            // With one stream, the common case, the header comes first, and nothing is moved.
            if (most == 1 && _isMap) reply.WriteMap(1);
            else if (most == 1) reply.WriteArray(1);
            if (!_isMap) reply.WriteArray(2);
            reply.WriteBulk(key);
            Streams++;
        }

        /// <summary>Ends it.</summary>
        /// <returns>False when nothing was in it: nothing is answered then.</returns>
        public readonly bool End()
        {
            if (Streams == 0) return false;
            if (most == 1) return true;
            if (_isMap) reply.EndMap(_begin, Streams);
            else reply.EndArray(_begin, Streams);
            return true;
        }
    }
}
