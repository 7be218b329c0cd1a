using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Server.Effects;
using Kv.Storage;

namespace Kv.Server.Notifications;

/// <summary>The events of the commands that one session of the store runs: joins what the store has noted of a key with
/// the name that the command has for it.</summary>
/// <remarks>
/// A command's row names the event of the keys that it changes (<c>lpush</c>). The store notes which keys those are,
/// and what comes with it: that a key is new, which is published before the command's event, or that its last element
/// is gone, which is published after it (<c>new</c>, <c>lpush</c>; <c>lpop</c>, <c>del</c>). Where the name depends on
/// what the command does, or keys have different ones, its handler says so: before the change by <see cref="Arm"/>, or
/// after it, with the key still held, by <see cref="Add"/>.
/// Order: a note is published before the lock of its key is let go of, so the events of a key have the order of its
/// changes, and whoever looks at the key because of one of them waits for the lock, and sees the change.
/// Threads: the session's. Bounded: of very many notes the first are published before the last are made.
/// </remarks>
internal sealed class CommandEvents(KeyspaceEvents events) : IKeyListener
{
    private const int NotesMax = 1024, BytesMax = 64 * 1024;

    /// <summary>A command comes back to a key of its last few, or to none.</summary>
    private const int SearchMax = 16;

    private readonly List<Note> _notes = [];
    private KeyArrivals _arrivals = null!;
    private byte[] _keys = [];
    private int _keysLength;
    private bool _hasMissed;
    private KeyEvent _ofRow = KeyEvent.None, _first = KeyEvent.None, _second = KeyEvent.None;

    [Flags]
    private enum Facts : byte
    {
        IsNew = 1,
        IsDeleted = 2,
        IsTrimmed = 4,

        /// <summary>Fields of the hash were gone when the command came.</summary>
        LostFields = 8,
    }

    /// <summary>What the commands do, for the feed.</summary>
    public CommandEffects Effects { get; private init; } = new(events.Feed);

    /// <summary>What the present command was begun with.</summary>
    public KeyEvent OfRow => _ofRow;

    /// <summary>Whether anybody asks for an event that a command may have.</summary>
    public bool IsAsked
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => (events.Asked & KeyEventClasses.OfCommands) != 0;
    }

    /// <summary>The events of a session's commands; whoever made them (<paramref name="isNew"/>) ends that by
    /// <see cref="Leave"/>.</summary>
    public static CommandEvents Of(KeyspaceEvents events, StoreSession store, out bool isNew)
    {
        isNew = store.Listener is not CommandEvents;
        if (isNew) store.Listener = new CommandEvents(events).On(store);
        return (CommandEvents)store.Listener!;
    }

    /// <summary>The events of the present command's steps, which a session of their own runs, whoever takes
    /// them.</summary>
    /// <returns>Null when nobody asks for events or effects of commands.</returns>
    public CommandEvents? ForSteps(in SentCommand sent)
    {
        var effects = Effects.ForSteps(sent);
        if (!IsAsked && effects == null) return null;
        return new CommandEvents(events)
        {
            _ofRow = _first, _first = _first, _second = _second, Effects = effects ?? new(events.Feed),
        };
    }

    /// <summary>Listens to a session.</summary>
    public CommandEvents On(StoreSession store)
    {
        _arrivals = store.Arrivals;
        Effects.On(store);
        return this;
    }

    /// <summary>Listens to a session no longer. If that was lent it may be another's by now, who has a listener of its
    /// own: that stays.</summary>
    // Whoever lent the session has taken these from it first (StoreSession.EndWork), so no other thread puts them back.
    public void Leave(StoreSession store)
    {
        if (store.Listener == this) store.Listener = null;
    }

    /// <summary>Begins a command.</summary>
    /// <param name="ofRow">What its row says of the keys that it changes.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Begin(KeyEvent ofRow)
    {
        _ofRow = _first = ofRow;
        _second = KeyEvent.None;
    }

    /// <summary>Names what the command is about to do to the keys that it changes, where that is not what its row
    /// says.</summary>
    /// <param name="second">Is published as well; not if the key is gone.</param>
    public void Arm(KeyEvent first, KeyEvent second = KeyEvent.None)
    {
        Debug.Assert(second == KeyEvent.None || first != KeyEvent.None, "the second event follows a first");
        (_first, _second) = (first, second);
        _arrivals.HasNotes = true;       // the end of the command is to undo it
    }

    /// <summary>Publishes what a command has done to a key, with what the store has noted of that key. While the key is
    /// held.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Add(KeyEvent what, int database, ReadOnlySpan<byte> key)
    {
        Debug.Assert(what != KeyEvent.None, "an event has a name");
        int place = Find(database, key);
        var facts = place < 0 ? default : _notes[place].Facts;
        if (place >= 0) _notes.RemoveAt(place);
        if ((facts & Facts.IsNew) != 0 && what != KeyEvent.New) events.Publish(KeyEvent.New, database, key);
        events.Publish(what, database, key);
        bool saysSo = what is KeyEvent.RenameFrom or KeyEvent.MoveFrom;
        if ((facts & Facts.IsDeleted) != 0 && !saysSo) events.Publish(KeyEvent.Del, database, key);
    }

    /// <summary>Publishes that a command found no key, unless the store has noted that itself.</summary>
    public void Miss(int database, ReadOnlySpan<byte> key)
    {
        if (!_hasMissed) events.Publish(KeyEvent.KeyMiss, database, key);
    }

    /// <inheritdoc/>
    public void Hear(KeyNote note, int database, ReadOnlySpan<byte> key)
    {
        Effects.Hear(note, database, key);
        if (events.Asked == KeyEventClasses.None || note == KeyNote.Altered) return;
        if (note is KeyNote.Expired or KeyNote.FieldsExpired or KeyNote.Evicted or KeyNote.Missed)
        {
            events.Hear(note, database, key);
            if (note == KeyNote.Missed) _hasMissed = _arrivals.HasNotes = true;
            if (note != KeyNote.FieldsExpired) return;
        }

        int place = Find(database, key);
        if (place < 0)
        {
            if (_notes.Count == NotesMax || _keysLength + key.Length > BytesMax) PublishNotes();
            place = _notes.Count;
            int end = _keysLength + key.Length;
            if (_keys.Length < end) Array.Resize(ref _keys, Math.Max(256, 2 * end));
            key.CopyTo(_keys.AsSpan(_keysLength));
            _notes.Add(new Note(database, _keysLength, key.Length, default, Changes: 0));
            _keysLength = end;
            _arrivals.HasNotes = true;
        }

        var before = _notes[place];
        // Deleted and made anew: it is new, too.
        if (note == KeyNote.Changed) _notes[place] = before with { Changes = before.Changes + 1 };
        // Its change has been noted, too, and is none of the command's.
        else if (note == KeyNote.FieldsExpired)
            _notes[place] = before with { Facts = before.Facts | Facts.LostFields, Changes = before.Changes - 1 };
        else if (note == KeyNote.Added) _notes[place] = before with { Facts = Facts.IsNew, Changes = 1 };
        else if (note == KeyNote.Deleted) _notes[place] = before with { Facts = before.Facts | Facts.IsDeleted };
        else if (note == KeyNote.Trimmed) _notes[place] = before with { Facts = before.Facts | Facts.IsTrimmed };
    }

    /// <inheritdoc/>
    public void HearDetail(int database, ReadOnlySpan<byte> key, in KeyDetail detail) =>
        Effects.HearDetail(database, key, detail);

    /// <inheritdoc/>
    public void Settle()
    {
        Effects.Settle();
        if (_notes.Count != 0) PublishNotes();
    }

    private void PublishNotes()
    {
        if (_notes.Count == 0) return;
        foreach (var note in _notes) Publish(note);
        _notes.Clear();
        _keysLength = 0;
        if (_keys.Length > BytesMax) _keys = [];        // a key can be large
    }

    /// <summary>Ends a command: publishes what is left, and forgets what it was armed with.</summary>
    public void EndCommand(in SentCommand sent)
    {
        if (!_arrivals.HasNotes) return;
        Effects.End(sent);
        EndNotes();
    }

    /// <summary>Ends what was done for a client that has waited.</summary>
    public void EndServing(ITicketHolder client)
    {
        if (!_arrivals.HasNotes) return;
        Effects.EndServing(client);
        EndNotes();
    }

    private void EndNotes()
    {
        PublishNotes();
        _first = _ofRow;
        _second = KeyEvent.None;
        _hasMissed = false;
        _arrivals.HasNotes = Effects.IsOpen;
    }

    private void Publish(in Note note)
    {
        var key = KeyOf(note);
        bool isDeleted = (note.Facts & Facts.IsDeleted) != 0;
        if ((note.Facts & Facts.IsNew) != 0 && _first != KeyEvent.New)
            events.Publish(KeyEvent.New, note.Database, key);
        bool isOfCommand = (note.Facts & Facts.LostFields) == 0 || note.Changes > 0;
        bool isNamed = isOfCommand && _first != KeyEvent.None && (!isDeleted || Takes(_first));
        if (isNamed) events.Publish(_first, note.Database, key);
        if (_second != KeyEvent.None && isOfCommand && !isDeleted) events.Publish(_second, note.Database, key);
        if ((note.Facts & Facts.IsTrimmed) != 0 && _first == KeyEvent.XAdd)
            events.Publish(KeyEvent.XTrim, note.Database, key);
        if (isDeleted) events.Publish(KeyEvent.Del, note.Database, key);
    }

    /// <summary>Whether the event is one of taking elements: then it is published of the last element, too, before
    /// <c>del</c>. A key that a command otherwise leaves without a value is only deleted.</summary>
    private static bool Takes(KeyEvent what) => what is KeyEvent.LRem or KeyEvent.LTrim or KeyEvent.LPop
        or KeyEvent.RPop or KeyEvent.HDel or KeyEvent.SRem or KeyEvent.SPop or KeyEvent.ZRem
        or KeyEvent.ZRemRangeByScore or KeyEvent.ZRemRangeByRank or KeyEvent.ZRemRangeByLex
        or KeyEvent.ZPopMin or KeyEvent.ZPopMax;

    /// <returns>The place of the key's note; below 0 when there is none.</returns>
    private int Find(int database, ReadOnlySpan<byte> key)
    {
        int place = _notes.Count - 1, end = Math.Max(-1, place - SearchMax);
        // Ends: below the last few.
        while (place > end && (_notes[place].Database != database || !KeyOf(_notes[place]).SequenceEqual(key))) place--;
        return place > end ? place : -1;
    }

    private ReadOnlySpan<byte> KeyOf(in Note note) => _keys.AsSpan(note.Start, note.Length);

    /// <param name="Changes">How often the command has changed the key; deleting it is no change.</param>
    private readonly record struct Note(int Database, int Start, int Length, Facts Facts, int Changes);
}
