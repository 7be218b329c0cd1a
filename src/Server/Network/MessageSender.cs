using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>Sends a worker's clients the messages that wait for them.</summary>
/// <remarks>Threads: its worker's own, when no replies are in the window's output.</remarks>
internal sealed class MessageSender(KvServer server, CommandWindow window, ConnectionSender sender)
{
    /// <summary>Sends messages, until the client has enough unread. The others stay where all who get them share them:
    /// whoever sends what is unread comes back to them.</summary>
    /// <returns>False: the client has had its share of the turn, and there are more, perhaps.</returns>
    public bool Send(EpollConnection connection)
    {
        var session = connection.Session;
        int left = ISessionOwner.MessageBytesATurn;
        // Ends: with the messages, when the client takes no more for now, or it has had its share of the turn.
        while ((connection.Backlog?.Length ?? 0) < ISessionOwner.MessageBytesAhead && session.TakeMessages())
        {
            left -= SendTaken(connection);
            if (left <= 0) return false;
        }

        return true;
    }

    /// <summary>Sends all messages that the client is still to get before it leaves.</summary>
    public void SendLast(EpollConnection connection)
    {
        if (connection.Session.Messages is not { } messages) return;
        messages.Refuse();
        // Ends: with the messages, as no more come.
        while (connection.Session.TakeMessages()) SendTaken(connection);
    }

    private int SendTaken(EpollConnection connection)
    {
        var output = window.Output;
        Debug.Assert(output.Buffer.Length == 0, "replies of others are sent before");
        output.Reply.Version = connection.Session.Version;
        try
        {
            connection.Session.WriteTakenMessages(output.Reply, CommandWindow.FlushBytes);
            int bytes = output.Buffer.Length;
            if (bytes > 0) sender.Send(connection, output, 0, bytes);
            return bytes;
        }
        catch (Exception exception)
        {
            server.Log.LogCritical(exception, "Messages for client {Client} are lost; its connection is closed",
                connection.Session.Id);
            connection.State = EpollConnectionState.Broken;
            return 0;
        }
        finally
        {
            output.Buffer.Clear();
        }
    }
}
