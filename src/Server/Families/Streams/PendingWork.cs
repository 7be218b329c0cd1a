using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XPENDING: goes along what is pending in a group, and writes it.</summary>
internal unsafe struct PendingWork : IOpenWork
{
    /// <summary>The group's piece of the region, and that of a consumer, or 0 for all consumers.</summary>
    public uint Group, Consumer;

    /// <summary>The range of ids; <see cref="First"/> moves on with each piece of work.</summary>
    public StreamId First, Last;

    /// <summary>Only entries that were delivered at least this long ago.</summary>
    public long IdleMs;

    public long NowMs;

    /// <summary>How many entries the reply has at most.</summary>
    public long Most;

    private int _written;
    private bool _isDone;

    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => _isDone ? _written : -1;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        Debug.Assert(!_isDone && Group != 0, "a group is asked for, once");
        var groups = new StreamValue(value).Groups;
        StreamGroup group = groups[Group];
        IdTree pending = group.Pending, ids = Consumer == 0 ? pending : groups.Consumer(Consumer).Pending;
        IdCursor at = ids.From(First);
        // Ends: each round goes on to a greater id.
        for (; !at.IsEnd && _written < Most; ids.MoveNext(ref at))
        {
            StreamId id = ids.IdAt(at);
            if (id > Last) break;
            if (!budget.TryTake())
            {
                First = id;
                return false;
            }

            var entry = (PendingEntry*)(Consumer == 0 ? ids.PayloadAt(at) : pending.Find(id));
            Debug.Assert(entry != null, "what is pending with a consumer is pending in its group");
            if (IdleMs != 0 && NowMs - entry->DeliveredMs < IdleMs) continue;
            _written++;
            var to = reply.Next();
            to.WriteArray(4);
            StreamIdText.Write(to, id);
            to.WriteBulk(group.ConsumerOf(entry).Name);
            to.WriteInteger(Math.Max(0, NowMs - entry->DeliveredMs));
            to.WriteInteger(entry->Deliveries);
        }

        return _isDone = true;
    }
}
