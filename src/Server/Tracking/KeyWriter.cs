using System.Diagnostics;

namespace Kv.Server.Tracking;

/// <summary>Whose commands a session of the store runs at this moment, and the keys that they have changed: clients in
/// broadcasting mode are told of them together.</summary>
/// <remarks>Threads: those of its session of the store, one at a time. Bounded: of very many keys the first are sent
/// before the last are changed.</remarks>
internal sealed class KeyWriter(TrackingEngine engine)
{
    private const int KeysMax = 1024, BytesMax = 64 * 1024;

    private readonly List<Range> _keys = [];
    private byte[] _text = [];
    private int _length;

    /// <summary>The client; null: nobody knows, and what is changed is sent at once.</summary>
    public ITrackingClient? Author { get; private set; }

    /// <summary>The commands of a client are run from here on; null: of nobody that is known.</summary>
    public void Begin(ITrackingClient? author)
    {
        Flush();        // what is left of a client whose turn failed
        Author = author;
    }

    /// <summary>No client's commands are run any more.</summary>
    public void End()
    {
        Flush();
        Author = null;
    }

    /// <summary>Keeps a key that was changed.</summary>
    public void Add(ReadOnlySpan<byte> key)
    {
        Debug.Assert(Author != null, "somebody will call End");
        if (_keys.Count == KeysMax || _length + key.Length > BytesMax) Flush();
        int end = _length + key.Length;
        if (_text.Length < end) Array.Resize(ref _text, Math.Max(256, 2 * end));
        key.CopyTo(_text.AsSpan(_length));
        _keys.Add(_length..end);
        _length = end;
    }

    /// <summary>Sends what it has.</summary>
    public void Flush()
    {
        if (_keys.Count == 0) return;
        _keys.Sort(Compare);
        int kept = 1;
        for (int i = 1; i < _keys.Count; i++)
            if (Compare(_keys[kept - 1], _keys[i]) != 0) _keys[kept++] = _keys[i];
        _keys.RemoveRange(kept, _keys.Count - kept);
        engine.Broadcast(Author, _text.AsSpan(0, _length), _keys);
        _keys.Clear();
        _length = 0;
        if (_text.Length > BytesMax) _text = [];        // a key can be large
    }

    private int Compare(Range a, Range b) => _text.AsSpan(a).SequenceCompareTo(_text.AsSpan(b));
}
