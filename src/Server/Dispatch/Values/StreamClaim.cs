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
internal unsafe ref struct StreamClaim(HeldValue value, uint group, long nowMs)
{
    // How many entries XAUTOCLAIM looks at for each that it may return.
    private const long LooksEach = 10;

    private readonly HeldValue _value = value;
    private readonly StreamGroups _groups = new StreamValue(value).Groups;
    private ReadOnlySpan<byte> _name;
    private int _firstId, _ids;
    private uint _consumer;
    private long _idleMs, _deliveredMs, _deliveries;
    private bool _isForced, _onlyIds;
    private StreamId _lastId;

    private readonly StreamView View => new(_value.View);

    /// <summary>Reads what XCLAIM is asked for behind the group.</summary>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context)
    {
        ref CommandArguments arguments = ref context.Args;
        _name = arguments.NextBytes();
        _idleMs = Math.Max(0, arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid min-idle-time argument for XCLAIM"u8));
        _firstId = arguments.Position;
        _deliveredMs = _deliveries = -1;
        while (arguments.Remaining > 0 && StreamIdText.TryParse(arguments.Peek(), 0, out _)) arguments.Skip(1);
        _ids = arguments.Position - _firstId;
        while (arguments.Remaining > 0) ReadOption(ref arguments);
        if (!arguments.Finish(context.Reply)) return false;
        if (_deliveredMs < 0 || _deliveredMs > nowMs) _deliveredMs = nowMs;
        return true;
    }

    private void ReadOption(ref CommandArguments arguments)
    {
        bool hasMore = arguments.Remaining > 1;
        if (arguments.TryKeyword("FORCE"u8)) _isForced = true;
        else if (arguments.TryKeyword("JUSTID"u8)) _onlyIds = true;
        else if (hasMore && arguments.TryKeyword("IDLE"u8))
            _deliveredMs = unchecked(nowMs - arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid IDLE option argument for XCLAIM"u8));
        else if (hasMore && arguments.TryKeyword("TIME"u8))
            _deliveredMs = arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid TIME option argument for XCLAIM"u8);
        else if (hasMore && arguments.TryKeyword("RETRYCOUNT"u8))
            _deliveries = arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid RETRYCOUNT option argument for XCLAIM"u8);
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
            var outcome = Claim(reply, id);
            if (outcome == ClaimOutcome.Claimed) claimed++;
            if (outcome != ClaimOutcome.OutOfMemory) continue;
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
        _idleMs = options.IdleMs;
        _onlyIds = options.OnlyIds;
        _deliveredMs = nowMs;
        _deliveries = -1;
        if (!TryFindConsumer(consumer))
        {
            context.Fail(Errors.OutOfMemory);
            return;
        }

        // Entries are written behind each other, and the cursor ahead of them once it is known.
        var reply = context.Reply;
        var begin = reply.BeginArray();
        var deleted = default(DeletedIds);
        long left = options.Count, looks = options.Count * LooksEach;
        int claimed = 0;
        IdCursor at = _groups[group].Pending.From(options.First);
        StreamId next = at.IsEnd ? StreamId.Zero : _groups[group].Pending.IdAt(at);
        // Ends: each round goes on to a greater id.
        for (; !next.IsZero && left > 0 && looks > 0; looks--)
        {
            StreamId id = next;
            var outcome = Claim(reply, id);
            if (outcome == ClaimOutcome.OutOfMemory)
            {
                if (claimed != 0 || deleted.Count != 0) break;
                reply.Rewind(begin);
                context.Fail(Errors.OutOfMemory);
                return;
            }

            if (outcome == ClaimOutcome.Claimed) claimed++;
            if (outcome == ClaimOutcome.Gone) deleted.Add(id);
            if (outcome != ClaimOutcome.Passed) left--;
            next = NextOf(id);
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

    private readonly StreamId NextOf(StreamId id)
    {
        IdTree pending = _groups[group].Pending;
        if (!id.TryNext(out StreamId first)) return StreamId.Zero;
        IdCursor at = pending.From(first);
        return at.IsEnd ? StreamId.Zero : pending.IdAt(at);
    }

    private bool TryFindConsumer(ReadOnlySpan<byte> name)
    {
        _consumer = _groups[group].Find(name).Record;
        if (_consumer == 0) _consumer = _groups.TryAddConsumer(group, name, nowMs);
        else _groups.Touch(_consumer, nowMs);
        return _consumer != 0;
    }

    private readonly ClaimOutcome Claim(ReplyWriter reply, StreamId id)
    {
        PendingEntry* pending = _groups.Find(group, id);
        if (!View.TryGet(id, out _)) return pending != null && _groups.Acknowledge(group, id) ? ClaimOutcome.Gone : ClaimOutcome.Passed;
        if (pending == null && !_isForced) return ClaimOutcome.Passed;
        if (pending != null && _idleMs != 0 && nowMs - pending->DeliveredMs < _idleMs) return ClaimOutcome.Passed;
        if ((pending == null || pending->Consumer != _consumer) && !_groups.TryReserve(group, _consumer, id, 1)) return ClaimOutcome.OutOfMemory;
        bool isNew = pending == null;
        pending = _groups.Assign(group, _consumer, id);
        if (isNew) pending->Deliveries = 1;
        pending->DeliveredMs = _deliveredMs;
        if (_deliveries >= 0) pending->Deliveries = _deliveries;
        else if (!_onlyIds) pending->Deliveries++;
        _groups.Consumer(_consumer).ActiveMs = nowMs;
        if (_onlyIds)
        {
            StreamIdText.Write(reply, id);
        }
        else
        {
            View.TryGet(id, out StreamEntry entry);
            StreamReply.WriteEntry(reply, entry);
        }

        return ClaimOutcome.Claimed;
    }

    private enum ClaimOutcome
    {
        /// <summary>It is the consumer's now, and written.</summary>
        Claimed,

        /// <summary>It stays as it is.</summary>
        Passed,

        /// <summary>The entry was deleted: it is pending no more.</summary>
        Gone,
        OutOfMemory,
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
