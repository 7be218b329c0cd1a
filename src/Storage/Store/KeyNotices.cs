using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Tells of what a session does to keys: to those who watch them (WATCH), to those who wait for them (BLPOP),
/// and to those who listen to all keys.</summary>
/// <remarks>
/// Whoever changes a key asks <see cref="WatchTable.IsAny"/> first, and comes here while the key is its own, before
/// anybody can see the change. What is told of keys that expire, are evicted or were not found does not count there: it
/// is asked for here.
/// Threads: the session's.
/// </remarks>
internal sealed unsafe class KeyNotices(Store store, int slot)
{
    private readonly WatchTable _watches = store.Watches;

    /// <summary>What the session has changed and somebody waits for.</summary>
    public KeyArrivals Arrivals { get; } = new();

    /// <summary>Is told what happens to keys here; null: the store's own is.</summary>
    public IKeyListener? Listener { get; set; }

    /// <summary>Counts a change of a held key for those who watch it, and has those who wait for it looked at. Before
    /// it is changed: a snapshot may want it as it is.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void CountChange(in HeldRecord held, ChangeCause cause = ChangeCause.Command)
    {
        Debug.Assert(Record.IsLocked(held.Record), "before anybody can see the change");
        KeepValue(held);
        _watches.Note(slot, held.Database.Id, held.Hash, held.Key, Arrivals, cause);
    }

    /// <summary>Lets a snapshot have a held key as it is, before it is changed.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public unsafe void KeepValue(in HeldRecord held)
    {
        if (_watches.KeepsValues)
            store.Snapshot?.BeforeChange(slot, held.Database, held.Hash, held.Record, held.Word);
    }

    /// <summary>Lets a snapshot know that a key was absent, before it is published.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void KeepAbsent(Database database, ulong hash)
    {
        if (_watches.KeepsValues) store.Snapshot?.BeforeInsert(database, hash);
    }

    /// <summary>Counts a change of a key that nobody can wait for: of one that has, or had, a string.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void CountChange(Database database, in Key key) => _watches.Note(slot, database.Id, key.Hash, key.Bytes);

    /// <summary>Has those who wait for a held key looked at, after a change that is none to those who watch
    /// it.</summary>
    public void NoteArrival(in HeldRecord held) =>
        _watches.Note(slot, held.Database.Id, held.Hash, held.Key, Arrivals, ChangeCause.None);

    /// <summary>Tells everybody of a change of a held key.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void NoteChange(in HeldRecord held, ChangeCause cause)
    {
        CountChange(held, cause);
        Tell(KeyNote.Changed, held, isTold: cause == ChangeCause.Time);
    }

    /// <summary>Tells everybody that the string of a key is about to be overwritten where it is. The key is let go of
    /// without <see cref="Settle"/>.</summary>
    /// <param name="number">The number of its database.</param>
    /// <param name="word">Of the record, which is locked.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public unsafe void NoteOverwrite(Database database, int number, in Key key, byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "before anybody can see the change");
        if (_watches.KeepsValues) store.Snapshot?.BeforeChange(slot, database, key.Hash, record, word);
        CountChange(database, key);
        if (ListenerTo(HeardNotes.Changes) is not { } listener) return;
        listener.Hear(KeyNote.Changed, number, key.Bytes);
        listener.Settle();
    }

    /// <summary>Tells those who listen what has happened to a held key. Where its database has been dropped it has no
    /// number any more, and nobody is told.</summary>
    /// <param name="isTold">Whether details say all of it: nobody needs the value that the key has then.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Tell(KeyNote note, in HeldRecord held, bool isTold = false)
    {
        Debug.Assert(Record.IsLocked(held.Record), "before anybody can see the change");
        if (ListenerTo(ClassOf(note)) is not { } listener) return;
        int number = Array.IndexOf(store.Table, held.Database);
        if (number < 0) return;
        listener.Hear(note, number, held.Key);
        // Until the end of the turn: it may have changed several keys that it lets go of one by one.
        if (Listener == null && !isTold && note is KeyNote.Changed or KeyNote.Added or KeyNote.Altered
            && listener.WantsState) Arrivals.HasNotes = true;
    }

    /// <summary>Whether nobody but the store itself can say what the session does.</summary>
    public bool IsMute => Listener == null && store.Listener is { WantsState: true };

    /// <summary>Tells those who listen what does not follow from the command that has changed a held key.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Tell(in KeyDetail detail, in HeldRecord held)
    {
        if (ListenerTo(HeardNotes.Changes) is not { } listener) return;
        int number = Array.IndexOf(store.Table, held.Database);
        if (number >= 0) listener.HearDetail(number, held.Key, detail);
    }

    /// <summary>Tells those who listen that a read has not found a key.</summary>
    public void NoteMiss(int number, ReadOnlySpan<byte> key) =>
        ListenerTo(HeardNotes.Misses)?.Hear(KeyNote.Missed, number, key);

    /// <summary>Tells those who listen which keys of a list the last reading has not found.</summary>
    public void NoteMiss(KeyList keys)
    {
        if (ListenerTo(HeardNotes.Misses) is not { } listener) return;
        foreach (ref KeyList.Entry item in keys.Items)
            if (item.IsMissed) listener.Hear(KeyNote.Missed, item.Database, item.Bytes);
    }

    /// <summary>Has the session's listener publish what it has heard, before a key is let go of.</summary>
    public void Settle(in HeldRecord held)
    {
        Debug.Assert(Record.IsLocked(held.Record), "before the key is let go of");
        if (Listener is { } listener)
        {
            listener.Settle();
            return;
        }

        if (!held.Exists || store.Listener is not { WantsState: true } all) return;
        int number = Array.IndexOf(store.Table, held.Database);
        if (number < 0) return;
        Record.WriteWord(held.Record, held.Word | RecordWord.Lock);     // views go by it
        all.HearState(number, held.Key, held.View);
    }

    private IKeyListener? ListenerTo(HeardNotes notes) =>
        _watches.Hears(notes) ? Listener ?? store.Listener : null;

    private static HeardNotes ClassOf(KeyNote note) =>
        note is KeyNote.Expired or KeyNote.Evicted ? HeardNotes.Ends : HeardNotes.Changes;
}
