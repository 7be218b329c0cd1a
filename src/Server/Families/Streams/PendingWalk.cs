using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Goes along what is pending in a group, for XPENDING, and answers it.</summary>
internal unsafe struct PendingWalk
{
    /// <summary>The group, and a consumer of it or 0 for all, by what they are called in the region.</summary>
    public uint Group, Consumer;

    /// <summary>From here on, which moves; up to there.</summary>
    public StreamId First, Last;

    /// <summary>Only what was delivered so long ago.</summary>
    public long IdleMs;

    public long NowMs;

    /// <summary>At most so many are answered.</summary>
    public long Most;

    /// <summary>So many are.</summary>
    public int Written { get; private set; }

    /// <summary>Answers some.</summary>
    /// <param name="looks">Looks at so many at most,</param>
    /// <param name="bytes">and at no more when so many bytes have been written.</param>
    /// <returns>True when that were all.</returns>
    public bool Write(ReplyWriter reply, HeldValue value, long looks, int bytes)
    {
        var groups = new StreamValue(value).Groups;
        StreamGroup group = groups[Group];
        IdTree pending = group.Pending, ids = Consumer == 0 ? pending : groups.Consumer(Consumer).Pending;
        long end = (long)reply.Output.Length + bytes;
        IdCursor at = ids.From(First);
        // Ends: each round goes on to a greater id.
        for (; !at.IsEnd && Written < Most; ids.MoveNext(ref at))
        {
            StreamId id = ids.IdAt(at);
            if (id > Last) break;
            if (looks-- == 0 || reply.Output.Length >= end)
            {
                First = id;
                return false;
            }

            var entry = (PendingEntry*)(Consumer == 0 ? ids.PayloadAt(at) : pending.Find(id));
            if (IdleMs != 0 && NowMs - entry->DeliveredMs < IdleMs) continue;
            Written++;
            reply.WriteArray(4);
            StreamIdText.Write(reply, id);
            reply.WriteBulk(group.ConsumerOf(entry).Name);
            reply.WriteInteger(Math.Max(0, NowMs - entry->DeliveredMs));
            reply.WriteInteger(entry->Deliveries);
        }

        return true;
    }
}
