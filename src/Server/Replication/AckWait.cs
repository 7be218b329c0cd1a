using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;

namespace Kv.Server.Replication;

/// <summary>WAIT: a client that waits until so many replicas have what it has written.</summary>
/// <param name="withLocal">Whether the reply begins with the append-only files of this server that have the data
/// (WAITAOF).</param>
internal sealed class AckWait(Session session, long replicas, bool withLocal) : BlockedCommand(session)
{
    /// <summary>How many are waited for.</summary>
    public long Replicas => replicas;

    /// <summary>The last ticket of what was written.</summary>
    public long Ticket { get; } = session.LastTicket;

    /// <summary>Where in the stream that is; null: it is not there yet. Under the lock of the replicas.</summary>
    public long? Offset { get; set; }

    protected internal override bool TryServe(ref Serving serving) => false;

    protected override void WriteTimeout(ReplyWriter reply) =>
        Write(Session, reply, Session.Server.Replicas.CountFor(this), withLocal);

    public override void Dispose()
    {
        Session.Server.Replicas.Remove(this);
        base.Dispose();
    }

    /// <summary>Enough have it.</summary>
    public void End(int count)
    {
        if (!TryClaim()) return;
        Finish(System.Text.Encoding.ASCII.GetBytes(
            withLocal ? $"*2\r\n:{Local(Session)}\r\n:{count}\r\n" : $":{count}\r\n"));
    }

    /// <summary>Writes the reply that so many have it.</summary>
    public static void Write(Session session, ReplyWriter reply, long count, bool withLocal)
    {
        if (withLocal)
        {
            reply.WriteArray(2);
            reply.WriteInteger(Local(session));
        }

        reply.WriteInteger(count);
    }

    private static int Local(Session session) =>
        session.Server.Aof.IsOn && session.Server.Aof.IsDurable(session) ? 1 : 0;
}
