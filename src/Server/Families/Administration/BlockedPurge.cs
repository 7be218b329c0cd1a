using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>MEMORY PURGE: the client waits, as for BLPOP, while a thread of the pool gives memory back, which may take
/// a tenth of a second for each gigabyte.</summary>
internal sealed class BlockedPurge(Session session) : BlockedCommand(session)
{
    /// <summary>Gives back what is free, and answers. Once, after the client has begun to wait.</summary>
    public async Task RunAsync()
    {
        await Session.Server.Purge.RunAsync().ConfigureAwait(false);
        if (TryClaim()) Finish("+OK\r\n"u8);
    }

    /// <inheritdoc/>
    // It waits for no key.
    protected internal override bool TryServe(ref Serving serving) => false;

    /// <inheritdoc/>
    // CLIENT UNBLOCK has ended the wait; memory is given back all the same.
    protected override void WriteTimeout(ReplyWriter reply) => reply.WriteOk();
}
