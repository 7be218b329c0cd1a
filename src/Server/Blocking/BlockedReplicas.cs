using Kv.Protocol;
using Kv.Server.Sessions;

namespace Kv.Server.Blocking;

/// <summary>WAIT and WAITAOF for replicas that do not exist: nobody ever serves the command, which waits until its time
/// has passed or CLIENT UNBLOCK ends it.</summary>
/// <param name="session">Whose command it is.</param>
/// <param name="withLocal">Whether the reply begins with the append-only files of this server that have the data, which
/// are none (WAITAOF).</param>
internal sealed class BlockedReplicas(Session session, bool withLocal) : BlockedCommand(session)
{
    protected internal override bool TryServe(ref Serving serving) => false;

    protected override void WriteTimeout(ReplyWriter reply) => WriteNone(reply, withLocal);

    /// <summary>Writes the reply that no replica has the data.</summary>
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
