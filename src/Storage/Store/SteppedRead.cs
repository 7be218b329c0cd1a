using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Reads very many keys as of one instant, in steps between the turns of others, and locks none of
/// them.</summary>
/// <remarks>
/// As <see cref="StoreSession.ReadMany"/>: first all are read, then all are looked at again; between the two is an
/// instant at which all held. Between steps epochs pass, so a record is known again by address, word and its segment's
/// generation: together they never come back. Writers that spoil a round can do so for ever: then keys have to be held
/// (<see cref="KeysHold"/>). Threads: whoever runs the command, one at a time.
/// </remarks>
internal sealed unsafe class SteppedRead(Store store, int databaseNumber, int count, IManyKeysWork work) : IDisposable
{
    private const int RoundsMax = 3;

    private readonly ulong[] _hashes = new ulong[HashIndex.Together];

    // Not touched yet: the pages are paid for step by step.
    private Seen* _seen = (Seen*)NativeMemory.AllocZeroed((nuint)count, (nuint)sizeof(Seen));
    private Database?[]? _table;
    private int _next, _round;
    private bool _checks;

    /// <summary>Whether writers came in between too often: nothing has been read.</summary>
    public bool HasFailed => _round == RoundsMax;

    /// <summary>Bytes of the list.</summary>
    public long Bytes => count * (long)sizeof(Seen);

    /// <summary>Does a piece of the work.</summary>
    /// <returns>True when all was read as of one instant, or <see cref="HasFailed"/>.</returns>
    public bool Step(StoreSession session)
    {
        Debug.Assert(_seen != null && !HasFailed, "reading has not ended");
        Debug.Assert(store.Epochs.IsOnline(session.Slot), "what is read stays for the turn");
        if (_table == null) BeginRound(session);
        // Another table: what was read is of databases that may be gone.
        if (session.Table != _table) return EndRound(false);
        Database? database = _table![databaseNumber];
        if (!_checks) work.BeginReading();
        for (var step = new KeyStep(_next, count); step.Takes(_next); _next++)
        {
            if (!_checks && !work.MayReadMore) return false;
            if (_next % HashIndex.Together == 0) Foresee(database);
            if (!_checks) ReadOne(session, database);
            else if (!StillHolds(database, _next)) return EndRound(false);
        }

        if (_next < count) return false;
        if (_checks) return EndRound(true);
        _checks = true;
        _next = 0;
        return false;
    }

    public void Dispose()
    {
        NativeMemory.Free(_seen);
        _seen = null;
    }

    private void BeginRound(StoreSession session)
    {
        _table = session.Table;
        _next = 0;
        _checks = false;
        work.Restart();
    }

    private bool EndRound(bool holds)
    {
        _table = null;
        if (holds) return true;
        _round++;
        if (HasFailed) work.Restart();
        return HasFailed;
    }

    /// <summary>Hashes the next keys, and brings what they lead to into the cache.</summary>
    private void Foresee(Database? database)
    {
        int keys = Math.Min(HashIndex.Together, count - _next);
        for (int i = 0; i < keys; i++)
        {
            byte* key = work.Key(_next + i, out int length);
            _hashes[i] = store.Hash.Of(key, length);
        }

        database?.Index.PrefetchAll(_hashes.AsSpan(0, keys));
    }

    private void ReadOne(StoreSession session, Database? database)
    {
        if (database == null)
        {
            work.Read(_next, default);
            return;
        }

        byte* start = work.Key(_next, out int length);
        ReadOnlySpan<byte> key = new(start, length);
        ulong hash = _hashes[_next % HashIndex.Together];
        // Ends: an owner of the lock is running, or a long command, which is then run here; a dead record is found no
        // more.
        var wait = new SpinWait();
        while (true)
        {
            byte* record = database.Index.FindSlow(key, hash, out ulong* home, out ulong control);
            if (record == null)
            {
                _seen[_next] = new Seen { Address = home, Word = control };
                work.Read(_next, default);
                return;
            }

            ulong word = Record.ReadWord(record);
            if (!RecordWord.IsBusy(word))
            {
                _seen[_next] = new Seen { Address = record, Word = word,
                    Generation = store.Log.InfoOf(record)->Generation };
                work.Read(_next, Record.IsExpired(record, word, session.NowMs) ? default : new ValueView(record, word));
                return;
            }

            store.SteppedHolds.Wait(ref wait, record, session);
        }
    }

    private bool StillHolds(Database? database, int index)
    {
        if (database == null) return true;
        byte* start = work.Key(index, out int length);
        byte* record = database.Index.FindSlow(new ReadOnlySpan<byte>(start, length),
            _hashes[index % HashIndex.Together], out ulong* home, out ulong control);
        Seen seen = _seen[index];
        if (record == null) return seen.Generation == 0 && seen.Address == home && seen.Word == control;
        return seen.Address == record && RecordWord.Same(Record.ReadWord(record), seen.Word)
            && seen.Generation == store.Log.InfoOf(record)->Generation;
    }

    /// <summary>What was found: a record, or a home bucket without one (generation 0).</summary>
    private struct Seen
    {
        public void* Address;
        public ulong Word;
        public long Generation;
    }
}
