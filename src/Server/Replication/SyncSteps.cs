using System.Globalization;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Replication;

/// <summary>PSYNC and SYNC: sends a snapshot, piece by piece as the replica reads it; the stream follows.</summary>
/// <param name="path">Of the snapshot, which is deleted at the end.</param>
/// <param name="withHead">Whether the replica wants to know where in the stream the snapshot is.</param>
internal sealed class SyncSteps(Replicas replicas, Replica replica, string path, bool withHead) : ICommandSteps,
    IDisposable
{
    private const int PieceBytes = 64 * 1024;

    private FileStream? _file = new(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0);
    private byte[]? _piece = new byte[PieceBytes];
    private bool _hasBegun;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool GoesOnInPause => true;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (!IsCut(context.Session)) return false;
        if (!_hasBegun) Begin(ref context);
        int length = _file!.Read(_piece!);
        bool isLast = _file.Position == _file.Length || length == 0;
        context.Reply.WriteRaw(_piece.AsSpan(0, length), isLast ? 1 : 0);
        if (!isLast) return false;
        replicas.GoOnline(replica);
        Dispose();
        return true;
    }

    public void Dispose()
    {
        _file?.Dispose();
        if (_file != null) File.Delete(path);
        _file = null;
        _piece = null;
    }

    /// <summary>Whether kv-feed has come to the snapshot's place; waits for it otherwise.</summary>
    private bool IsCut(Session session)
    {
        if (replica.IsCut) return true;
        // Parked first, then looked again: it is cut before the session is woken.
        session.Park(long.MaxValue);
        Interlocked.MemoryBarrier();
        if (!replica.IsCut) return false;
        session.EndPark();
        return true;
    }

    private void Begin(ref CommandContext context)
    {
        _hasBegun = true;
        if (withHead)
            context.Reply.WriteRaw(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture,
                $"+FULLRESYNC {context.Server.RunId} {replica.Start}\r\n")), 0);
        context.Reply.WriteRaw(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture,
            $"${_file!.Length}\r\n")), 0);
    }
}
