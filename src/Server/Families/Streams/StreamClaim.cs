using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

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
        IdleMs = Math.Max(0, arguments.NextInt64(long.MinValue, long.MaxValue,
            "ERR Invalid min-idle-time argument for XAUTOCLAIM"u8));
        var range = default(StreamRange);
        var first = arguments.NextBytes();
        if (!arguments.Failed) range.TryReadFirst(ref arguments, first);
        First = range.First;
        while (arguments.Remaining > 0)
        {
            if (arguments.Remaining > 1 && arguments.TryKeyword("COUNT"u8))
                Count = arguments.NextInt64(1, CountMax, "ERR COUNT must be > 0"u8);
            else if (arguments.TryKeyword("JUSTID"u8)) OnlyIds = true;
            else arguments.SyntaxError();
        }

        return arguments.Finish(context.Reply);
    }
}

/// <summary>How far an XAUTOCLAIM has come.</summary>
internal struct AutoClaimWalk
{
    /// <summary>Where it goes on; 0-0: that were all.</summary>
    public StreamId Next;

    /// <summary>So many more may be given, or looked at.</summary>
    public long Left, Looks;

    /// <summary>Entries that became the consumer's; and those that were deleted.</summary>
    public int Claimed, Gone;

    public readonly bool IsEnded => Next.IsZero || Left <= 0 || Looks <= 0;

    /// <summary>Whether something has become of some entry.</summary>
    public readonly bool HasAny => (Claimed | Gone) != 0;
}

/// <summary>XCLAIM and XAUTOCLAIM: makes pending entries another consumer's, as if they had been delivered to
/// it.</summary>
/// <remarks>Where memory ends in the middle, the answer has what was claimed so far; where it ends at once, it is an
/// error.</remarks>
internal ref struct StreamClaim(HeldValue value, uint group, long nowMs)
{
    private readonly HeldValue _value = value;
    private readonly StreamGroups _groups = new StreamValue(value).Groups;
    private ReadOnlySpan<byte> _name;
    private StreamClaimTerms _terms;
    private bool _onlyIds;
    private StreamId _lastId;

    /// <summary>Who gets them, by what it is called in the region.</summary>
    public uint Consumer { readonly get; set; }

    public StreamClaimTerms Terms
    {
        readonly get => _terms;
        init => _terms = value;
    }

    private readonly StreamView View => new(_value.View);

    /// <summary>Reads what XCLAIM is asked for behind the group.</summary>
    /// <param name="ids">How many ids there are.</param>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandArguments arguments, ReplyWriter reply, int ids)
    {
        _name = arguments.NextBytes();
        _terms.IdleMs = Math.Max(0,
            arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid min-idle-time argument for XCLAIM"u8));
        _terms.DeliveredMs = _terms.Deliveries = -1;
        arguments.Skip(ids);
        while (arguments.Remaining > 0) ReadOption(ref arguments);
        if (!arguments.Finish(reply)) return false;
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
            _terms.DeliveredMs = unchecked(nowMs
                - arguments.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid IDLE option argument for XCLAIM"u8));
        else if (hasMore && arguments.TryKeyword("TIME"u8))
            _terms.DeliveredMs = arguments.NextInt64(long.MinValue, long.MaxValue,
                "ERR Invalid TIME option argument for XCLAIM"u8);
        else if (hasMore && arguments.TryKeyword("RETRYCOUNT"u8))
            _terms.Deliveries = arguments.NextInt64(long.MinValue, long.MaxValue,
                "ERR Invalid RETRYCOUNT option argument for XCLAIM"u8);
        else if (hasMore && arguments.TryKeyword("LASTID"u8))
        {
            if (!StreamIdText.TryParse(arguments.NextBytes(), 0, out _lastId)) arguments.Fail(StreamIdText.Invalid);
        }
        else
        {
            arguments.Fail((byte[])[.. "ERR Unrecognized XCLAIM option '"u8, .. arguments.Peek(), .. "'"u8]);
        }
    }

    /// <summary>Begins an XCLAIM that was read: all that it changes but for the entries.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryBegin()
    {
        if (!TryFindConsumer(_name)) return false;
        StreamGroup read = _groups[group];
        if (_lastId <= read.LastId) return true;
        read.LastId = _lastId;
        _groups.TellRead(group);
        return true;
    }

    /// <summary>Finds the consumer, or adds it, and notes that it was here.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryFindConsumer(ReadOnlySpan<byte> name)
    {
        Consumer = _groups.TryTouchConsumer(group, name, nowMs);
        return Consumer != 0;
    }

    /// <summary>Looks at the next pending entry, and claims it, if the terms are met.</summary>
    /// <param name="gone">Its id, if it was deleted; else 0-0.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public readonly bool TryClaimNext(ReplyWriter reply, ref AutoClaimWalk walk, out StreamId gone)
    {
        Debug.Assert(!walk.IsEnded, "something is left to look at");
        gone = StreamId.Zero;
        StreamId id = walk.Next;
        if (!TryClaim(reply, id, out var outcome)) return false;
        if (outcome == StreamClaimOutcome.Claimed) walk.Claimed++;
        if (outcome == StreamClaimOutcome.Gone)
        {
            walk.Gone++;
            gone = id;
        }

        if (outcome != StreamClaimOutcome.Passed) walk.Left--;
        walk.Looks--;
        walk.Next = _groups.PendingAfter(group, id);
        return true;
    }

    /// <summary>Claims an entry, if the terms are met, and answers it.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public readonly bool TryClaim(ReplyWriter reply, StreamId id, out StreamClaimOutcome outcome)
    {
        Debug.Assert(Consumer != 0, "the consumer was found");
        if (!_groups.TryClaim(group, Consumer, id, in _terms, nowMs, out outcome)) return false;
        if (outcome != StreamClaimOutcome.Claimed) return true;
        if (!_terms.IsDelivery)
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
}
