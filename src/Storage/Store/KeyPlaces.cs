using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Where a transaction has the very many keys of one of its commands: looked up a piece at a time, before the
/// command works on them.</summary>
/// <remarks>Nothing is copied or locked: the command works on what the transaction holds. Threads: whoever steps the
/// transaction, one at a time. The pages are paid for as they are written; all are charged from the start.</remarks>
internal sealed unsafe class KeyPlaces : IDisposable
{
    private readonly Store _store;
    private readonly StoreSession _session;
    private readonly int _capacity;
    private int* _places;

    /// <param name="session">Runs the transaction.</param>
    /// <param name="count">So many keys will be added.</param>
    /// <exception cref="OutOfMemoryException">The system refuses.</exception>
    public KeyPlaces(Store store, StoreSession session, int count)
    {
        Debug.Assert(session.Transaction != null, "the keys are a transaction's");
        (_store, _session, _capacity) = (store, session, count);
        _places = (int*)VirtualMemory.Reserve(Bytes);
        if (_places == null) throw new OutOfMemoryException();
        store.Charge((long)Bytes);
    }

    /// <summary>Keys that were looked up, doubles included.</summary>
    public int Count { get; private set; }

    /// <summary>Whether work in steps has them, which gives them up at its end.</summary>
    public bool AreInUse { get; set; }

    /// <summary>All the keys, for the command.</summary>
    public HeldKeys Held
    {
        get
        {
            Debug.Assert(Count == _capacity, "all were looked up");
            return new HeldKeys(this, _session.Transaction!.Locks, _session.Changes);
        }
    }

    private nuint Bytes => (nuint)Math.Max(1, _capacity) * sizeof(int);

    /// <summary>Which of the transaction's records is that of a key.</summary>
    public int this[int index]
    {
        get
        {
            Debug.Assert((uint)index < (uint)Count, "it is one of the keys");
            return _places[index];
        }
    }

    /// <summary>Looks the next key up.</summary>
    public void Add(ReadOnlySpan<byte> key, int database)
    {
        Invariant.Check(Count < _capacity, "more keys than were announced");
        _places[Count++] = _session.Transaction!.PlaceOf(_session.Table[database], _session.Key(key));
    }

    /// <summary>Has work on the keys done in steps.</summary>
    public IHeldSteps BeginUse(IHeldUse use)
    {
        AreInUse = true;
        return new BorrowedUse(_session, this, use);
    }

    public void Dispose()
    {
        if (_places == null) return;
        VirtualMemory.Release((byte*)_places, Bytes);
        _store.Charge(-(long)Bytes);
        _places = null;
    }
}
