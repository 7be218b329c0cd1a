using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Server.Tracking;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Blocking;

/// <summary>Serves those who wait for the keys that a session of the store has changed, after its command or its
/// EXEC.</summary>
/// <remarks>
/// First come, first served, until the key has no more. A command that is served may change other keys (BLMOVE); those
/// who wait for them are served likewise. Threads: the session's, in its turn, with no key held.
/// </remarks>
internal sealed class KeyServer : IDisposable
{
    /// <summary>When serving has changed this many keys, the rest is left to another thread: elements can go round
    /// between clients.</summary>
    private const int FurtherKeysMax = 1024;

    private readonly ReplyWriter _reply = new(new OutputBuffer(256, 64 * 1024));
    private readonly KvServer _server;
    private readonly StoreSession _store;
    private readonly CommandEvents _events;
    private readonly bool _ownsEvents;
    private readonly KeyWriter _writer;
    private Predicate<WatchedKey>? _mayServe;

    public KeyServer(KvServer server, StoreSession store)
    {
        (_server, _store) = (server, store);
        _events = CommandEvents.Of(server.Events, store, out _ownsEvents);
        _writer = server.Tracking.WriterOf(store.Slot);
    }

    /// <summary>Serves those who wait for the keys that the session has changed.</summary>
    public void ServeArrivals()
    {
        var arrivals = _store.Arrivals;
        int most = arrivals.Count + FurtherKeysMax;
        _store.MayComeAgain = false;     // what is done for others is not done again
        try
        {
            // Ends: with what the command has changed and a bounded number of keys more.
            for (int i = 0; i < arrivals.Count; i++)
            {
                if (i == most)
                {
                    _server.Blocked.ServeElsewhere(arrivals.TakeFrom(i));
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

    /// <summary>Forgets the keys that one of several commands has changed and that have nothing for anybody just now.
    /// So those who wait are served, at the end of EXEC or the script, in the order in which keys first had something
    /// for them, as in Redis.</summary>
    /// <remarks>The keys are still held, or all others stand still.</remarks>
    public void ForgetUnready() => _store.Arrivals.KeepNew(_mayServe ??= MayServe);

    public void Dispose()
    {
        _reply.Dispose();
        if (_ownsEvents) _events.Leave(_store);
    }

    /// <summary>Serves those who wait for one key.</summary>
    public void Serve(WatchedKey key)
    {
        if (key.Queue is not WaitQueue queue) return;
        Debug.Assert(!queue.Guard.IsHeldByCurrentThread, "a key is not served while it is served");
        // What this takes from the key is no reason to serve the key again: this goes on until nothing is left.
        var before = _store.Arrivals.Ignored;
        var ofRow = _events.OfRow;
        var author = _writer.Author;
        _store.Arrivals.Ignored = key;
        // A BUSY error would have nobody to go to: who is served asked long ago, who serves has had its reply.
        bool answers = _store.Presence.AnswersInPause;
        _store.Presence.AnswersInPause = false;
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
            _store.Arrivals.Ignored = before;
            _events.Begin(ofRow);      // of the next command in the same run
            if (_writer.Author != author) _writer.Begin(author);
            _store.Presence.AnswersInPause = answers;
        }
    }

    private bool MayServe(WatchedKey key)
    {
        // One that is not held is none of the command's: it has expired, or is of another session's steps.
        if (key.Queue is not WaitQueue queue) return true;
        if (_store.Transaction != null && !_store.IsHeld(key.Bytes, key.Number)) return true;
        _store.Select(key.Number);
        using var held = _store.Hold(new Key(key.Bytes, key.Hash), DataType.Any);
        return queue.MayBeServed(held.Status == StoreStatus.Ok ? held.Value.Type : DataType.Any);
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
        _store.Select(place.Key.Number);
        _events.Begin(KeyEvent.None);
        // What it takes, and where it puts that (BLMOVE), is its change, and none of whoever has pushed.
        if (_server.Tracking.ClientCount != 0) _writer.Begin(command.Session);
        try
        {
            _reply.Output.LimitBytes = (int)Math.Min(_server.Options.MaxReplyBytes, OutputBuffer.BytesMax);
            var serving = new Serving(command, place, _store, _reply, _events);
            Debug.Assert(place.Queue.Guard.IsHeldByCurrentThread, "served under the queue's lock");
            if (!command.TryServe(ref serving))
            {
                _events.EndServing(command.Session);        // the key may have expired just now
                if (serving.Verdict.IsAllowed) return false;
                command.Call!.Deny(serving.Verdict, _reply);     // what is there is for the next one
            }

            Debug.Assert(!command.IsWaiting, "whoever serves a command has claimed it");
            Debug.Assert(_reply.Owed == 0, "who is served gets exactly one reply");
            _events.EndServing(command.Session);
            command.Finish(_reply.Output.Span);
        }
        catch (Exception exception)
        {
            // The error (a reply that is too large, or a mistake of ours) goes to the client who waits, not to the one
            // whose command serves it.
            if (exception is not ReplyTooLargeException)
                _server.Log.LogError(exception, "Serving client {Client} failed", command.Session.Id);
            _events.EndServing(command.Session);
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
