using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>The bytes of a string whose length is not known before it is whole, in parts that are never
/// copied.</summary>
/// <remarks>Threads: one machine's.</remarks>
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

    public void Add(byte value)
    {
        if (_used == _last.Length) Grow();
        _last[_used++] = value;
    }

    public void Add(ReadOnlySpan<byte> bytes)
    {
        // Ends: each round copies some of them.
        while (!bytes.IsEmpty)
        {
            if (_used == _last.Length) Grow();
            int length = Math.Min(bytes.Length, _last.Length - _used);
            bytes[..length].CopyTo(_last.AsSpan(_used));
            _used += length;
            bytes = bytes[length..];
        }
    }

    /// <summary>Adds a part of a string, which is not copied where it is long.</summary>
    public void Add(LuaString text, int start, int length)
    {
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
        _full.Count == 0 ? call.Return(call.Text(_last.AsSpan(0, _used))) : Joined(ref call).Begin(ref call);

    /// <summary>Likewise, with a second result.</summary>
    public int Return(ref LuaCall call, double more) =>
        _full.Count == 0 ? call.Return(call.Text(_last.AsSpan(0, _used)), more)
            : new Counted(Joined(ref call), more).Begin(ref call);

    private JoinedText Joined(ref LuaCall call)
    {
        EndPart();
        return new JoinedText(TextInPieces.Room(ref call, Length), [.. _full]);
    }

    private void EndPart()
    {
        if (_used == _first) return;
        _full.Add(_last.AsMemory(_first, _used - _first));
        _fullBytes += _used - _first;
        _first = _used;
    }

    // The first is filled up by twice as much, so that short strings take little; later ones stay where they are.
    private void Grow()
    {
        Debug.Assert(_used == _last.Length, "there is no room");
        int size = Math.Min(PartBytes, Math.Max(FirstBytes, _last.Length * 2));
        account.Charge(size);
        if (_last.Length < PartBytes)
        {
            Array.Resize(ref _last, size);
            return;
        }

        EndPart();
        _last = new byte[size];
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
