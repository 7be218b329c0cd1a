using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>A command over very many keys of one database that is to happen at one instant, done in steps between the turns of others.</summary>
/// <remarks>
/// Phases: hash the keys and sort them into the order of locking (nothing is held); lock them all; look at each and get the
/// memory for what it will be; change them; let go. Only one of a store has keys locked at a time, the others wait for it
/// between their steps.
/// Threads: any, one at a time by <see cref="_claim"/>. Whoever meets a locked key does not wait for the command's next turn
/// (its own thread may be the one that has to take it): it takes the claim and does the rest, <see cref="TryFinish"/>.
/// The session is the store's own, and its epoch stands still from the first lock to the last: what is locked stays where it is.
/// </remarks>
internal sealed unsafe class LongHold : IDisposable
{
    private const int SortedPerStep = 8 * KeysPerStep, BucketKeys = 256;

    /// <summary>Keys that are worked on in one step: some 200 us.</summary>
    public const int KeysPerStep = 1024;

    private readonly Lock _claim = new();
    private readonly Store _store;
    private readonly ILongWork _work;
    private readonly int _databaseNumber, _count, _shift;
    private Item* _items, _unsorted;
    private int* _places, _bucketEnds;
    private StoreSession _session = null!;
    private Database _database = null!;
    private Phase _phase;
    private int _next, _locked;
    private bool _isAbandoned;

    public LongHold(Store store, int database, int count, ILongWork work)
    {
        _store = store;
        _work = work;
        _databaseNumber = database;
        _count = count;
        int buckets = 2;
        while (buckets * BucketKeys < count) buckets *= 2;
        _shift = 64 - System.Numerics.BitOperations.Log2((uint)buckets);
        // Not touched yet: the pages are paid for step by step.
        _unsorted = (Item*)NativeMemory.AllocZeroed((nuint)count, (nuint)sizeof(Item));
        _items = (Item*)NativeMemory.AllocZeroed((nuint)count, (nuint)sizeof(Item));
        _places = (int*)NativeMemory.AllocZeroed((nuint)count, sizeof(int));
        _bucketEnds = (int*)NativeMemory.AllocZeroed((nuint)buckets + 1, sizeof(int));
    }

    private enum Phase
    {
        Hash,
        Scatter,
        Sort,
        Begin,
        Lock,
        Look,
        Change,
        LetGo,
        Done,
    }

    /// <summary>Ok; NotFound when the work had it stopped; or why nothing was changed.</summary>
    public StoreStatus Status { get; private set; }

    /// <summary>Whether it has keys locked, and with them an epoch. From any thread: a step late at worst.</summary>
    public bool HasKeys => _phase is >= Phase.Lock and <= Phase.LetGo;

    /// <summary>What the work threw, whoever ran it; every key was let go of.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether its owner has left it: it only lets go, and frees itself.</summary>
    // Volatile: a round that reads false and misses it is followed by another, which the one who left it asked for.
    public bool IsAbandoned
    {
        get => Volatile.Read(ref _isAbandoned);
        private set => Volatile.Write(ref _isAbandoned, value);
    }

    /// <summary>Bytes of the lists.</summary>
    public long Bytes => _count * (2L * sizeof(Item) + sizeof(int));

    /// <summary>Does a piece of the work, unless another thread is doing all of it.</summary>
    /// <returns>True when everything is done.</returns>
    public bool Step()
    {
        if (!_claim.TryEnter()) return false;
        try
        {
            return StepClaimed();
        }
        finally
        {
            _claim.Exit();
        }
    }

    /// <summary>Does the rest, for a thread that needs a key which the command may have locked. From any thread.</summary>
    /// <param name="waiter">The key that is waited for, by one who has others locked; they are all before it in the order.</param>
    public void TryFinish(in KeyList.Entry waiter, bool holdsOthers)
    {
        if (_claim.IsHeldByCurrentThread || !_claim.TryEnter()) return;
        try
        {
            // Who has keys locked may finish only what has gotten past the key it waits for: what is still to be locked
            // then comes behind that key, so it is none that the waiter has.
            if (_phase < Phase.Lock || (holdsOthers && !HasReached(waiter))) return;
            // Ends: each step gets on; none waits but for owners of locks that run, or come later in the order.
            while (!StepClaimed())
            {
            }
        }
        finally
        {
            _claim.Exit();
        }
    }

    /// <summary>Gives the command up: nothing has changed, or what has begun to change is changed whole. From any thread.</summary>
    /// <remarks>Letting go, which needs nothing of the work, is left to the store's thread where it has one.</remarks>
    public void Dispose()
    {
        lock (_claim)
        {
            if (_items == null || IsAbandoned) return;
            if (_phase is Phase.Lock or Phase.Look) GiveUp(StoreStatus.NotFound);
            while (_phase == Phase.Change) StepClaimed();
            if (_phase == Phase.LetGo && _store.TryWake())
            {
                IsAbandoned = true;
                return;
            }

            while (_phase == Phase.LetGo) StepClaimed();
            _phase = Phase.Done;
            FreeLists();
        }
    }

    private void FreeLists()
    {
        NativeMemory.Free(_items);
        NativeMemory.Free(_unsorted);
        NativeMemory.Free(_places);
        NativeMemory.Free(_bucketEnds);
        _items = _unsorted = null;
        _places = _bucketEnds = null;
    }

    private bool StepClaimed()
    {
        try
        {
            switch (_phase)
            {
                case Phase.Hash: HashSome(); break;
                case Phase.Scatter: ScatterSome(); break;
                case Phase.Sort: SortSome(); break;
                case Phase.Begin: Begin(); break;
                case Phase.Lock: LockSome(); break;
                case Phase.Look: LookSome(); break;
                case Phase.Change: ChangeSome(); break;
                case Phase.LetGo: LetGoSome(); break;
            }
        }
        catch (Exception exception) when (_phase is Phase.Lock or Phase.Look or Phase.Change)
        {
            Failure = exception;
            GiveUp(StoreStatus.NotFound);
        }

        return _phase == Phase.Done;
    }

    private void HashSome()
    {
        int end = Math.Min(_count, _next + SortedPerStep);
        for (; _next < end; _next++)
        {
            byte* key = _work.Key(_next, out int length);
            ulong hash = _store.Hash.Of(key, length);
            _unsorted[_next] = new Item { Key = key, Length = length, Hash = hash, Index = _next };
            _bucketEnds[(hash >> _shift) + 1]++;
        }

        if (_next < _count) return;
        // Counts become starts; scattering moves each to its end.
        int buckets = 1 << (64 - _shift);
        for (int i = 1; i <= buckets; i++) _bucketEnds[i] += _bucketEnds[i - 1];
        GoOn(Phase.Scatter);
    }

    private void ScatterSome()
    {
        int end = Math.Min(_count, _next + SortedPerStep);
        for (; _next < end; _next++)
        {
            ref Item item = ref _unsorted[_next];
            _items[_bucketEnds[item.Hash >> _shift]++] = item;
        }

        if (_next == _count) GoOn(Phase.Sort);
    }

    private void SortSome()
    {
        int buckets = 1 << (64 - _shift), done = 0;
        for (; _next < buckets && done < 2 * KeysPerStep; _next++)
        {
            int start = _next == 0 ? 0 : _bucketEnds[_next - 1];
            var bucket = new Span<Item>(_items + start, _bucketEnds[_next] - start);
            // One key many times is one long bucket, and in order already.
            if (!IsSorted(bucket)) bucket.Sort(static (left, right) => Item.Compare(left, right));
            // Equal keys stand together; the last of them stands for all.
            for (int i = bucket.Length - 1, last = i; i >= 0; i--)
            {
                if (i + 1 < bucket.Length && !Item.SameKey(bucket[i], bucket[i + 1])) last = i;
                _places[bucket[i].Index] = start + last;
            }

            done += bucket.Length + 1;
        }

        if (_next == buckets) GoOn(Phase.Begin);
    }

    private static bool IsSorted(ReadOnlySpan<Item> items)
    {
        for (int i = 1; i < items.Length; i++)
            if (Item.Compare(items[i - 1], items[i]) > 0) return false;
        return true;
    }

    private void Begin()
    {
        if (!_store.LongHolds.TryBegin(this, out var session)) return;    // another's turn, and a step of it is done; asked again in the next
        _session = session;
        session.User = _work;
        session.BeginInnerTurn();
        if ((session.Table[_databaseNumber] ?? session.CreateDatabase(_databaseNumber)) is { } database)
        {
            _database = database;
            GoOn(Phase.Lock);
            return;
        }

        Status = StoreStatus.OutOfMemory;
        End();
    }

    private void LockSome()
    {
        int end = Math.Min(_count, _next + KeysPerStep);
        for (; _next < end; _next++)
        {
            ref Item item = ref _items[_next];
            if (_places[item.Index] != _next) continue;
            var entry = new KeyList.Entry
            {
                Start = item.Key, Length = item.Length, Hash = item.Hash, DatabaseId = _database.Id, ExpectedBytes = _work.ValueBytes(item.Index),
            };
            var held = default(HeldRecord);
            var status = _session.Locks.LockOne(_database, entry, ref held);
            if (status != StoreStatus.Ok)
            {
                GiveUp(status);
                return;
            }

            item.Record = held.Record;
            item.Word = held.Word;
            _locked = _next + 1;
        }

        if (_next == _count) GoOn(Phase.Look);
    }

    private void LookSome()
    {
        int end = Math.Min(_count, _next + KeysPerStep);
        for (; _next < end; _next++)
        {
            if (_work.Action == LongAction.Read)
            {
                // In the order of the command, doubles and all.
                _work.Read(_next, HeldOf(_items[_places[_next]]).View);
                continue;
            }

            ref Item own = ref _items[_next];
            if (own.Record == null) continue;
            var held = HeldOf(own);
            var status = StoreStatus.Ok;
            if (_work.OnlyIfNoneExists && held.Exists) status = StoreStatus.NotFound;
            if (status == StoreStatus.Ok && _work.Action == LongAction.Set)
            {
                var value = _work.Value(own.Index, out Block block);
                status = _session.Changes.PrepareString(ref held, value, block);
                Keep(ref own, held);
            }

            if (status == StoreStatus.Ok) continue;
            GiveUp(status);
            return;
        }

        if (_next == _count) GoOn(_work.Action == LongAction.Read ? Phase.LetGo : Phase.Change);
    }

    private void ChangeSome()
    {
        int end = Math.Min(_count, _next + KeysPerStep);
        for (; _next < end; _next++)
        {
            ref Item item = ref _items[_next];
            if (item.Record == null) continue;
            var held = HeldOf(item);
            if (_work.Action == LongAction.Set)
            {
                _session.Changes.FinishString(ref held, _work.Value(item.Index, out _));
            }
            else if (held.Exists)
            {
                _session.Changes.MakeAbsent(ref held);
                _work.CountDeleted();
            }

            Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
            Keep(ref item, held);
        }

        if (_next == _count) GoOn(Phase.LetGo);
    }

    private void LetGoSome()
    {
        int end = Math.Min(_locked, _next + KeysPerStep);
        for (; _next < end; _next++)
        {
            ref Item item = ref _items[_next];
            if (item.Record == null) continue;
            var held = HeldOf(item);
            _session.Changes.GiveUpPrepared(ref held);
            _session.Changes.LetGo(ref held);
        }

        if (_next == _locked) End();
    }

    private void GiveUp(StoreStatus status)
    {
        Status = status;
        GoOn(Phase.LetGo);
    }

    private void End()
    {
        _phase = Phase.Done;
        _session.Changes.HeldAbsent = 0;
        _session.GoOffline();
        _session.User = null;
        _store.LongHolds.End();
        if (IsAbandoned) FreeLists();
    }

    private void GoOn(Phase phase)
    {
        _phase = phase;
        _next = 0;
    }

    private bool HasReached(in KeyList.Entry key)
    {
        if (_phase > Phase.Lock) return true;       // locks nothing more
        if (_locked == 0) return false;
        Item last = _items[_locked - 1];
        return KeyList.Compare(key, new KeyList.Entry { Start = last.Key, Length = last.Length, Hash = last.Hash, DatabaseId = _database.Id }) <= 0;
    }

    private HeldRecord HeldOf(in Item item) => new()
    {
        Database = _database, Record = item.Record, Word = item.Word, Hash = item.Hash, Prepared = item.Prepared, PreparedWord = item.PreparedWord,
    };

    private static void Keep(ref Item item, in HeldRecord held)
    {
        item.Record = held.Record;
        item.Word = held.Word;
        item.Prepared = held.Prepared;
        item.PreparedWord = held.PreparedWord;
    }

    /// <summary>One key; once it is locked, what has become of it (as in <see cref="HeldRecord"/>).</summary>
    private struct Item
    {
        public byte* Key;
        public ulong Hash;
        public int Length, Index;
        public byte* Record, Prepared;
        public ulong Word, PreparedWord;

        public static int Compare(in Item left, in Item right)
        {
            int order = left.Hash.CompareTo(right.Hash);
            if (order == 0) order = new ReadOnlySpan<byte>(left.Key, left.Length).SequenceCompareTo(new ReadOnlySpan<byte>(right.Key, right.Length));
            return order != 0 ? order : left.Index.CompareTo(right.Index);
        }

        public static bool SameKey(in Item left, in Item right) =>
            left.Hash == right.Hash && new ReadOnlySpan<byte>(left.Key, left.Length).SequenceEqual(new ReadOnlySpan<byte>(right.Key, right.Length));
    }
}
