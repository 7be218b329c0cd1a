using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Patterns;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Reads a command's arguments one after another. The first bad one is remembered, and answered by
/// <see cref="Finish"/>.</summary>
/// <remarks>
/// After a bad argument everything reads as empty or 0, so that a handler reads to its end and asks once. A missing
/// argument is a syntax error: those that must be there are counted by the arity before the handler runs.
/// The bytes are the receive buffer's: valid until the handler returns, never in later steps.
/// </remarks>
internal unsafe ref struct CommandArguments
{
    /// <summary>Three years in seconds, a day in milliseconds: sums and products stay far from 64 bits.</summary>
    private const int UsualDigitsMax = 8;

    // In this order what begins a command is stored a word at a time.
    private Argument* _items;
    private ulong _hash;
    private ulong _hint;
    private int _count;
    private int _next;
    private int _keyIndex;
    private bool _failed;
    private readonly StoreSession _store;
    private ReceivedBlocks? _blocks;
    private LargeCommand? _large;
    private ReadOnlySpan<byte> _error;

    internal CommandArguments(Argument* items, int count, StoreSession store, int keyIndex, ulong hash, ulong hint,
        ReceivedBlocks? blocks)
    {
        _store = store;
        Begin(items, count, keyIndex, hash, hint, blocks);
    }

    /// <summary>Begins with the arguments of another command, in place.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Begin(Argument* items, int count, int keyIndex, ulong hash, ulong hint, ReceivedBlocks? blocks,
        LargeCommand? large = null)
    {
        Begin(items, count, keyIndex, hash, hint);
        _blocks = blocks;
        _large = large;
    }

    /// <summary>The same for a command whose arguments are in as many blocks as the last one's.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Begin(Argument* items, int count, int keyIndex, ulong hash, ulong hint)
    {
        _items = items;
        _count = count;
        _next = 1;
        _keyIndex = keyIndex;
        _hash = hash;
        _hint = hint;
        _failed = false;        // and the error is of no meaning
    }

    /// <summary>Arguments with the command's name.</summary>
    public readonly int Count => _count;

    /// <summary>Arguments not read yet.</summary>
    public readonly int Remaining => _failed ? 0 : _count - _next;

    /// <summary>Index of the argument that is read next; 0 is the command's name.</summary>
    public readonly int Position => _next;

    /// <summary>Any argument, as it was sent; 0 is the command's name.</summary>
    public readonly Argument this[int index]
    {
        get
        {
            if ((uint)index >= (uint)_count) throw new ArgumentOutOfRangeException(nameof(index));
            return _items[index];
        }
    }

    /// <summary>Where an argument is, and those behind it.</summary>
    public readonly Argument* At(int index) => _items + index;

    /// <summary>Whether some argument was bad.</summary>
    public readonly bool Failed => _failed;

    /// <summary>The string that the look-ahead found for the first key, if it did and nothing about it is unusual.
    /// Reads no argument.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly FoundString FindString()
    {
        Argument* key = _items + _keyIndex;     // without a key it is the name, and there is no hint
        return _store.FindString(_hint, key->Pointer, key->Length);
    }

    /// <summary>Overwrites a string that was found with an argument, where that is a matter of copying. Reads no
    /// argument.</summary>
    /// <param name="expiryMs">Unix ms; -1: none.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool TryOverwrite(in FoundString found, int index, long expiryMs = NewValue.NoExpiry)
    {
        Argument* value = _items + index;
        return !value->IsInBlock && _store.TryOverwrite(found, value->Pointer, value->Length, expiryMs);
    }

    /// <summary>When something expires that is to last for an argument's number of units, where that is a usual number:
    /// some digits. Reads no argument.</summary>
    /// <returns>Unix ms; 0 for everything else, right or wrong.</returns>
    public readonly long UsualExpiry(int index, long unitMs)
    {
        Argument* number = _items + index;
        byte* at = number->Pointer, end = at + number->Length;
        if ((uint)(number->Length - 1) >= UsualDigitsMax || *at == '0') return 0;
        long count = 0;
        do
        {
            uint digit = (uint)(*at - '0');
            if (digit > 9) return 0;
            count = (count * 10) + digit;
        }
        while (++at < end);
        return _store.NowMs + (count * unitMs);
    }

    /// <summary>The same for a unit, EX or PX, and its number.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly long UsualExpiry(int index)
    {
        Argument* unit = _items + index;
        if (unit->Length != 2) return 0;
        int letters = *(ushort*)unit->Pointer | 0x2020;
        return letters == ('e' | 'x' << 8) ? UsualExpiry(index + 1, 1000) : letters == ('p' | 'x' << 8)
            ? UsualExpiry(index + 1, 1) : 0;
    }

    /// <summary>A glob pattern.</summary>
    public ReadOnlySpan<byte> NextPattern()
    {
        var pattern = NextBytes();
        if (pattern.Length > GlobPattern.BytesMax) Fail(Errors.PatternTooLong);
        return pattern;
    }

    /// <summary>A key, for the store: with what the look-ahead found, where it looked.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Key NextKey()
    {
        // One return: the key is then built where the caller keeps it, and not copied as a vector right after its parts
        // were stored (a stall of a dozen cycles).
        int index = _next;
        ReadOnlySpan<byte> bytes = default;
        ulong hash = 0, hint = 0;
        if (index < _count && !_failed)
        {
            _next = index + 1;
            bytes = _items[index].Span;
            if (index == _keyIndex) (hash, hint) = (_hash, _hint);
            else hash = _store.HashKey(_items[index].Pointer, _items[index].Length);
        }
        else
        {
            MissingSlow();
        }

        return _store.Key(bytes, hash, hint);
    }

    /// <summary>Puts any argument, as a key, into a list for the store; for commands over several keys.</summary>
    /// <param name="expectedBytes">Of the value that will be written, where known.</param>
    public readonly void AddKey(int index, KeyList keys, int database, int expectedBytes = 8)
    {
        var key = this[index];
        keys.Add(key.Pointer, key.Length, database, expectedBytes);
    }

    /// <summary>The next argument.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ReadOnlySpan<byte> NextBytes()
    {
        int index = _next;
        if (index >= _count || _failed) return MissingSlow();
        _next = index + 1;
        return new(_items[index].Pointer, _items[index].Length);
    }

    /// <summary>The next argument, for what may go on in later turns.</summary>
    public KeptArgument NextKept()
    {
        int index = _next;
        return NextBytes().IsEmpty ? default : new KeptArgument(_items[index]);
    }

    /// <summary>The next argument as a value, with its block when it came in one of its own: the store may adopt
    /// that.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ReadOnlySpan<byte> NextValue(out Block block)
    {
        block = default;
        int index = _next;
        if (index >= _count || _failed) return MissingSlow();
        _next = index + 1;
        if (_items[index].IsInBlock) block = _blocks!.Find(_items[index].Pointer);
        return new(_items[index].Pointer, _items[index].Length);
    }

    /// <summary>What holds the arguments, if they are a large command's.</summary>
    public readonly LargeCommand? Large => _large;

    /// <summary>Keeps all of them, for a command that goes on in later turns. Those in blocks stay in the session's,
    /// which keeps them until the command is done.</summary>
    /// <param name="store">Is charged with the memory, as long as it is held.</param>
    public readonly HeldCommand Keep(Store store) => new(_items, _count, store, _large);

    /// <summary>All of them, for work that may go on in later turns.</summary>
    public readonly KeptArguments All(Store store) => new(store, _items, _count, _large);

    /// <summary>Any argument as a value, as <see cref="NextValue"/>.</summary>
    public readonly ReadOnlySpan<byte> ValueAt(int index, out Block block)
    {
        var argument = this[index];
        block = argument.IsInBlock ? _blocks!.Find(argument.Pointer) : default;
        return argument.Span;
    }

    public long NextInt64() => NextInt64(long.MinValue, long.MaxValue, Errors.NotAnInteger);

    /// <summary>An integer within bounds; the error is for everything else.</summary>
    public long NextInt64(long min, long max, ReadOnlySpan<byte> error)
    {
        var text = NextBytes();
        if (_failed) return 0;
        if (NumberText.TryParseInt64(text, out long value) && value >= min && value <= max) return value;
        Fail(error);
        return 0;
    }

    public int NextInt32() => NextInt32(int.MinValue, int.MaxValue, Errors.NotAnInteger);

    public int NextInt32(int min, int max, ReadOnlySpan<byte> error) => (int)NextInt64(min, max, error);

    /// <summary>A double: not NaN.</summary>
    public double NextDouble()
    {
        var text = NextBytes();
        if (_failed) return 0;
        if (NumberText.TryParseDouble(text, out double value) && !double.IsNaN(value)) return value;
        Fail(Errors.NotAFloat);
        return 0;
    }

    /// <summary>Reads the next argument if it is this word, in any case.</summary>
    /// <param name="upper">The word in upper case.</param>
    public bool TryKeyword(ReadOnlySpan<byte> upper)
    {
        if (!PeekKeyword(upper)) return false;
        _next++;
        return true;
    }

    /// <summary>Whether the next argument is this word, in any case.</summary>
    public readonly bool PeekKeyword(ReadOnlySpan<byte> upper) =>
        Remaining > 0 && CommandName.Equal(upper, new(_items[_next].Pointer, _items[_next].Length));

    /// <summary>The next argument, without reading it; empty when there is none.</summary>
    public readonly ReadOnlySpan<byte> Peek() =>
        Remaining > 0 ? new(_items[_next].Pointer, _items[_next].Length) : default;

    /// <summary>Passes over so many arguments.</summary>
    public void Skip(int count)
    {
        if (count > Remaining) SyntaxError();
        else _next += count;
    }

    public void SyntaxError() => Fail(Errors.Syntax);

    /// <summary>Refuses a command with more arguments left than anybody has a use for: it would take its worker for
    /// long.</summary>
    /// <param name="what">What they are, "patterns of CONFIG GET": the error names it.</param>
    public void RequireAtMost(int most, string what)
    {
        if (Remaining > most)
            Fail(System.Text.Encoding.ASCII.GetBytes($"ERR too many {what}, at most {most} are taken at once"));
    }

    /// <summary>Remembers an error, unless there is one already.</summary>
    public void Fail(ReadOnlySpan<byte> error)
    {
        if (_failed) return;
        _failed = true;
        _error = error;
    }

    /// <summary>Ends the reading: everything must have been good, and nothing be left.</summary>
    /// <returns>False when an error was written: the handler returns at once.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Finish(ReplyWriter reply)
    {
        if (_next == _count && !_failed) return true;
        FinishSlow(reply);
        return false;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void FinishSlow(ReplyWriter reply)
    {
        SyntaxError();
        reply.WriteError(_error);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ReadOnlySpan<byte> MissingSlow()
    {
        SyntaxError();
        return default;
    }
}
