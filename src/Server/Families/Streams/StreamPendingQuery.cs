using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What XPENDING is asked for behind the group, and the answer.</summary>
internal ref struct StreamPendingQuery
{
    private StreamRange _range;
    private long _idleMs, _count;
    private ReadOnlySpan<byte> _consumer;
    private bool _hasConsumer;

    /// <summary>Only how much is pending, and with whom.</summary>
    public bool IsSummary { get; private set; }

    /// <summary>Reads it.</summary>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context)
    {
        ref CommandArguments arguments = ref context.Args;
        int count = arguments.Count, first = 3;
        IsSummary = count == 3;
        if (IsSummary) return true;
        if (count is < 6 or > 9) return Fail(ref context);
        if (arguments.TryKeyword("IDLE"u8))
        {
            _idleMs = arguments.NextInt64();
            first += 2;
            if (count < 8 && !arguments.Failed) return Fail(ref context);
        }

        var from = arguments.NextBytes();
        var to = arguments.NextBytes();
        _count = Math.Max(0, arguments.NextInt64());
        if (!arguments.Failed) _range.TryRead(ref arguments, from, to);
        _hasConsumer = first + 3 < count;
        if (_hasConsumer) _consumer = arguments.NextBytes();
        // What Redis does not look at either.
        arguments.Skip(arguments.Remaining);
        return arguments.Finish(context.Reply);
    }

    /// <summary>How much is pending, from where to where, and with whom.</summary>
    public static void WriteSummary(ReplyWriter reply, StreamGroup group)
    {
        IdTree pending = group.Pending;
        reply.WriteArray(4);
        reply.WriteInteger(pending.Count);
        if (pending.IsEmpty)
        {
            reply.WriteNull();
            reply.WriteNull();
            reply.WriteNullArray();
            return;
        }

        StreamIdText.Write(reply, pending.First);
        StreamIdText.Write(reply, pending.LastId);
        var begin = reply.BeginArray();
        int consumers = 0;
        for (int i = 0; i < group.Consumers.Count; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            if (consumer.Pending.IsEmpty) continue;
            reply.WriteArray(2);
            reply.WriteBulk(consumer.Name);
            reply.WriteBulkInteger(consumer.Pending.Count);
            consumers++;
        }

        reply.EndArray(begin, consumers);
    }

    /// <summary>Answers what is pending, entry by entry; where there is much, in later turns.</summary>
    public readonly void Run(ref CommandContext context, in HeldKey held, uint group)
    {
        uint consumer = _hasConsumer ? new StreamValue(held.Value).Groups[group].Find(_consumer).Record : 0;
        if (_hasConsumer && consumer == 0)
        {
            context.Reply.WriteArray(0);
            return;
        }

        HeldWork.RunOpen(ref context, held, new PendingWork
        {
            Group = group, Consumer = consumer, First = _range.First, Last = _range.Last, IdleMs = _idleMs,
                NowMs = context.Store.NowMs, Most = _count,
        });
    }

    private static bool Fail(ref CommandContext context)
    {
        context.Fail(Errors.Syntax);
        return false;
    }
}
