using System.Diagnostics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>A command over very many keys of one database that is to happen at one instant, done in steps between the
/// turns of others.</summary>
/// <remarks>
/// Phases: hash the keys and sort them into the order of locking (nothing is held); lock them all; look at each and get
/// the memory for what it will be; change them; let go.
/// </remarks>
internal sealed unsafe class KeysHold : SteppedHold
{
    private readonly Store _store;
    private readonly IManyKeysWork _work;
    private readonly int _databaseNumber, _count;
    private readonly KeyOrder _order;
    private State* _states;
    private StoreSession _session = null!;
    private Database _database = null!;
    private Phase _phase;
    private int _next, _locked;
    private bool _isAbandoned;

    public KeysHold(Store store, int database, int count, IManyKeysWork work)
    {
        _store = store;
        _work = work;
        _databaseNumber = database;
        _count = count;
        _order = new KeyOrder(store.Hash, count, keepsPlaces: true);
        // Not touched yet: the pages are paid for step by step.
        _states = (State*)VirtualMemory.Reserve(StatesBytes);
        if (_states != null) return;
        _order.Dispose();
        throw new OutOfMemoryException();
    }

    private enum Phase
    {
        Hash,
        Order,
        Begin,
        Lock,
        Look,
        Change,
        LetGo,
        Done,
    }

    /// <summary>Ok; NotFound when the work had it stopped; or why nothing was changed.</summary>
    public StoreStatus Status { get; private set; }

    /// <inheritdoc/>
    public override bool HasKeys => _phase is >= Phase.Lock and <= Phase.LetGo;

    /// <inheritdoc/>
    // Volatile: a round that reads false and misses it is followed by another, which the one who left it asked for.
    public override bool IsAbandoned => Volatile.Read(ref _isAbandoned);

    private nuint StatesBytes => (nuint)Math.Max(1, _count) * (nuint)sizeof(State);

    /// <summary>Bytes of the lists.</summary>
    public long Bytes => KeyOrder.BytesOf(_count, keepsPlaces: true) + (_count * (long)sizeof(State));

    /// <summary>Gives the command up: nothing has changed, or what has begun to change is changed whole. From any
    /// thread.</summary>
    /// <remarks>Letting go, which needs nothing of the work, is left to the store's thread where it has one.</remarks>
    public override void Dispose()
    {
        lock (Claim)
        {
            if (_states == null || IsAbandoned) return;
            if (_phase is Phase.Lock or Phase.Look) GiveUp(StoreStatus.NotFound);
            while (_phase == Phase.Change) StepClaimed(null);
            if (_phase == Phase.LetGo && _store.TryWake())
            {
                Volatile.Write(ref _isAbandoned, true);
                return;
            }

            while (_phase == Phase.LetGo) StepClaimed(null);
            if (_phase == Phase.Begin) _store.SteppedHolds.Leave(this);
            _phase = Phase.Done;
            FreeLists();
        }
    }

    private void FreeLists()
    {
        Debug.Assert(_phase == Phase.Done, "lists are freed when no key is held");
        _order.Dispose();
        if (_states != null) VirtualMemory.Release((byte*)_states, StatesBytes);
        _states = null;
    }

    protected override bool StepClaimed(StoreSession? caller)
    {
        try
        {
            switch (_phase)
            {
                case Phase.Hash: HashSome(); break;
                case Phase.Order: if (_order.Step()) GoOn(Phase.Begin); break;
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
        Debug.Assert(_locked == 0 && _order.Count == _next, "keys are hashed in the command's order, and not locked");
        for (var step = new KeyStep(_next, _count, KeyOrder.KeysPerStep); step.Takes(_next); _next++)
        {
            byte* key = _work.Key(_next, out int length);
            _order.Add(key, length, _databaseNumber);
        }

        if (_next == _count) GoOn(Phase.Order);
    }

    private void Begin()
    {
        Debug.Assert(_locked == 0, "nothing is locked yet");
        // another's turn, and a step of it is done; asked again in the next
        if (!_store.SteppedHolds.TryBegin(this, out var session)) return;
        _session = session;
        session.BeginWork(_work);
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
        Debug.Assert(_locked <= _next && _next <= _count, "keys are locked in their order");
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            if (_next % HashIndex.Together == 0)
            {
                _order.Prefetch(_database.Index, _next);
                PrefetchValues(Math.Min(HashIndex.Together, _count - _next));
            }

            if (!_order.IsLast(_next)) continue;
            ref KeyOrder.Entry item = ref _order[_next];
            var entry = new KeyList.Entry
            {
                Start = item.Key, Length = item.Length, Hash = item.Hash, DatabaseId = _database.Id,
                    ExpectedBytes = _work.ValueBytes(item.Index),
            };
            var held = default(HeldRecord);
            var status = _session.Locks.LockOne(_database, entry, ref held);
            if (status != StoreStatus.Ok)
            {
                GiveUp(status);
                return;
            }

            Keep(_next, held);
            _locked = _next + 1;
        }

        if (_next == _count) GoOn(Phase.Look);
    }

    /// <summary>Brings the records of the next keys into the cache, and the values that they are to get: in the order
    /// of the hashes they are strewn over all memory.</summary>
    private void PrefetchHeld(bool withValues)
    {
        if (!Sse.IsSupported) return;
        int count = Math.Min(HashIndex.Together, _count - _next);
        for (int i = 0; i < count; i++) Sse.Prefetch0(_states[_next + i].Record);
        if (withValues) PrefetchValues(count);
    }

    private void PrefetchValues(int count)
    {
        Span<int> indexes = stackalloc int[count];
        for (int i = 0; i < count; i++) indexes[i] = _order[_next + i].Index;
        _work.PrefetchValues(indexes);
    }

    private void LookSome()
    {
        Debug.Assert(_locked == _count, "all keys are locked before one is looked at");
        if (_work.Action == ManyKeysAction.Read) _work.BeginReading();
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            if (_work.Action == ManyKeysAction.Read)
            {
                if (!_work.MayReadMore) return;
                // In the order of the command, doubles and all.
                _work.Read(_next, HeldOf(_order.PlaceOf(_next)).View);
                continue;
            }

            if (_next % HashIndex.Together == 0) PrefetchHeld(withValues: true);
            if (_states[_next].Record == null) continue;
            var held = HeldOf(_next);
            var status = ManyKeysChange.Prepare(_work, _session.Changes, ref held, _order[_next].Index);
            Keep(_next, held);
            if (status == StoreStatus.Ok) continue;
            GiveUp(status);
            return;
        }

        if (_next == _count) GoOn(_work.Action == ManyKeysAction.Read ? Phase.LetGo : Phase.Change);
    }

    private void ChangeSome()
    {
        Debug.Assert(_locked == _count, "all keys are locked before one is changed");
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            if (_next % HashIndex.Together == 0) PrefetchHeld(withValues: true);
            if (_states[_next].Record == null) continue;
            var held = HeldOf(_next);
            Debug.Assert((Record.ReadWord(held.Record) & RecordWord.Lock) != 0, "the key is locked");
            ManyKeysChange.Finish(_work, _session.Changes, ref held, _order[_next].Index);
            Keep(_next, held);
        }

        if (_next == _count) GoOn(Phase.LetGo);
    }

    private void LetGoSome()
    {
        Debug.Assert(_next <= _locked, "only what is locked is let go of");
        int first = _next;
        for (var step = new KeyStep(_next, _locked); step.Takes(_next); _next++)
        {
            if (_next % HashIndex.Together == 0) PrefetchHeld(withValues: false);
            if (_states[_next].Record == null) continue;
            var held = HeldOf(_next);
            _session.Changes.GiveUpPrepared(ref held);
            _session.Changes.LetGo(ref held);
        }

        _order.Forget(first, _next);
        UsedPages.GiveBack((byte*)(_states + first), (byte*)(_states + _next));
        if (_next == _locked) End();
    }

    private void GiveUp(StoreStatus status)
    {
        Debug.Assert(_phase is Phase.Lock or Phase.Look or Phase.Change, "there are keys to let go of");
        Status = status;
        GoOn(Phase.LetGo);
    }

    private void End()
    {
        Debug.Assert(_phase == Phase.Begin || _next == _locked, "no key is held any more");
        _phase = Phase.Done;
        _session.Changes.HeldAbsent = 0;
        _session.EndWork();
        _store.SteppedHolds.End();
        if (IsAbandoned) FreeLists();
    }

    private void GoOn(Phase phase)
    {
        _phase = phase;
        _next = 0;
    }

    protected override bool HasLocked(byte* record, ulong hash)
    {
        // What was let go of, and given back, are zeros: they come first still.
        int place = _order.FirstFrom(hash);
        for (; place < _count && _order[place].Hash == hash; place++)
            if (_states[place].Record == record) return true;
        return false;
    }

    protected override bool HasReached(in KeyList.Entry key)
    {
        if (_phase > Phase.Lock) return true;       // locks nothing more
        if (_locked == 0) return false;
        KeyOrder.Entry last = _order[_locked - 1];
        return KeyList.Compare(key, new KeyList.Entry { Start = last.Key, Length = last.Length, Hash = last.Hash,
            DatabaseId = _database.Id }) <= 0;
    }

    private HeldRecord HeldOf(int place)
    {
        Debug.Assert((uint)place < (uint)_count && HasKeys, "it is one of the keys, and they are held");
        ref State state = ref _states[place];
        return new()
        {
            Database = _database, Record = state.Record, Word = state.Word, Hash = _order[place].Hash,
            Prepared = state.Prepared, PreparedWord = state.PreparedWord,
        };
    }

    private void Keep(int place, in HeldRecord held) =>
        _states[place] = new State { Record = held.Record, Word = held.Word, Prepared = held.Prepared,
            PreparedWord = held.PreparedWord };

    /// <summary>What has become of a key since it was locked (as in <see cref="HeldRecord"/>).</summary>
    private struct State
    {
        public byte* Record, Prepared;
        public ulong Word, PreparedWord;
    }
}
