using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

/// <summary>WAITAOF: waits until what its client has written is on the disk.</summary>
internal sealed class BlockedForDisk : BlockedCommand
{
    private readonly long _ticket;

    /// <param name="session">Whose command it is.</param>
    /// <param name="isEnough">Whether that is all it waits for; else for replicas, which there are none of.</param>
    public BlockedForDisk(Session session, bool isEnough)
        : base(session)
    {
        _ticket = session.LastTicket;
        if (isEnough) session.Server.Aof.Await(this);
    }

    /// <summary>Ends the wait, if what was written is on the disk.</summary>
    /// <returns>False when it is not.</returns>
    public bool TryEnd(long durableTicket)
    {
        if (_ticket > durableTicket) return false;
        TryEnd();
        return true;
    }

    protected internal override bool TryServe(ref Serving serving) => false;

    protected override void WriteTimeout(ReplyWriter reply) =>
        Write(reply, Session.Server.Aof.DurableTicket >= _ticket);

    public override void Dispose()
    {
        Session.Server.Aof.Forget(this);
        base.Dispose();
    }

    /// <summary>Writes which copies have it: the file here, and no replica.</summary>
    public static void Write(ReplyWriter reply, bool isDurable)
    {
        reply.WriteArray(2);
        reply.WriteInteger(isDurable ? 1 : 0);
        reply.WriteInteger(0);
    }
}
