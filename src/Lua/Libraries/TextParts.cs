using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>The bytes of a string whose length is not known before it is whole, in parts that are never
/// copied.</summary>
/// <remarks>Threads: one machine's. Each has one for the libraries that write: while one of them does, nothing else of
/// the script runs, also when it is put aside in between.</remarks>
internal sealed class TextParts(MemoryAccount account)
{
    private const int FirstBytes = 128, PartBytes = 64 << 10;

    private readonly List<ReadOnlyMemory<byte>> _full = [];
    private byte[] _last = [];
    private int _first, _used;      // of the last part: where what is not among the full ones begins, and ends
    private long _fullBytes;

    public long Length => _fullBytes + _used - _first;

    /// <summary>What it takes of memory, with what it only refers to.</summary>
    public long Bytes => _fullBytes + _last.Length;

    /// <summary>Begins anew; the room of a short string is kept.</summary>
    public void Clear()
    {
        // The parts may still be those of a string that is being made of them.
        if (_full.Count > 0) _last = [];
        _full.Clear();
        (_first, _used, _fullBytes) = (0, 0, 0);
    }

    public void Add(byte value)
    {
        if (_used == _last.Length) Grow(1);
        _last[_used++] = value;
    }

    public void Add(ReadOnlySpan<byte> bytes)
    {
        // Ends: each round copies some of them.
        while (!bytes.IsEmpty)
        {
            if (_used == _last.Length) Grow(Math.Min(bytes.Length, PartBytes));
            int length = Math.Min(bytes.Length, _last.Length - _used);
            bytes[..length].CopyTo(_last.AsSpan(_used));
            _used += length;
            bytes = bytes[length..];
        }
    }

    /// <summary>Room for at least <paramref name="count"/> bytes, which are few; call <see cref="Wrote"/> with how many
    /// were written.</summary>
    public Span<byte> Room(int count)
    {
        if (_last.Length - _used < count) Grow(count);
        return _last.AsSpan(_used);
    }

    public void Wrote(int count)
    {
        Debug.Assert(count <= _last.Length - _used, "more was written than there was room for");
        _used += count;
    }

    /// <summary>Adds a part of a string, which is not copied where it is long.</summary>
    public void Add(LuaString text, int start, int length)
    {
        Debug.Assert(start >= 0 && length >= 0 && start + length <= text.Length, "it is a part of the text");
        if (length < PartBytes)
        {
            Add(text.Span.Slice(start, length));
            return;
        }

        EndPart();
        // The string itself would be refused later, after any number of parts that cost nothing.
        if (Length + length > account.LimitBytes) throw new LuaException("not enough memory");
        _full.Add(text.Memory.Slice(start, length));
        _fullBytes += length;
    }

    /// <summary>Ends a host's function with the string.</summary>
    public int Return(ref LuaCall call) =>
        IsLong ? Joined(ref call).Begin(ref call) : call.Return(Text(ref call));

    /// <summary>Likewise, with a second result.</summary>
    public int Return(ref LuaCall call, double more) =>
        IsLong ? new Counted(Joined(ref call), more).Begin(ref call) : call.Return(Text(ref call), more);

    /// <summary>Whether the string is to be made in pieces (<see cref="Joined"/>); otherwise it is
    /// <see cref="Text"/>.</summary>
    public bool IsLong => _full.Count > 0;

    /// <summary>The string.</summary>
    public LuaString Text(ref LuaCall call) => call.Text(_last.AsSpan(0, _used));

    /// <summary>What makes the string in pieces.</summary>
    public JoinedText Joined(ref LuaCall call)
    {
        EndPart();
        return new JoinedText(TextInPieces.Room(ref call, Length), [.. _full]);
    }

    private void EndPart()
    {
        if (_used == _first) return;
        Debug.Assert(_used > _first && _used <= _last.Length, "the part has been written");
        _full.Add(_last.AsMemory(_first, _used - _first));
        _fullBytes += _used - _first;
        _first = _used;
    }

    // The first is filled up by twice as much, so that short strings take little; later ones stay where they are.
    private void Grow(int count)
    {
        Debug.Assert(count is > 0 and <= PartBytes && _last.Length - _used < count, "there is no room");
        int size = Math.Min(PartBytes, Math.Max(FirstBytes, Math.Max(_last.Length * 2, _used + count)));
        if (_last.Length < PartBytes && _used + count <= size)
        {
            account.Charge(size);
            Array.Resize(ref _last, size);
            return;
        }

        account.Charge(PartBytes);
        EndPart();
        _last = new byte[PartBytes];
        _first = _used = 0;
    }

    /// <summary>Adds a second result to a string in pieces.</summary>
    private sealed class Counted(TextInPieces text, double more) : Continuation
    {
        public int Begin(ref LuaCall call) => After(ref call, text.Begin(ref call));

        public override int Resume(ref LuaCall call, int at, int count) =>
            After(ref call, text.Resume(ref call, at, count));

        public override void Visit(MemoryWalk walk) => text.Visit(walk);

        private int After(ref LuaCall call, int code)
        {
            if (code != 1) return call.Pause(this);
            return call.Return(call.Coroutine.Stack[call.Function], more);
        }
    }
}
