using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

/// <summary>WAIT and WAITAOF for replicas that do not exist: nobody ever serves it, its time passes, or CLIENT UNBLOCK
/// ends it.</summary>
/// <param name="session">Whose command it is.</param>
/// <param name="withLocal">WAITAOF: how many append-only files of this server have it, which is none, comes
/// first.</param>
internal sealed class BlockedReplicas(Session session, bool withLocal) : BlockedCommand(session)
{
    protected internal override bool TryServe(ref Serving serving) => false;

    protected override void WriteTimeout(ReplyWriter reply) => WriteNone(reply, withLocal);

    /// <summary>Answers that no replica has anything.</summary>
    public static void WriteNone(ReplyWriter reply, bool withLocal)
    {
        if (withLocal)
        {
            reply.WriteArray(2);
            reply.WriteInteger(0);
        }

        reply.WriteInteger(0);
    }
}
