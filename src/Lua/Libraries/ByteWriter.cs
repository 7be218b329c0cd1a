using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>Bytes that a library puts together for a string.</summary>
/// <remarks>A machine has one: while a library writes, nothing else of the script runs, also when it is put aside in
/// between. Its room counts as the machine's memory, and is kept for the next when it is small.</remarks>
internal sealed class ByteWriter(MemoryAccount account)
{
    private const int FirstBytes = 256, KeptBytes = 64 << 10;

    private byte[] _bytes = [];

    public int Length { get; private set; }

    /// <summary>What it has room for.</summary>
    public int Capacity => _bytes.Length;

    public ReadOnlySpan<byte> Written => _bytes.AsSpan(0, Length);

    /// <summary>Begins anew.</summary>
    public void Clear()
    {
        Length = 0;
        if (_bytes.Length > KeptBytes) _bytes = [];
    }

    public void Add(byte value)
    {
        if (Length == _bytes.Length) Grow(1);
        _bytes[Length++] = value;
    }

    public void Add(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Room(bytes.Length));
        Length += bytes.Length;
    }

    public void Fill(byte value, int count)
    {
        Room(count)[..count].Fill(value);
        Length += count;
    }

    /// <summary>Room for at least <paramref name="count"/> bytes; call <see cref="Wrote"/> with how many were
    /// written.</summary>
    public Span<byte> Room(int count)
    {
        if (_bytes.Length - Length < count) Grow(count);
        return _bytes.AsSpan(Length);
    }

    public void Wrote(int count)
    {
        Debug.Assert(count <= _bytes.Length - Length, "more was written than there was room for");
        Length += count;
    }

    private void Grow(int count)
    {
        long wanted = Math.Max(FirstBytes, Math.Max(_bytes.Length * 2L, (long)Length + count));
        if (wanted > Array.MaxLength) throw new LuaException("not enough memory");
        account.Charge(wanted - _bytes.Length);
        Array.Resize(ref _bytes, (int)wanted);
    }
}
