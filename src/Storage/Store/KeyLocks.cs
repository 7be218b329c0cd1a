using System.Buffers;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Holds the records of several keys at once, absent keys by placeholders.</summary>
/// <remarks>
/// Threads: one session's. Keys are locked in one order (<see cref="KeyList.Compare"/>), the same whatever table of
/// databases a holder began with, so holders never wait in a circle; a holder waits for nothing else.
/// A command inside of a transaction locks nothing: it borrows what the transaction holds, and gives it back changed.
/// </remarks>
internal sealed unsafe class KeyLocks(StoreSession session, RecordChanges changes, SteppedHolds longHolds) : IDisposable
{
    /// <summary>As many as fit into a page; and the most for which memory is kept.</summary>
    private const int CapacityMin = 64, KeptMax = 4096;

    // Of very many, pages of the system, which come and go one by one; the garbage collector would stop everybody for
    // them.
    private HeldRecord* _held;
    private int _capacity;
    private int[] _order = new int[16];
    private KeyLocks? _lender;
    private int _count;

    public ref HeldRecord this[int held]
    {
        get
        {
            Debug.Assert((uint)held < (uint)_count, "the key is held");
            return ref _held[held];
        }
    }

    /// <summary>Whether it holds nothing.</summary>
    public bool IsEmpty => _count == 0;

    /// <summary>The databases that the keys were locked in.</summary>
    public Database?[] Table { get; private set; } = [];

    /// <summary>Which held record is that of a key; -1 when the key is not held.</summary>
    public int IndexOf(Database database, in Key key)
    {
        int low = FirstFrom(key.Hash);
        // Several keys of one hash are as good as never, but for the same key in several databases.
        for (; low < _count && _held[low].Hash == key.Hash; low++)
            if (_held[low].Database == database && _held[low].Key.SequenceEqual(key.Bytes)) return low;
        return -1;
    }

    /// <summary>Whether one of the records is held.</summary>
    public bool Has(byte* record, ulong hash)
    {
        for (int i = FirstFrom(hash); i < _count && _held[i].Hash == hash; i++)
            if (_held[i].Record == record) return true;
        return false;
    }

    /// <summary>Locks every key of the list once.</summary>
    public StoreStatus Acquire(KeyList keys)
    {
        Invariant.Check(_count == 0, "a session holds keys once at a time");
        int count = keys.Count;
        if (_order.Length < count) _order = new int[count * 2];
        if (_capacity < count && !TryReserve(count * 2)) return StoreStatus.OutOfMemory;
        if (!TryFindDatabases(keys, out Database?[] table)) return StoreStatus.OutOfMemory;
        Table = table;
        _lender = session.Transaction?.Locks;
        Sort(keys, count);
        bool done = false;
        try
        {
            var status = LockAll(keys, table, count);
            if (status == StoreStatus.Ok && changes.IsHeard && session.MayComeAgain && TryAwaitKept())
                throw new KeyInUseException(isOfOthers: true);
            done = status == StoreStatus.Ok;
            return status;
        }
        finally
        {
            if (!done) Release();
        }
    }

    /// <summary>The first one in the order that has no smaller hash.</summary>
    private int FirstFrom(ulong hash)
    {
        int low = 0, high = _count;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (_held[middle].Hash < hash) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    private StoreStatus LockAll(KeyList keys, Database?[] table, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Debug.Assert(i == 0 || KeyList.Compare(keys[_order[i - 1]], keys[_order[i]]) <= 0, "all lock in one order");
            ref KeyList.Entry item = ref keys[_order[i]];
            if (i % HashIndex.Together == 0 && _lender == null) Prefetch(keys, table, i, count);
            if (i > 0 && KeyList.Compare(keys[_order[i - 1]], item) == 0)
            {
                item.Held = _count - 1;
                continue;
            }

            Fault.Point("keys.lock");
            var status = _lender != null
                ? Borrow(_lender, table[item.Database]!, item, ref _held[_count])
                : LockOne(table[item.Database]!, item, ref _held[_count]);
            if (status != StoreStatus.Ok) return status;
            item.Held = _count++;
        }

        return StoreStatus.Ok;
    }

    private void Prefetch(KeyList keys, Database?[] table, int first, int count)
    {
        Span<ulong> hashes = stackalloc ulong[Math.Min(HashIndex.Together, count - first)];
        if (hashes.Length == 1) return;
        for (int i = 0; i < hashes.Length; i++) hashes[i] = keys[_order[first + i]].Hash;
        table[keys[_order[first]].Database]!.Index.PrefetchAll(hashes);
    }

    /// <summary>Whether a snapshot has yet to keep some of what is held, and does so now.</summary>
    private bool TryAwaitKept()
    {
        bool isAwaited = false;
        for (int i = 0; i < _count; i++)
        {
            ref HeldRecord held = ref _held[i];
            isAwaited |= held.Exists && session.SnapshotWait.TryAwait(held.Database, held.Record, held.Word, held.Hash);
        }

        return isAwaited;
    }

    /// <summary>One table that has all databases of the list, so that a flush takes all that is done to them, or
    /// nothing.</summary>
    /// <returns>False when one had to be made and the system refused.</returns>
    private bool TryFindDatabases(KeyList keys, out Database?[] table)
    {
        // Ends: a round is repeated only when a database was made, or others flushed one in this very moment.
        while (true)
        {
            table = session.Table;
            bool complete = true;
            foreach (ref KeyList.Entry item in keys.Items)
            {
                if (table[item.Database] is { } found)
                {
                    item.DatabaseId = found.Id;
                    continue;
                }

                complete = false;
                if (session.CreateDatabase(item.Database) == null) return false;
            }

            if (complete) return true;
        }
    }

    /// <summary>Locks one key. The keys that the caller has locked come before it in the order.</summary>
    public StoreStatus LockOne(Database database, in KeyList.Entry item, ref HeldRecord held)
    {
        var key = new Key(item.Bytes, item.Hash);
        // Ends: a round is repeated only when the record died or another session inserted the key in this very moment.
        while (true)
        {
            byte* record = database.Index.Find(key.Bytes, key.Hash);
            if (record == null)
            {
                var status = changes.HoldAbsent(database, key, item.ExpectedBytes, ref held, out bool again);
                if (again) continue;
                return status;
            }

            if (!TryLock(record, item, out ulong word)) continue;
            held = new HeldRecord
            {
                Database = database, Record = record, Word = session.Uses.Counted(word), Hash = key.Hash,
            };
            if (Record.IsExpired(record, word, changes.NowMs)) changes.Expire(ref held);
            return StoreStatus.Ok;
        }
    }

    private static StoreStatus Borrow(KeyLocks lender, Database database, in KeyList.Entry item, ref HeldRecord held)
    {
        int index = lender.IndexOf(database, new Key(item.Bytes, item.Hash));
        if (index < 0) throw TransactionKeys.NotHeld();
        held = lender[index];
        held.LenderIndex = index;
        return StoreStatus.Ok;
    }

    private bool TryLock(byte* record, in KeyList.Entry item, out ulong word)
    {
        // Ends: owners never wait in a circle, since all lock in one order; a long command that has come further than
        // this key is run here to its end.
        var wait = new SpinWait();
        while (true)
        {
            word = Record.ReadWord(record);
            if (RecordWord.IsDead(word)) return false;
            if ((word & RecordWord.Lock) == 0 && Record.TryLockFrom(record, word)) return true;
            longHolds.Wait(ref wait, record, item, session);
        }
    }

    /// <summary>Has work on the keys done in steps: what the session holds goes over to it.</summary>
    /// <returns>Null when that cannot be just now: the session holds the keys as before.</returns>
    public IHeldSteps? TryBeginUse(KeyList keys, IHeldUse use) =>
        _lender != null ? new BorrowedUse(session, this, keys, use) : longHolds.TryBegin(this, keys, use);

    /// <summary>Borrows one key.</summary>
    /// <param name="held">Where the lender has it.</param>
    public void Borrow(KeyLocks lender, ref HeldRecord held)
    {
        TakeOver(held);
        _lender = lender;
        _held[0].LenderIndex = (int)((HeldRecord*)Unsafe.AsPointer(ref held) - lender._held);
        Debug.Assert((uint)_held[0].LenderIndex < (uint)lender._count, "it is one of the lender's");
    }

    /// <summary>The records that are held.</summary>
    public nint[] ListRecords()
    {
        var records = new nint[_count];
        for (int i = 0; i < _count; i++) records[i] = (nint)_held[i].Record;
        return records;
    }

    /// <summary>Whether a table has all the databases of what is held.</summary>
    public bool AreIn(Database?[] table)
    {
        for (int i = 0; i < _count; i++)
            if (Array.IndexOf(table, _held[i].Database) < 0) return false;
        return true;
    }

    /// <summary>Makes the locks of another session this one's.</summary>
    public void TakeOver(KeyLocks other)
    {
        Debug.Assert(other != this, "the locks are another session's");
        Invariant.Check(_count == 0, "a session holds keys once at a time");
        HeldRecord* held = _held;
        _held = other._held;
        other._held = held;
        (_capacity, other._capacity) = (other._capacity, _capacity);
        (_count, other._count) = (other._count, 0);
        Table = other.Table;
        _lender = other._lender;
        other._lender = null;
    }

    /// <summary>Begins to lock keys one by one, in the one order.</summary>
    public void Begin(Database?[] table, int count)
    {
        Invariant.Check(_count == 0, "a session holds keys once at a time");
        if (_capacity < count && !TryReserve(count)) throw new OutOfMemoryException();
        Table = table;
        _lender = null;
    }

    /// <summary>Locks the next key of those.</summary>
    public StoreStatus LockNext(Database database, in KeyList.Entry item)
    {
        Debug.Assert(_count < _capacity, "no more keys than were announced");
        Fault.Point("keys.lock");
        var status = LockOne(database, item, ref _held[_count]);
        if (status == StoreStatus.Ok) _count++;
        return status;
    }

    /// <summary>Publishes what was done to some keys and lets go of them: as many as one step does.</summary>
    /// <returns>True when nothing is held any more.</returns>
    public bool ReleaseSome()
    {
        Debug.Assert(_lender == null, "what is borrowed is given back whole");
        // From the end on, so that what is left is in the order still.
        int most = _count;
        for (var step = new KeyStep(0, most); step.Takes(most - _count); _count--)
            changes.LetGo(ref _held[_count - 1]);
        UsedPages.GiveBackLast((byte*)(_held + _count), (byte*)(_held + most));
        if (_count > 0) return false;
        Release();
        return true;
    }

    /// <summary>Makes the lock of one record this one's, to pass it on.</summary>
    public void TakeOver(in HeldRecord held)
    {
        Invariant.Check(_count == 0, "a session holds keys once at a time");
        if (_capacity == 0 && !TryReserve(1)) throw new OutOfMemoryException();
        _held[0] = held;
        _count = 1;
    }

    // The word in memory says what the record is now, still locked, as after any of the transaction's commands.
    private static void Return(KeyLocks lender, in HeldRecord held)
    {
        Debug.Assert((uint)held.LenderIndex < (uint)lender._count, "what is given back was borrowed");
        lender[held.LenderIndex] = held;
        Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
    }

    /// <summary>Gives that up again: the caller still has it.</summary>
    public void GiveBack()
    {
        Debug.Assert(_count == 1, "one record was passed on");
        _count = 0;
    }

    /// <summary>Publishes what was done to each key and lets go of it.</summary>
    public void Release()
    {
        for (int i = 0; i < _count; i++)
        {
            Debug.Assert(Record.IsLocked(_held[i].Record), "what is let go of is held");
            changes.GiveUpPrepared(ref _held[i]);
            if (_lender != null) Return(_lender, _held[i]);
            else changes.LetGo(ref _held[i]);
        }

        if (_lender == null) changes.HeldAbsent = 0;
        _lender = null;
        _count = 0;
        if (_order.Length > KeptMax) _order = new int[16];     // one huge command keeps nothing
        if (_capacity > KeptMax) Dispose();
    }

    public void Dispose()
    {
        if (_held != null) VirtualMemory.Release((byte*)_held, BytesOf(_capacity));
        _held = null;
        _capacity = 0;
    }

    private static nuint BytesOf(int capacity) => (nuint)capacity * (nuint)sizeof(HeldRecord);

    /// <summary>Makes room for <paramref name="count"/> keys, none of which is held yet.</summary>
    private bool TryReserve(int count)
    {
        Debug.Assert(_count == 0 && count > 0, "memory changes while nothing is held");
        Dispose();
        count = Math.Max(CapacityMin, count);
        _held = (HeldRecord*)VirtualMemory.Reserve(BytesOf(count));
        _capacity = _held == null ? 0 : count;
        return _held != null;
    }

    private void Sort(KeyList keys, int count)
    {
        Span<int> order = _order.AsSpan(0, count);
        for (int i = 0; i < count; i++) order[i] = i;
        if (count > 16)
        {
            SortMany(keys, order);
            return;
        }

        for (int i = 1; i < count; i++)
        {
            int moving = order[i], at = i;
            for (; at > 0 && KeyList.Compare(keys[order[at - 1]], keys[moving]) > 0; at--) order[at] = order[at - 1];
            order[at] = moving;
        }
    }

    /// <summary>By hashes, which is three times as fast as comparing; what has the same hash is compared.</summary>
    private static void SortMany(KeyList keys, Span<int> order)
    {
        ulong[] hashes = ArrayPool<ulong>.Shared.Rent(order.Length);
        for (int i = 0; i < order.Length; i++) hashes[i] = keys[order[i]].Hash;
        hashes.AsSpan(0, order.Length).Sort(order);
        for (int i = 0; i < order.Length;)
        {
            int end = i + 1;
            while (end < order.Length && hashes[end] == hashes[i]) end++;
            if (end > i + 1) SortEqual(keys, order[i..end]);
            i = end;
        }

        ArrayPool<ulong>.Shared.Return(hashes);
    }

    // By itself: the object of the captured list is made on entry, and a few keys are to allocate nothing.
    private static void SortEqual(KeyList keys, Span<int> order) =>
        order.Sort((left, right) => KeyList.Compare(keys[left], keys[right]));
}
