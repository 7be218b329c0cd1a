using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>Receives from a worker's connections, runs what they have sent, and sends the replies: for groups of at
/// most 16, whose commands share a window.</summary>
/// <remarks>Threads: its worker's own.</remarks>
internal sealed unsafe class ConnectionGroups : IWindowOwner, IDisposable
{
    /// <summary>Until this much has been received in a turn, clients that send large arguments are received from more
    /// than once in it.</summary>
    private const long BytesATurn = 1024 * 1024;

    private readonly KvServer _server;
    private readonly EpollWorker _worker;
    private readonly WorkerCounters _counters;
    private readonly ConnectionReader _reader;
    private readonly ConnectionSender _sender;
    private readonly HeldReplies _held;
    private readonly EpollConnection[] _group = new EpollConnection[CommandWindow.SessionsMax];
    private List<EpollConnection> _arriving = [], _again = [];
    private long _now, _bytesInAtBegin;

    public ConnectionGroups(KvServer server, EpollWorker worker, StoreSession store, WorkerCounters counters,
        ConnectionReader reader, ConnectionSender sender, HeldReplies held)
    {
        (_server, _worker, _counters) = (server, worker, counters);
        (_reader, _sender, _held) = (reader, sender, held);
        Window = new CommandWindow(server, store, counters, this);
    }

    /// <summary>The window of all groups. Between two of them its output is empty.</summary>
    public CommandWindow Window { get; }

    public void Dispose() => Window.Dispose();

    public void BeginTurn(long now) => (_now, _bytesInAtBegin) = (now, _counters.BytesIn);

    /// <summary>Closes the group that was served; the others are served in the next turn.</summary>
    public void Abandon()
    {
        foreach (var connection in _group)
            if (connection != null) _worker.Close(connection);
        Array.Clear(_group);
        Window.Begin();
        _worker.EndTurnOf(_arriving);
        _worker.EndTurnOf(_again);
    }

    /// <summary>Phases A to E for all of a list, and again for those whose large arguments are arriving as long as more
    /// has arrived: several such commands of a pipeline take one turn, and their replies one call.</summary>
    public void Run(List<EpollConnection> ready)
    {
        RunAll(ready);
        // Ends: each round receives from all in the list, and nobody is added once BytesATurn have been received.
        while (_arriving.Count > 0)
        {
            (_again, _arriving) = (_arriving, _again);
            RunAll(_again);
        }
    }

    /// <summary>Phases A to E for all of a list, at most 16 at a time.</summary>
    private void RunAll(List<EpollConnection> ready)
    {
        for (int from = 0; from < ready.Count; from += CommandWindow.SessionsMax)
            RunGroup(ready, from, Math.Min(ready.Count, from + CommandWindow.SessionsMax));
        ready.Clear();
    }

    private void RunGroup(List<EpollConnection> ready, int from, int to)
    {
        Debug.Assert(to - from <= CommandWindow.SessionsMax, "a group fits into the window");
        _reader.BeginGroup();
        Window.Begin();
        int count = 0;
        for (int i = from; i < to; i++)
        {
            var connection = ready[i];
            if (connection.State >= EpollConnectionState.Lingering)
            {
                if (connection.State == EpollConnectionState.Lingering && !_reader.Drain(connection))
                    _worker.Close(connection);
                continue;
            }

            var session = connection.Session;
            byte* input;
            int length;
            if ((session.Gate & SessionGate.Stopped) != 0 || connection.HasMore)
            {
                _reader.Resume(connection, out input, out length);
            }
            else if (!ArrivalRoom.MayReceive(session))
            {
                input = null;
                length = 0;
            }
            else if (!_reader.Receive(connection, _now, out input, out length)
                || (connection.EndOfInput && length == 0 && connection.Backlog == null))
            {
                _worker.Close(connection);
                continue;
            }

            if (length == 0 && session.Steps == null && session.Held == null)
            {
                // With less interest than usual it has come from an earlier part, behind a long command: that ends now.
                if (connection.EndOfInput | connection.HasFilledRoom | connection.HoldsReplies
                    | connection.Interest != Libc.EpollIn | session.IsParked) EndPart(connection);
                continue;
            }

            _group[count++] = connection;
            Window.Add(session, input, length);
        }

        if (count == 0) return;
        Window.Run();
        for (int i = 0; i < count; i++)
        {
            var connection = _group[i];
            _reader.Keep(connection, Window.Consumed(i));
            // With the head of a large argument pending, the rest of the argument has to be received first.
            connection.HasMore = Window.HasMore(i) && connection.Pending.Length > 0
                && connection.Session.Blocks is not { IsFilling: true };
            EndPart(connection);
        }

        Array.Clear(_group, 0, count);
    }

    void IWindowOwner.Send(int index, Session session, SessionOutput output, int start, int end)
    {
        try
        {
            Debug.Assert(_group[index].Session == session, "a session's replies go to its own client");
            Fault.Point("reply.send");
            if (_server.Aof.Holds(session.LastTicket))
            {
                _held.Hold(_group[index], output, start, end);
                return;
            }

            // While a large argument arrives: sending now would wake the client for one reply of several.
            if (session.Partial.BigBulkLength > 0 && MayReceiveMore(_group[index])
                && _sender.TryHold(_group[index], output, start, end)) return;
            _sender.Send(_group[index], output, start, end);
        }
        catch (Exception exception)
        {
            // With a reply missing this connection must end, but no other one of the group, whose replies share the
            // buffer.
            _server.Log.LogCritical(exception, "Sending to client {Client} failed; its connection is closed",
                session.Id);
            _group[index].State = EpollConnectionState.Broken;
            output.DropReferences(end);
        }
    }

    private bool MayReceiveMore(EpollConnection connection) =>
        connection.HasFilledRoom && !connection.EndOfInput && _counters.BytesIn - _bytesInAtBegin < BytesATurn;

    /// <summary>Ends a connection's part in a group: it takes part in another group of this turn, or its turn is
    /// over.</summary>
    private void EndPart(EpollConnection connection)
    {
        var session = connection.Session;
        bool isArriving = session.Blocks is { IsFilling: true } && (session.Gate & SessionGate.Stopped) == 0
            && connection.State == EpollConnectionState.Open;
        if (isArriving && MayReceiveMore(connection)) _arriving.Add(connection);
        else _worker.AfterTurn(connection);
    }
}
