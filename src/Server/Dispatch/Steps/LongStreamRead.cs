using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Many entries of several streams, for XREAD.</summary>
internal sealed class LongStreamRead : LongElements
{
    private const int LeavesPerStep = 16 * ElementsPerStep;

    private readonly byte[][] _keys;
    private readonly StreamId[] _ids;
    private readonly long _most;
    private readonly bool _isMap;
    private int _stream;
    private Stage _stage;
    private StreamPlace _place;
    private StreamId _first;
    private long _left;

    private LongStreamRead(ref CommandContext context, in StreamReadArguments arguments, scoped ReadOnlySpan<StreamId> ids)
    {
        _isMap = context.Reply.Version == RespVersion.Resp3;
        _most = arguments.Count;
        _ids = ids.ToArray();
        _keys = new byte[ids.Length][];
        for (int i = 0; i < _keys.Length; i++) _keys[i] = context.Args[arguments.FirstKey + i].Span.ToArray();
    }

    private enum Stage : byte
    {
        Look,
        Count,
        Write,
    }

    /// <summary>Begins, if there are many entries behind the ids.</summary>
    /// <param name="ids">Behind which id each stream is read.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped HeldStreams held, in StreamReadArguments arguments, scoped ReadOnlySpan<StreamId> ids)
    {
        if (!IsWanted(ref context, arguments.Count)) return false;
        bool isLong = false;
        for (int i = 0; i < ids.Length && !isLong; i++)
            isLong = held.Exists(i) && ids[i].TryNext(out StreamId first) && new StreamView(held[i].View).HasMore(first, StreamId.Max, ElementsMax);
        if (!isLong) return false;
        var read = new LongStreamRead(ref context, in arguments, ids);
        return read.TryBegin(ref context, held, read._isMap ? ReplyHead.Map : ReplyHead.Array);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        for (; _stream < _ids.Length; _stream++, _stage = Stage.Look)
            if (held.Exists(_stream) && !WorkOnOne(new StreamView(held.View(_stream)), reply)) return false;
        return true;
    }

    /// <returns>True when the stream is done.</returns>
    private bool WorkOnOne(StreamView stream, LongReply reply)
    {
        if (_stage == Stage.Look)
        {
            if (!stream.HasBehind(_ids[_stream]) || !_ids[_stream].TryNext(out _first)) return true;
            _place = stream.From(_first);
            _left = 0;
            _stage = Stage.Count;
        }

        if (_stage == Stage.Count)
        {
            // How many there are stands ahead of them.
            if (_left < _most && !stream.Count(ref _place, StreamId.Max, LeavesPerStep, ref _left)) return false;
            _left = Math.Min(_left, _most);
            var head = reply.Next();
            if (!_isMap) head.WriteArray(2);
            head.WriteBulk(_keys[_stream]);
            head.WriteArray((int)_left);
            Count++;
            _stage = Stage.Write;
        }

        var walk = stream.Between(_first, StreamId.Max);
        long end = reply.Bytes + BytesPerStep;
        for (int i = 0; i < ElementsPerStep && _left > 0 && reply.Bytes < end && walk.Next(out StreamEntry entry); i++, _left--)
        {
            StreamReply.WriteEntry(reply.Next(), entry);
            entry.Id.TryNext(out _first);
        }

        return _left == 0;
    }
}
