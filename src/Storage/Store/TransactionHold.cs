using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A transaction of very many commands or keys: finds its keys, locks them in the one order, runs, and lets
/// go, all in steps.</summary>
/// <remarks>
/// From the last lock to the first that is let go of is the instant at which it happens. What it finds before is of no
/// weight: the list of the keys is a matter of the commands, and the databases are those of one table, which it keeps
/// to the end. Once it has begun it is done whole, whoever leaves.
/// </remarks>
internal sealed unsafe class TransactionHold(Store store, ITransactionWork work) : SteppedHold, IHeldSteps
{
    private KeyOrder? _keys;
    private StoreSession _session = null!;
    private KeyLocks _locks = null!;
    private Database?[] _table = [];
    private Phase _phase;
    private int _next, _found;
    private long _charged;
    private bool _isAgain;

    private enum Phase
    {
        Find,
        Begin,
        Order,
        Lock,
        Start,
        Run,
        LetGo,
        Done,
    }

    /// <summary>Ok; OutOfMemory: nothing was run.</summary>
    public StoreStatus Status { get; private set; }

    /// <inheritdoc/>
    public override bool HasKeys => _phase is >= Phase.Order and <= Phase.LetGo;

    /// <inheritdoc/>
    // Written and read whole; who reads an older phase asks for one more step, which does nothing.
    public bool IsDone => _phase == Phase.Done;

    /// <summary>Does all of it. From any thread.</summary>
    public override void Dispose()
    {
        lock (Claim)
        {
            // Ends: each step gets on, or one of the transaction that has its keys locked now does.
            while (!StepClaimed(null))
            {
            }
        }
    }

    protected override bool StepClaimed(StoreSession? caller)
    {
        try
        {
            switch (_phase)
            {
                case Phase.Find: FindSome(); break;
                case Phase.Begin: Begin(); break;
                case Phase.Order: if (Keys.Step(_table)) BeginLocking(); break;
                case Phase.Lock: LockSome(); break;
                case Phase.Start: Start(); break;
                case Phase.Run: if (work.Use(default)) EndRunning(); break;
                case Phase.LetGo: LetGoSome(caller); break;
            }
        }
        catch (Exception exception) when (_phase is not (Phase.LetGo or Phase.Done))
        {
            Failure = exception;
            if (_phase >= Phase.Lock) EndRunning();
            else End(null);
        }

        return _phase == Phase.Done;
    }

    protected override bool HasLocked(byte* record, ulong hash) =>
        _phase >= Phase.Lock && _locks.Has(record, hash);

    protected override bool HasReached(in KeyList.Entry key)
    {
        if (_phase > Phase.Lock) return true;       // locks nothing more
        return _phase == Phase.Lock && _next > 0 && KeyList.Compare(key, EntryAt(_next - 1)) <= 0;
    }

    private KeyOrder Keys => _keys ??= new KeyOrder(store.Hash, work.KeysMax, keepsPlaces: false);

    private void FindSome()
    {
        bool areAll = work.FindKeys(Keys);
        ChargeOrder();
        if (work.IsRefused) End(null);
        else if (areAll) _phase = Phase.Begin;
    }

    private void Begin()
    {
        // another's turn, and a step of it is done; asked again in the next
        if (!store.SteppedHolds.TryBegin(this, out var session)) return;
        _session = session;
        session.BeginWork(work);
        session.BeginInnerTurn();
        _phase = Phase.Order;
        _found = Keys.Count;
        // Ends: a round is repeated only when a database was made, or others flushed one in this very moment.
        while (true)
        {
            _table = session.Table;
            bool isComplete = true;
            foreach (int database in work.Databases)
            {
                if (_table[database] != null) continue;
                isComplete = false;
                if (session.CreateDatabase(database) != null) continue;
                Status = StoreStatus.OutOfMemory;
                End(null);
                return;
            }

            if (isComplete) return;
        }
    }

    private void BeginLocking()
    {
        ChargeOrder();
        _locks = _session.Transacting.Prepare(_table, _found);
        _next = 0;
        _phase = Phase.Lock;
    }

    private void LockSome()
    {
        Debug.Assert(_next <= _found, "it locks what was found");
        int first = Math.Max(0, _next - 1);
        for (var step = new KeyStep(_next, _found); step.Takes(_next); _next++)
        {
            if (_next % HashIndex.Together == 0) Keys.Prefetch(_table[Keys[_next].Database]!.Index, _next);
            if (!Keys.IsLast(_next)) continue;
            Status = _locks.LockNext(_table[Keys[_next].Database]!, EntryAt(_next));
            if (Status == StoreStatus.Ok) continue;
            EndRunning();
            return;
        }

        // But for the last one, which says how far it has come.
        if (_next > 0) Keys.Forget(first, _next - 1);
        if (_next == _found) _phase = Phase.Start;
    }

    private void Start()
    {
        Debug.Assert(_next == _found, "all keys are locked");
        _session.Transacting.Enter();
        var start = work.Start(_table);
        if (start == TransactionStart.Run)
        {
            work.Begin(_session);
            _phase = Phase.Run;
            return;
        }

        _isAgain = start == TransactionStart.Again;
        EndRunning();
    }

    private void EndRunning()
    {
        Debug.Assert(_phase is >= Phase.Lock and <= Phase.Run, "keys may be locked");
        _session.Transacting.Leave();
        _phase = Phase.LetGo;
    }

    private void LetGoSome(StoreSession? caller)
    {
        if (!_locks.ReleaseSome()) return;
        if (!_isAgain)
        {
            End(caller);
            return;
        }

        _isAgain = false;
        store.Databases.WaitForReport();
        EndTurn(null);
        _keys?.Dispose();
        _keys = null;
        work.FindAgain();
        _phase = Phase.Find;
    }

    private void End(StoreSession? caller)
    {
        if (_phase >= Phase.Order) EndTurn(caller);
        _keys?.Dispose();
        _keys = null;
        store.Charge(-_charged);
        _charged = 0;
        _phase = Phase.Done;
    }

    private void EndTurn(StoreSession? caller)
    {
        Debug.Assert(_phase is >= Phase.Order and <= Phase.LetGo, "the session is in a turn");
        _session.EndWork(caller);
        store.SteppedHolds.End();
    }

    private void ChargeOrder()
    {
        long bytes = Keys.Bytes + (_phase >= Phase.Order ? (long)_found * sizeof(HeldRecord) : 0);
        store.Charge(bytes - _charged);
        _charged = bytes;
    }

    private KeyList.Entry EntryAt(int place)
    {
        ref KeyOrder.Entry item = ref Keys[place];
        return new KeyList.Entry
        {
            Start = item.Key, Length = item.Length, Hash = item.Hash, Database = item.Database,
                DatabaseId = item.DatabaseId, ExpectedBytes = 8,
        };
    }
}
