using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Keys that somebody waits for (BLPOP) and that a session has changed: it serves those who wait when its
/// command is done.</summary>
/// <remarks>
/// In the order of the changes; a key may be there more than once. Threads: the session's own.
/// Cost: nothing as long as nobody waits; the array is kept.
/// </remarks>
internal sealed class KeyArrivals
{
    private const int KeptMax = 1024;

    private WatchedKey[] _keys = [];
    private int _kept;

    public int Count { get; private set; }

    /// <summary>Not 0 when whoever runs the session's commands has something to do after one of them: keys are here, or
    /// <see cref="HasNotes"/>.</summary>
    public int Pending { get; private set; }

    /// <summary>Whether the session's listener has notes that wait for the end of the command.</summary>
    public bool HasNotes
    {
        get;
        set
        {
            field = value;
            Weigh();
        }
    }

    /// <summary>A key whose changes are no arrivals: those who wait for it are just being served.</summary>
    public WatchedKey? Ignored { get; set; }

    public WatchedKey this[int index] => _keys[index];

    public void Add(WatchedKey key)
    {
        if (key == Ignored || (Count != 0 && _keys[Count - 1] == key)) return;
        if (Count == _keys.Length) Array.Resize(ref _keys, Math.Max(4, Count * 2));
        _keys[Count++] = key;
        Weigh();
    }

    /// <summary>Whether keys have come since the last <see cref="KeepNew"/>.</summary>
    public bool HasNew => _kept < Count;

    /// <summary>Forgets some of the keys that have come since the last time.</summary>
    /// <param name="keeps">Says of a key whether it stays.</param>
    public void KeepNew(Predicate<WatchedKey> keeps)
    {
        for (int i = _kept; i < Count; i++)
            if (keeps(_keys[i])) _keys[_kept++] = _keys[i];
        Array.Clear(_keys, _kept, Count - _kept);
        Count = _kept;
        Weigh();
    }

    private void Weigh() => Pending = Count | (HasNotes ? 1 << 30 : 0);

    /// <summary>Takes the keys from <paramref name="index"/> on, for somebody else to see to.</summary>
    public WatchedKey[] TakeFrom(int index)
    {
        Debug.Assert((uint)index <= (uint)Count, "there are as many keys");
        WatchedKey[] taken = _keys.AsSpan(index, Count - index).ToArray();
        Array.Clear(_keys, index, Count - index);
        Count = index;
        _kept = Math.Min(_kept, index);
        Weigh();
        return taken;
    }

    /// <summary>Leaves all keys to another session, whose turn it is.</summary>
    public void MoveTo(KeyArrivals other)
    {
        Debug.Assert(other != this, "another session takes them");
        for (int i = 0; i < Count; i++) other.Add(_keys[i]);
        Clear();
    }

    public void Clear()
    {
        if (_keys.Length > KeptMax) _keys = [];
        else Array.Clear(_keys, 0, Count);
        Count = _kept = 0;
        Weigh();
    }
}
