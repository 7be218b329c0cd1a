using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A command over very many keys of one database that its transaction holds already: does it in steps on what
/// is held.</summary>
/// <remarks>
/// It locks nothing and lets go of nothing, so its instant is the transaction's. No other command of the transaction
/// runs between its steps, and whoever needs one of the keys has the whole transaction finished, this command included:
/// so what a step has found or prepared stays right (as for <see cref="BorrowedUse"/>). Each key is looked up by its
/// bytes in each pass: only what sets keys has two.
/// Threads: whoever steps the transaction, one at a time.
/// </remarks>
internal sealed unsafe class BorrowedKeys : IDisposable
{
    private readonly StoreSession _session;
    private readonly IManyKeysWork _work;
    private readonly int _databaseNumber, _count;
    private Phase _phase;
    private int _next, _prepared;

    /// <param name="session">Has the transaction, from here until the work is done or given up.</param>
    /// <param name="database">The number of the keys' database.</param>
    /// <param name="count">So many keys.</param>
    public BorrowedKeys(StoreSession session, int database, int count, IManyKeysWork work)
    {
        Debug.Assert(session.Transaction != null, "the keys are a transaction's");
        _session = session;
        _databaseNumber = database;
        _count = count;
        _work = work;
        _phase = work.Action switch
        {
            ManyKeysAction.Read => Phase.Read,
            ManyKeysAction.Set => Phase.Prepare,
            _ => Phase.Change,
        };
    }

    private enum Phase
    {
        Read,
        Prepare,
        Change,
        GiveUp,
        Done,
    }

    /// <summary>Ok; NotFound when one of the keys must not have been there; or why nothing was changed.</summary>
    public StoreStatus Status { get; private set; }

    /// <summary>Does a piece of the work.</summary>
    /// <returns>True when everything is done.</returns>
    public bool Step()
    {
        switch (_phase)
        {
            case Phase.Read: ReadSome(); break;
            case Phase.Prepare: PrepareSome(); break;
            case Phase.Change: ChangeSome(); break;
            case Phase.GiveUp: GiveUpSome(); break;
        }

        return _phase == Phase.Done;
    }

    /// <summary>Gives the work up: what was only prepared is undone.</summary>
    public void Dispose()
    {
        if (_phase is Phase.Prepare or Phase.Change) GoOn(Phase.GiveUp);
        // Ends: each step gets on.
        while (_phase == Phase.GiveUp) GiveUpSome();
        _phase = Phase.Done;
    }

    private void ReadSome()
    {
        _work.BeginReading();
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            if (!_work.MayReadMore) return;
            _work.Read(_next, Held(_next).View);
        }

        if (_next == _count) GoOn(Phase.Done);
    }

    private void PrepareSome()
    {
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            ref HeldRecord held = ref Held(_next);
            held.PreparedIndex = _next;     // of a key that comes again the last value counts
            _prepared = _next + 1;
            var status = ManyKeysChange.Prepare(_work, _session.Changes, ref held, _next);
            if (status == StoreStatus.Ok) continue;
            Status = status;
            GoOn(Phase.GiveUp);
            return;
        }

        if (_next == _count) GoOn(Phase.Change);
    }

    private void ChangeSome()
    {
        Debug.Assert(_work.Action != ManyKeysAction.Set || _prepared == _count, "all are prepared before a change");
        bool sets = _work.Action == ManyKeysAction.Set;
        for (var step = new KeyStep(_next, _count); step.Takes(_next); _next++)
        {
            ref HeldRecord held = ref Held(_next);
            if (!sets || held.PreparedIndex == _next)
                ManyKeysChange.Finish(_work, _session.Changes, ref held, _next);
        }

        if (_next == _count) GoOn(Phase.Done);
    }

    private void GiveUpSome()
    {
        for (var step = new KeyStep(_next, _prepared); step.Takes(_next); _next++)
            _session.Changes.GiveUpPrepared(ref Held(_next));
        if (_next >= _prepared) GoOn(Phase.Done);
    }

    private ref HeldRecord Held(int index)
    {
        byte* key = _work.Key(index, out int length);
        return ref _session.Transaction!.Find(_session.Table[_databaseNumber],
            _session.Key(new ReadOnlySpan<byte>(key, length)));
    }

    private void GoOn(Phase phase)
    {
        _phase = phase;
        _next = 0;
    }
}
