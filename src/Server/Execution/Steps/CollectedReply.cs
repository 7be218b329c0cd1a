using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Values that are collected over many turns, and passed on to the client piece by piece once they are known
/// to be good.</summary>
/// <remarks>
/// In pieces of their own: one buffer would be copied whole each time it doubles. Threads: whoever runs the command.
/// What is collected is charged to the store and, with the blocks that it refers to, bounded by max-reply-bytes.
/// </remarks>
internal sealed unsafe class CollectedReply(Store store, long bytesMax) : IDisposable
{
    /// <summary>A piece is passed on in one step.</summary>
    private const int PieceBytes = 512 * 1024;

    private readonly List<SessionOutput> _pieces = [];
    private int _passed;
    private int _values;

    // Of all pieces but the last one: bytes of the reply, and memory.
    private long _bytes, _memory;
    private long _charged;

    /// <summary>Whether a part of it has been passed on.</summary>
    public bool IsBegun { get; private set; }

    /// <summary>Forgets what was collected.</summary>
    public void Restart()
    {
        foreach (var piece in _pieces) piece.Dispose();
        _pieces.Clear();
        _bytes = _memory = 0;
        Charge();
    }

    /// <summary>Adds a string; nil for what is none.</summary>
    public void Write(in ValueView value)
    {
        var output = NextOutput();
        if (value.Exists && value.Type == DataType.String) ReplyString.Write(output, value);
        else output.Reply.WriteNull();
        CheckSize();
    }

    /// <summary>Takes the next value of the reply.</summary>
    public ReplyWriter Next() => NextOutput().Reply;

    /// <summary>Adds what another one has collected, which is empty then.</summary>
    public void TakeOver(CollectedReply other)
    {
        Debug.Assert(other != this && !IsBegun && !other.IsBegun, "what is passed on is whole");
        if (other._pieces.Count == 0) return;
        (_bytes, _memory) = (Bytes + other._bytes, MemoryBytes + other._memory);
        _pieces.AddRange(other._pieces);
        _charged += other._charged;
        other._charged = 0;
        other._pieces.Clear();
        other.Restart();
    }

    /// <summary>Adds what was written elsewhere, with its blocks; nothing is left there.</summary>
    /// <param name="start">Where it begins. It ends where that output does, and what comes before has no
    /// blocks.</param>
    public void Take(SessionOutput from, int start)
    {
        Debug.Assert(!IsBegun && start >= 0 && start <= from.Buffer.Length,
            "what was written is taken before any is passed on");
        if (_pieces.Count == 0 || _pieces[^1].Buffer.Length > PieceBytes) AddPiece();
        var piece = _pieces[^1];
        int end = from.Buffer.Length, first = start;
        while (from.TryTakeReference(end, out var reference))
        {
            piece.Reply.WriteRaw(from.Buffer.Span[start..reference.Offset], 0);
            piece.AddReference(reference);
            start = reference.Offset;
        }

        piece.Reply.WriteRaw(from.Buffer.Span[start..end], 0);
        from.Buffer.Truncate(first);
        CheckSize();
    }

    /// <summary>Writes what was taken where it came from: nothing is collected.</summary>
    public void GiveBack(SessionOutput to)
    {
        Debug.Assert(!IsBegun && _passed == 0, "what is given back was not passed on");
        // Ends: there are so many pieces.
        while (!PassOn(to))
        {
        }

        _pieces.Clear();
        _bytes = _memory = _passed = 0;
    }

    /// <summary>Copies the last bytes of an output, among which are no blocks: the first that are collected.</summary>
    public void TakeFirst(SessionOutput from, int start)
    {
        Debug.Assert(_pieces.Count == 0, "what was written first comes first");
        if (from.Buffer.Length == start) return;
        AddPiece();
        _pieces[^1].Reply.WriteRaw(from.Buffer.Span[start..], 0);
    }

    /// <summary>How much is collected.</summary>
    public long Bytes => _pieces.Count == 0 ? 0 : _bytes + BytesOf(_pieces[^1]);

    private long MemoryBytes => _pieces.Count == 0 ? 0 : _memory + _pieces[^1].Buffer.CapacityBytes;

    /// <summary>After something was collected: charges it, and throws when it is more than a reply may have.</summary>
    public void CheckSize()
    {
        Charge();
        long bytes = Bytes;
        if (bytes > bytesMax) throw new ReplyTooLargeException(bytes);
    }

    /// <summary>Writes the first piece behind the head, which tells of all the values.</summary>
    /// <returns>True when nothing is left.</returns>
    public bool Begin(SessionOutput output)
    {
        Debug.Assert(!IsBegun, "it begins once");
        IsBegun = true;
        _values = output.Reply.Owed;
        return PassOn(output);
    }

    /// <summary>Passes on the next piece, with its blocks.</summary>
    /// <returns>True when nothing is left.</returns>
    public bool PassOn(SessionOutput output)
    {
        Debug.Assert(_passed < _pieces.Count, "something is left");
        var piece = _pieces[_passed++];
        bool isLast = _passed == _pieces.Count;
        int start = 0, end = piece.Buffer.Length;
        while (piece.TryTakeReference(end, out var reference))
        {
            output.Reply.WriteRaw(new ReadOnlySpan<byte>(piece.Buffer.Start + start, reference.Offset - start), 0);
            output.AddReference(reference);
            start = reference.Offset;
        }

        output.Reply.WriteRaw(new ReadOnlySpan<byte>(piece.Buffer.Start + start, end - start), isLast ? _values : 0);
        store.Charge(-piece.Buffer.CapacityBytes);
        _charged -= piece.Buffer.CapacityBytes;
        piece.Dispose();
        return isLast;
    }

    public void Dispose() => Restart();

    /// <summary>Takes the next value of the reply, and blocks with it.</summary>
    public SessionOutput NextOutput()
    {
        Debug.Assert(!IsBegun, "what is passed on is whole");
        if (_pieces.Count == 0 || _pieces[^1].Buffer.Length > PieceBytes) AddPiece();
        var output = _pieces[^1];
        output.Reply.BeginReply();
        return output;
    }

    private void AddPiece()
    {
        if (_pieces.Count > 0) (_bytes, _memory) = (Bytes, MemoryBytes);
        var piece = new SessionOutput(store);
        piece.Reply.Version = Version;
        piece.Reply.IsPiece = true;
        _pieces.Add(piece);
        Charge();
    }

    private void Charge()
    {
        long more = MemoryBytes - _charged;
        if (more == 0) return;
        store.Charge(more);
        _charged += more;
        Debug.Assert(_charged >= 0, "what it has is charged once");
    }

    private static long BytesOf(SessionOutput piece) => piece.Buffer.Length + piece.ReferencedBytes;

    /// <summary>How nil is written.</summary>
    public RespVersion Version { get; init; }
}
