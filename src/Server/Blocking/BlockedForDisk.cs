using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

/// <summary>WAITAOF: waits until what its client has written is on the disk.</summary>
internal sealed class BlockedForDisk(Session session) : BlockedCommand(session)
{
    private readonly long _ticket = session.LastTicket;

    /// <summary>Ends the wait, if what was written is on the disk.</summary>
    /// <returns>False when it is not.</returns>
    public bool TryEnd(long durableTicket)
    {
        if (_ticket > durableTicket) return false;
        TryEnd();
        return true;
    }

    protected internal override bool TryServe(ref Serving serving) => false;

    // The file here has it or not; that replicas have it has not been waited for.
    protected override void WriteTimeout(ReplyWriter reply)
    {
        reply.WriteArray(2);
        reply.WriteInteger(Session.Server.Aof.DurableTicket >= _ticket ? 1 : 0);
        reply.WriteInteger(0);
    }

    public override void Dispose()
    {
        Session.Server.Aof.Forget(this);
        base.Dispose();
    }
}
