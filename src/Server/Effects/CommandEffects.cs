using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Storage;

namespace Kv.Server.Effects;

//   Hear (a change, under the lock)  ->  Settle (before the first key is let go of: the ticket)  ->  End (the entry)
//
//   one command       its effect is what was sent, or what its handler has said instead
//   EXEC, a script    the effects of its parts collect, and are one entry at its end
//   steps             what was sent is kept; the entry follows the ticket at once, on whatever thread lets go

/// <summary>What the commands of one session of the store do, for the feed.</summary>
/// <remarks>
/// Invariant: when the session goes on to another command, each ticket that it has drawn has its entry.
/// Threads: the session's.
/// </remarks>
internal sealed class CommandEffects(Feed feed)
{
    private readonly EffectBytes _gone = new(), _said = new(), _open = new();
    private FeedBuffer? _buffer;
    private StoreSession? _session;
    private KeyArrivals? _arrivals;
    private ITicketHolder? _client;
    private byte[]? _kept;
    private int _changes, _parts, _database;
    private long _ticket;
    private bool _hasSaid, _isOfSteps, _isWrapped;

    /// <summary>Whether anybody wants to know.</summary>
    public bool IsOn
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => feed.IsOn;
    }

    /// <summary>The ticket of the last entry.</summary>
    public long LastTicket { get; private set; }

    /// <summary>Whether what it has noted is more than a moment old: a part of a transaction that goes on.</summary>
    public bool IsOpen => _ticket != 0 || !_open.IsEmpty;

    /// <summary>Whether a transaction or script has done as much as one entry can hold.</summary>
    public bool IsFull => _open.Span.Length > feed.EntryBytesMax;

    /// <summary>Whether kv-feed is woken for each entry; else by whoever runs the commands, at the end of its
    /// turn.</summary>
    public bool Wakes { get; set; } = true;

    /// <summary>Begins to note for a session.</summary>
    public void On(StoreSession session)
    {
        Debug.Assert(_ticket == 0 || _isOfSteps, "what was noted for another session is in the feed");
        _session = session;
        _arrivals = session.Arrivals;
        _buffer = feed.BufferOf(session.Slot);
    }

    /// <summary>Notes what the store tells of a key. Under its lock.</summary>
    public void Hear(KeyNote note, int database, ReadOnlySpan<byte> key)
    {
        if (note == KeyNote.Missed) return;
        _buffer!.Changes++;
        if (!IsOn) return;
        // The keys of the last change have been let go of: what comes now is later than others' changes of them.
        if (_ticket != 0 && !Holds) BeginAnew();
        if (note is KeyNote.Expired or KeyNote.Evicted)
        {
            _gone.AddCommand(database, "DEL"u8, key);
        }
        // The change that has just been noted is none of the command's: each field is told of by itself.
        else if (note == KeyNote.FieldsExpired)
        {
            _changes--;
        }
        else
        {
            _changes++;
        }

        _arrivals!.HasNotes = true;
    }

    /// <summary>Draws the ticket of what was noted, before the first key is let go of.</summary>
    public void Settle()
    {
        if (_changes == 0 && _gone.IsEmpty && _open.IsEmpty) return;
        if (_ticket == 0 && IsOn) _ticket = feed.Draw();
        if (_isOfSteps && !Holds) EndSteps();
    }

    /// <summary>Begins to say what the command does, instead of what was sent: a command of so many words, each by
    /// <see cref="EffectBytes.Add(ReadOnlySpan{byte})"/>. Before or after the change; it is void when nothing
    /// changes.</summary>
    public EffectBytes Say(int database, int words)
    {
        Debug.Assert(IsOn, "somebody wants to know");
        _hasSaid = true;
        _arrivals!.HasNotes = true;
        _said.Begin(database, words);
        return _said;
    }

    /// <summary>Says the same of a command of two words.</summary>
    public void Say(int database, ReadOnlySpan<byte> name, ReadOnlySpan<byte> key)
    {
        Debug.Assert(IsOn, "somebody wants to know");
        SayNothing();
        _said.AddCommand(database, name, key);
    }

    /// <summary>Notes what a command has chosen by itself. Under the key's lock.</summary>
    public void HearDetail(int database, ReadOnlySpan<byte> key, in KeyDetail detail)
    {
        if (!IsOn) return;
        if (_ticket != 0 && !Holds) BeginAnew();
        _arrivals!.HasNotes = true;
        DetailEffect.Add(detail.Kind == KeyDetailKind.FieldExpired ? _gone : _said, database, key, detail);
    }

    /// <summary>Says that what was sent is not the effect: there is none but what is said.</summary>
    public void SayNothing()
    {
        _hasSaid = true;
        _arrivals!.HasNotes = true;
    }

    /// <summary>Says that the command, as it was sent, has an effect beyond keys: now, while no other can change the
    /// same.</summary>
    public void Mark()
    {
        if (!IsOn) return;
        _changes++;
        _arrivals!.HasNotes = true;
        if (_ticket == 0) _ticket = feed.Draw();
    }

    /// <summary>Ends a command. It is one of several when its keys are held on: then the entry follows with
    /// <see cref="Close"/>.</summary>
    public void End(in SentCommand sent)
    {
        if (_changes == 0 && _gone.IsEmpty)
        {
            Forget();
        }
        else if (_ticket != 0 && sent is { IsEffect: true, Count: > 0 } && !_hasSaid && _gone.IsEmpty && _open.IsEmpty
            && !Holds)
        {
            PublishSent(sent);
            return;
        }
        else
        {
            EndSlow(sent);
        }

        if (!Holds) Close(sent.Client);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private unsafe void EndSlow(in SentCommand sent)
    {
        // Of a transaction that holds keys as late as can be: until its entry is there all others' wait.
        if (_ticket == 0 && IsOn && _session!.Transaction == null) _ticket = feed.Draw();
        Debug.Assert(!_isOfSteps, "what is of steps ends with their keys");
        _parts++;
        _open.AddAll(_gone);
        if (_changes != 0 && _hasSaid) _open.AddAll(_said);
        else if (_changes != 0 && sent.IsEffect)
        {
            Debug.Assert(sent.Count > 0 || sent.Kept != null, "somebody knows how the command was called");
            if (sent.Count > 0) _open.AddCommand(sent.Database, sent.Items, sent.Count);
            else if (sent.Kept != null) _open.AddKept(sent.Database, sent.Kept);
        }

        if (_said.Count > 1 || _parts > 1) _isWrapped = true;
        Forget();
    }

    /// <summary>The common case: one command, as it was sent.</summary>
    private unsafe void PublishSent(in SentCommand sent)
    {
        int length = EffectBytes.Measure(sent.Items, sent.Count);
        EffectBytes.Write(_buffer!.Begin(_ticket, FeedRunKind.Commands, sent.Database, length), sent.Items, sent.Count);
        _buffer.End(length);
        LastTicket = _ticket;
        if (sent.Client is { } client) client.LastTicket = _ticket;
        _ticket = 0;
        _changes = 0;
        if (Wakes) feed.Wake();
    }

    /// <summary>Ends what was done for a client that waited: it has said what.</summary>
    public void EndServing(ITicketHolder client)
    {
        Debug.Assert(_changes == 0 || _hasSaid || !IsOn, "who serves says what it does");
        _open.AddAll(_gone);
        if (_changes != 0) _open.AddAll(_said);
        _isWrapped = _open.Count > 1;
        Forget();
        Close(client);
    }

    /// <summary>Puts what was collected into the feed.</summary>
    public void Close(ITicketHolder? client = null)
    {
        if (_ticket == 0 && !_open.IsEmpty && IsOn)
        {
            Debug.Assert(Holds, "the ticket is drawn while the keys are locked");
            _ticket = feed.Draw();
        }

        if (_ticket == 0)
        {
            _open.Clear();
        }
        else
        {
            Publish(_open, _isWrapped && _open.Count > 1);
            if (client != null) client.LastTicket = LastTicket;
        }

        _parts = 0;
        _isWrapped = false;
    }

    /// <summary>Takes over what another session's transaction or script has done so far.</summary>
    public void TakeOver(CommandEffects other)
    {
        Debug.Assert(_ticket == 0 && _open.IsEmpty && _changes == 0, "it begins with that");
        Debug.Assert(other._changes == 0, "its last command has ended");
        (_ticket, other._ticket) = (other._ticket, 0);
        (_parts, other._parts) = (other._parts, 0);
        (_isWrapped, other._isWrapped) = (other._isWrapped, false);
        _open.AddAll(other._open);
        other._open.Clear();
    }

    /// <summary>The effects of the present command's steps, which a session of their own runs.</summary>
    /// <returns>Null when nobody asks.</returns>
    public CommandEffects? ForSteps(in SentCommand sent)
    {
        // What holds keys goes on as part of that, on this session.
        if (!IsOn || Holds) return null;
        var steps = new CommandEffects(feed) { _isOfSteps = true, _client = sent.Client };
        // What it has changed so far is told with the rest.
        (steps._changes, _changes) = (_changes, 0);
        steps._open.AddAll(_gone);
        _gone.Clear();
        if (_hasSaid) steps._said.AddAll(_said);
        (steps._hasSaid, _hasSaid) = (_hasSaid, false);
        _said.Clear();
        if (!steps._hasSaid && sent.IsEffect)
        {
            steps._kept = sent.Keep();
            steps._database = sent.Database;
        }

        return steps;
    }

    /// <summary>Takes back what steps were given that could not begin.</summary>
    public void TakeBack(CommandEffects steps)
    {
        if (!steps._isOfSteps) return;
        Debug.Assert(steps._ticket == 0, "nothing was done");
        _changes += steps._changes;
        _gone.AddAll(steps._open);
        _said.AddAll(steps._said);
        _hasSaid |= steps._hasSaid;
    }

    private bool Holds => _session!.Transaction != null || _session.Presence.PausesOthers;

    /// <summary>Publishes the steps' effect: their keys are being let go of.</summary>
    private void EndSteps()
    {
        _open.AddAll(_gone);
        if (_changes != 0 && _hasSaid) _open.AddAll(_said);
        else if (_changes != 0 && _kept != null) _open.AddKept(_database, _kept);
        _isWrapped = _said.Count > 1;
        Forget();
        Close(_client);
    }

    /// <summary>Publishes what was done so far: it was done to keys that have been let go of.</summary>
    private void BeginAnew()
    {
        Debug.Assert(_changes == 0 || _hasSaid, "a command that changes keys one by one says so of each");
        _open.AddAll(_gone);
        if (_changes != 0) _open.AddAll(_said);
        Forget();
        Close();
    }

    private void Forget()
    {
        _gone.Clear();
        _said.Clear();
        _changes = 0;
        _hasSaid = false;
    }

    private void Publish(EffectBytes effects, bool isWhole)
    {
        _buffer!.Add(_ticket, effects, isWhole);
        LastTicket = _ticket;
        _ticket = 0;
        effects.Clear();
        if (Wakes) feed.Wake();
    }
}
