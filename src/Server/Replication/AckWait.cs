using System.Text;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;

namespace Kv.Server.Replication;

/// <summary>WAIT and WAITAOF: a client that waits until so many replicas, or the disk here, have what it has
/// written.</summary>
/// <param name="ofDisk">Whether what counts is the disk (WAITAOF), and not memory.</param>
/// <param name="needsLocal">Whether the append-only file of this server has to have it on the disk.</param>
internal sealed class AckWait(Session session, long replicas, bool ofDisk, bool needsLocal) : BlockedCommand(session)
{
    public static ReadOnlySpan<byte> NeedsFile =>
        "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."u8;

    /// <summary>How many replicas are waited for.</summary>
    public long Replicas => replicas;

    /// <inheritdoc cref="AckWait"/>
    public bool OfDisk => ofDisk;

    /// <inheritdoc cref="AckWait"/>
    public bool NeedsLocal => needsLocal;

    /// <summary>Whether the file here is waited for no longer.</summary>
    public bool IsLocalOver => !needsLocal || Session.Server.Aof.IsDurable(Session);

    /// <summary>The last ticket of what was written.</summary>
    public long Ticket { get; } = session.LastTicket;

    /// <summary>Where in the stream that is; null: it is not there yet. Under the lock of the replicas.</summary>
    public long? Offset { get; set; }

    protected internal override bool TryServe(ref Serving serving) => false;

    protected override void WriteTimeout(ReplyWriter reply) => Write(reply, Session.Server.Replicas.CountFor(this));

    public override void Dispose()
    {
        Session.Server.Replicas.Remove(this);
        base.Dispose();
    }

    /// <summary>Enough have it.</summary>
    public void End(int count)
    {
        if (!TryClaim()) return;
        if (needsLocal && !Session.Server.Aof.IsOn) Finish([(byte)'-', .. NeedsFile, .. "\r\n"u8]);
        else Finish(Encoding.ASCII.GetBytes(ofDisk ? $"*2\r\n:{Local}\r\n:{count}\r\n" : $":{count}\r\n"));
    }

    /// <summary>Writes the reply that so many have it.</summary>
    public void Write(ReplyWriter reply, long count)
    {
        if (ofDisk)
        {
            reply.WriteArray(2);
            reply.WriteInteger(Local);
        }

        reply.WriteInteger(count);
    }

    private int Local => Session.Server.Aof.IsOn && Session.Server.Aof.IsDurable(Session) ? 1 : 0;
}
