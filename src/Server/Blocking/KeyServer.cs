using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Blocking;

/// <summary>Serves those who wait for the keys that one session of the store has changed, when its command (or its
/// EXEC) is done.</summary>
/// <remarks>
/// First come, first served, until the key has no more; what is served may change other keys (BLMOVE), which are seen
/// to in the same way. Threads: the session's, in its turn, with no key held.
/// </remarks>
internal sealed class KeyServer(KvServer server, StoreSession store) : IDisposable
{
    /// <summary>After so many keys that serving has changed, the rest is left to another thread: elements can go round
    /// between clients.</summary>
    private const int FurtherKeysMax = 1024;

    private readonly ReplyWriter _reply = new(new OutputBuffer(256, 64 * 1024));

    /// <summary>Serves all that have come to wait for what the session has changed.</summary>
    public void ServeArrivals()
    {
        var arrivals = store.Arrivals;
        int most = arrivals.Count + FurtherKeysMax;
        try
        {
            // Ends: with what the command has changed and a bounded number of keys more.
            for (int i = 0; i < arrivals.Count; i++)
            {
                if (i == most)
                {
                    server.Blocked.ServeElsewhere(arrivals.TakeFrom(i));
                    break;
                }

                Serve(arrivals[i]);
            }
        }
        finally
        {
            arrivals.Clear();
        }
    }

    public void Dispose() => _reply.Dispose();

    /// <summary>Serves those who wait at one key.</summary>
    public void Serve(WatchedKey key)
    {
        if (key.Queue is not WaitQueue queue) return;
        // What is taken from the key here is not to be looked at once more: this goes on until nothing is left.
        var before = store.Arrivals.Ignored;
        store.Arrivals.Ignored = key;
        // Who is served has asked for nothing just now, and who serves has been answered: nobody could be told.
        bool answers = store.Presence.AnswersInPause;
        store.Presence.AnswersInPause = false;
        try
        {
            lock (queue.Guard)
            {
                ServeAll(queue, DataType.List);
                ServeAll(queue, DataType.SortedSet);
                ServeAll(queue, DataType.Stream);
            }
        }
        finally
        {
            store.Arrivals.Ignored = before;
            store.Presence.AnswersInPause = answers;
        }
    }

    private void ServeAll(WaitQueue queue, DataType type)
    {
        // Ends: each round takes a place out of the queue, or goes on to the next one, up to the one that was last.
        for (var place = queue.Last(type)?.Next; place != null;)
        {
            var command = place.Command;
            bool isDone = !command.IsWaiting || TryServe(place) || !command.IsWaiting;
            // An element is for one: when the first gets none, nobody does. Of a stream each may wait for something
            // else.
            if (!isDone && type != DataType.Stream) return;
            var next = place == queue.Last(type) ? null : place.Next;
            if (isDone) queue.Remove(place);
            place = next;
        }
    }

    private bool TryServe(WaitPlace place)
    {
        var command = place.Command;
        store.Select(place.Key.Number);
        try
        {
            _reply.Output.LimitBytes = (int)Math.Min(server.Options.MaxReplyBytes, OutputBuffer.BytesMax);
            var serving = new Serving(command, place, store, _reply);
            if (!command.TryServe(ref serving)) return false;
            command.Finish(_reply.Output.Span);
        }
        catch (Exception exception)
        {
            // The one who waits pays for what it asked for (a reply that is too large), or for a mistake of ours; not
            // who serves.
            if (exception is not ReplyTooLargeException)
                server.Log.LogError(exception, "Serving client {Client} failed", command.Session.Id);
            if (command.IsWaiting && !command.TryClaim()) return true;
            _reply.Output.Clear();
            _reply.BeginReply();
            _reply.WriteError(exception is ReplyTooLargeException ? Errors.ReplyTooLarge : Errors.Internal);
            command.Finish(_reply.Output.Span);
        }
        finally
        {
            _reply.Output.Clear();
        }

        return true;
    }
}
