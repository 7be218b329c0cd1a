using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>What XAUTOCLAIM is asked for behind the consumer.</summary>
internal ref struct AutoClaimOptions
{
    private const long DefaultCount = 100, CountMax = long.MaxValue / StreamId.Bytes;

    public long IdleMs, Count;

    public StreamId First;

    public bool OnlyIds;

    /// <summary>Reads it.</summary>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context)
    {
        Count = DefaultCount;
        ref CommandArguments arguments = ref context.Args;
        IdleMs = Math.Max(0, arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid min-idle-time argument for XAUTOCLAIM"u8));
        var range = default(StreamRange);
        var first = arguments.NextBytes();
        if (!arguments.Failed) range.TryReadFirst(ref arguments, first);
        First = range.First;
        while (arguments.Remaining > 0)
        {
            if (arguments.Remaining > 1 && arguments.TryKeyword("COUNT"u8)) Count = arguments.NextInt64(1, CountMax, "ERR COUNT must be > 0"u8);
            else if (arguments.TryKeyword("JUSTID"u8)) OnlyIds = true;
            else arguments.SyntaxError();
        }

        return arguments.Finish(context.Reply);
    }
}

/// <summary>XCLAIM and XAUTOCLAIM: makes pending entries another consumer's, as if they had been delivered to it.</summary>
/// <remarks>Where memory ends in the middle, the answer has what was claimed so far; where it ends at once, it is an error.</remarks>
internal ref struct StreamClaim(HeldValue value, uint group, long nowMs)
{
    private readonly HeldValue _value = value;
    private readonly StreamGroups _groups = new StreamValue(value).Groups;
    private ReadOnlySpan<byte> _name;
    private int _firstId, _ids;
    private uint _consumer;
    private StreamClaimTerms _terms;
    private bool _onlyIds;
    private StreamId _lastId;

    private readonly StreamView View => new(_value.View);

    /// <summary>Reads what XCLAIM is asked for behind the group.</summary>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context)
    {
        ref CommandArguments arguments = ref context.Args;
        _name = arguments.NextBytes();
        _terms.IdleMs = Math.Max(0, arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid min-idle-time argument for XCLAIM"u8));
        _firstId = arguments.Position;
        _terms.DeliveredMs = _terms.Deliveries = -1;
        while (arguments.Remaining > 0 && StreamIdText.TryParse(arguments.Peek(), 0, out _)) arguments.Skip(1);
        _ids = arguments.Position - _firstId;
        while (arguments.Remaining > 0) ReadOption(ref arguments);
        if (!arguments.Finish(context.Reply)) return false;
        _terms.IsDelivery = !_onlyIds;
        if (_terms.DeliveredMs < 0 || _terms.DeliveredMs > nowMs) _terms.DeliveredMs = nowMs;
        return true;
    }

    private void ReadOption(ref CommandArguments arguments)
    {
        bool hasMore = arguments.Remaining > 1;
        if (arguments.TryKeyword("FORCE"u8)) _terms.IsForced = true;
        else if (arguments.TryKeyword("JUSTID"u8)) _onlyIds = true;
        else if (hasMore && arguments.TryKeyword("IDLE"u8))
            _terms.DeliveredMs = unchecked(nowMs - arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid IDLE option argument for XCLAIM"u8));
        else if (hasMore && arguments.TryKeyword("TIME"u8))
            _terms.DeliveredMs = arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid TIME option argument for XCLAIM"u8);
        else if (hasMore && arguments.TryKeyword("RETRYCOUNT"u8))
            _terms.Deliveries = arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid RETRYCOUNT option argument for XCLAIM"u8);
        else if (hasMore && arguments.TryKeyword("LASTID"u8))
        {
            if (!StreamIdText.TryParse(arguments.NextBytes(), 0, out _lastId)) arguments.Fail(StreamIdText.Invalid);
        }
        else
        {
            arguments.Fail((byte[])[.. "ERR Unrecognized XCLAIM option '"u8, .. arguments.Peek(), .. "'"u8]);
        }
    }

    /// <summary>XCLAIM.</summary>
    public void Run(ref CommandContext context)
    {
        if (!TryFindConsumer(_name))
        {
            context.Fail(Errors.OutOfMemory);
            return;
        }

        StreamGroup read = _groups[group];
        if (_lastId > read.LastId) read.LastId = _lastId;
        var reply = context.Reply;
        var begin = reply.BeginArray();
        int claimed = 0;
        for (int i = 0; i < _ids; i++)
        {
            StreamIdText.TryParse(context.Args[_firstId + i].Span, 0, out StreamId id);
            if (TryClaim(reply, id, out var outcome))
            {
                if (outcome == StreamClaimOutcome.Claimed) claimed++;
                continue;
            }

            if (claimed != 0) break;
            reply.Rewind(begin);
            context.Fail(Errors.OutOfMemory);
            return;
        }

        reply.EndArray(begin, claimed);
    }

    /// <summary>XAUTOCLAIM.</summary>
    public void RunFrom(ref CommandContext context, ReadOnlySpan<byte> consumer, in AutoClaimOptions options)
    {
        _onlyIds = options.OnlyIds;
        _terms = new StreamClaimTerms { IdleMs = options.IdleMs, DeliveredMs = nowMs, Deliveries = -1, IsDelivery = !_onlyIds };
        if (!TryFindConsumer(consumer))
        {
            context.Fail(Errors.OutOfMemory);
            return;
        }

        // Entries are written behind each other, and the cursor ahead of them once it is known.
        var reply = context.Reply;
        var begin = reply.BeginArray();
        var deleted = default(DeletedIds);
        long left = options.Count, looks = options.Count * StreamClaimTerms.LooksEach;
        int claimed = 0;
        StreamId next = _groups.PendingFrom(group, options.First);
        // Ends: each round goes on to a greater id.
        for (; !next.IsZero && left > 0 && looks > 0; looks--)
        {
            StreamId id = next;
            if (!TryClaim(reply, id, out var outcome))
            {
                if (claimed != 0 || deleted.Count != 0) break;
                reply.Rewind(begin);
                context.Fail(Errors.OutOfMemory);
                return;
            }

            if (outcome == StreamClaimOutcome.Claimed) claimed++;
            if (outcome == StreamClaimOutcome.Gone) deleted.Add(id);
            if (outcome != StreamClaimOutcome.Passed) left--;
            next = _groups.PendingBehind(group, id);
        }

        WriteAutoClaim(reply, begin, next, claimed, deleted);
    }

    private static void WriteAutoClaim(ReplyWriter reply, ReplyMark begin, StreamId next, int claimed, in DeletedIds deleted)
    {
        Span<byte> cursor = stackalloc byte[StreamIdText.BytesMax];
        reply.EndCursor(begin, cursor[..StreamIdText.Format(next, cursor)], claimed);
        reply.WriteArray(deleted.Count);
        for (int i = 0; i < deleted.Count; i++) StreamIdText.Write(reply, deleted[i]);
    }

    private bool TryFindConsumer(ReadOnlySpan<byte> name)
    {
        _consumer = _groups[group].Find(name).Record;
        if (_consumer == 0) _consumer = _groups.TryAddConsumer(group, name, nowMs);
        else _groups.Touch(_consumer, nowMs);
        return _consumer != 0;
    }

    /// <returns>False when there is no memory.</returns>
    private readonly bool TryClaim(ReplyWriter reply, StreamId id, out StreamClaimOutcome outcome)
    {
        if (!_groups.TryClaim(group, _consumer, id, in _terms, nowMs, out outcome)) return false;
        if (outcome != StreamClaimOutcome.Claimed) return true;
        if (_onlyIds)
        {
            StreamIdText.Write(reply, id);
        }
        else
        {
            View.TryGet(id, out StreamEntry entry);
            StreamReply.WriteEntry(reply, entry);
        }

        return true;
    }

    /// <summary>Ids that were found gone: few as a rule, and then without an allocation.</summary>
    private struct DeletedIds
    {
        private StreamId _one;
        private List<StreamId>? _more;

        public int Count { get; private set; }

        public readonly StreamId this[int index] => index == 0 ? _one : _more![index - 1];

        public void Add(StreamId id)
        {
            if (Count++ == 0) _one = id;
            else (_more ??= []).Add(id);
        }
    }
}
