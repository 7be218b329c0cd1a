using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Replication;

//   PSYNC    +FULLRESYNC id offset     as soon as the snapshot has its instant
//            \n                        each second, while it is being written: else the replica would give up
//            $length and the bytes     piece by piece, as the replica reads them; then the stream

/// <summary>PSYNC and SYNC: waits for a snapshot, and sends it.</summary>
/// <param name="withHead">Whether the replica wants to know where in the stream the snapshot is.</param>
internal sealed class SyncSteps(Replicas replicas, Replica replica, bool withHead) : ICommandSteps
{
    private const int PieceBytes = 64 * 1024, SignOfLifeMs = 1000, UnreadBytesMost = 1 << 20;
    private const int UnreadBytesLeast = 1024;

    private byte[]? _piece;
    private long _at, _length, _signTickMs = replica.Session.Server.TickMs;
    private bool _hasHead;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool GoesOnInPause => true;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (!IsReady(context.Session))
        {
            WriteWaiting(ref context);
            return false;
        }

        if (replica.HasFailed)
        {
            context.Session.Kill();     // it tries again, by another connection
            context.Fail("ERR a snapshot could not be written"u8);
            return true;
        }

        var file = replica.File!.File;
        if (_piece == null) Begin(ref context, RandomAccess.GetLength(file));
        int length = RandomAccess.Read(file, _piece.AsSpan(0, (int)Math.Min(_length - _at, _piece!.Length)), _at);
        if (length == 0) throw new EndOfStreamException("The snapshot for a replica is shorter than it was");
        _at += length;
        Debug.Assert(_at <= _length, "no more is sent than was said");
        replica.ReadTickMs = context.Server.TickMs;
        bool isLast = _at == _length;
        context.Reply.WriteRaw(_piece.AsSpan(0, length), isLast ? 1 : 0);
        context.Session.OutputPauseBytesMost = isLast ? long.MaxValue : UnreadBytesMax(context.Server);
        if (isLast) replicas.GoOnline(replica);
        return isLast;
    }

    /// <summary>How much of it the replica may leave unread before the next piece waits: less than what it would be
    /// closed for.</summary>
    private static long UnreadBytesMax(KvServer server)
    {
        var limit = server.Options.ClientOutputBufferLimit.Replica;
        long most = UnreadBytesMost;
        // A piece comes on top of it, and must stay below the limit with it.
        if (limit.HardBytes > 0) most = Math.Min(most, limit.HardBytes / 3);
        if (limit.SoftBytes > 0) most = Math.Min(most, limit.SoftBytes / 3);
        return Math.Max(most, UnreadBytesLeast);
    }

    /// <summary>Whether the snapshot is whole and kv-feed has come to its place, or there is none; else the session
    /// waits for that.</summary>
    private bool IsReady(Session session)
    {
        if (IsKnown) return true;
        // Parked first, then looked again: what is waited for is noted before the session is woken.
        session.Park(session.Server.TickMs + SignOfLifeMs);
        Interlocked.MemoryBarrier();
        if (!IsKnown) return false;
        session.EndPark();
        return true;
    }

    private bool IsKnown => replica.HasFailed || (replica.IsWritten && replica.IsCut);

    private void WriteWaiting(ref CommandContext context)
    {
        long now = context.Server.TickMs;
        if (replica.IsCut && !_hasHead) WriteHead(ref context);
        else if (now - _signTickMs >= SignOfLifeMs) context.Reply.WriteRaw("\n"u8, 0);
        else return;
        _signTickMs = now;
    }

    private void Begin(ref CommandContext context, long length)
    {
        if (!_hasHead) WriteHead(ref context);
        _length = length;
        _piece = new byte[Math.Min(PieceBytes, UnreadBytesMax(context.Server))];
        context.Reply.WriteRaw(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture,
            $"${length}\r\n")), 0);
    }

    private void WriteHead(ref CommandContext context)
    {
        _hasHead = true;
        if (withHead)
            context.Reply.WriteRaw(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture,
                $"+FULLRESYNC {context.Server.RunId} {replica.Start}\r\n")), 0);
    }
}
