using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Patterns;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Reads a command's arguments one after another. The error of the first bad one is remembered, and written by
/// <see cref="Finish"/>.</summary>
/// <remarks>
/// After a bad argument everything reads as empty or 0, so that a handler reads all its arguments and asks once, at the
/// end. A missing argument is a syntax error: the arity was checked before the handler runs.
/// The bytes are the receive buffer's: valid until the handler returns, never in later steps.
/// </remarks>
internal unsafe ref struct CommandArguments
{
    /// <summary>Three years in seconds, a day in milliseconds: sums and products stay far from 64 bits.</summary>
    private const int UsualDigitsMax = 8;

    // In this order Begin stores a word at a time.
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

    /// <summary>Begins with the arguments of another command, and keeps the blocks of the last one: both have none, as
    /// in a stretch of usual commands.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Begin(Argument* items, int count, int keyIndex, ulong hash, ulong hint)
    {
        _items = items;
        _count = count;
        _next = 1;
        _keyIndex = keyIndex;
        _hash = hash;
        _hint = hint;
        _failed = false;        // _error then means nothing
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

    /// <summary>An argument and those after it, in place.</summary>
    public readonly Argument* At(int index) => _items + index;

    /// <summary>The arguments from one on, which is the name of a call.</summary>
    public readonly CommandArguments From(int index)
    {
        Debug.Assert(index < _count, "it has a name");
        return new CommandArguments(_items + index, _count - index, _store, keyIndex: 0, hash: 0, hint: 0, _blocks);
    }

    /// <summary>Whether some argument was bad.</summary>
    public readonly bool Failed => _failed;

    /// <summary>The string that the look-ahead found at the first key, if it found one and nothing about it is unusual.
    /// Reads no argument.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly FoundString FindString()
    {
        Debug.Assert(_keyIndex < _count && (_keyIndex > 0 || _hint == 0), "a hint is that of a key");
        Argument* key = _items + _keyIndex;     // without a key it is the name, and there is no hint
        return _store.FindString(_hint, key->Pointer, key->Length);
    }

    /// <summary>Overwrites a found string with an argument, if that takes no more than copying. Reads no
    /// argument.</summary>
    /// <param name="expiryMs">Unix ms, or <see cref="NewValue.NoExpiry"/>.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly bool TryOverwrite(in FoundString found, int index, long expiryMs = NewValue.NoExpiry)
    {
        Debug.Assert(index > 0 && index < _count, "the value is one of the arguments");
        Argument* value = _items + index;
        return !value->IsInBlock && _store.TryOverwrite(found, value->Pointer, value->Length, _hash, expiryMs);
    }

    /// <summary>When a value expires whose time to live is an argument, if that is a usual number: a few digits. Reads
    /// no argument.</summary>
    /// <returns>Unix ms; 0 for anything else, valid or not.</returns>
    public readonly long UsualExpiry(int index, long unitMs)
    {
        Debug.Assert(index > 0 && index < _count, "the number is one of the arguments");
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

    /// <summary>When a value expires by the two arguments EX or PX and a usual number. Reads no argument.</summary>
    /// <returns>Unix ms; 0 for anything else, valid or not.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly long UsualExpiry(int index)
    {
        Debug.Assert(index + 1 < _count, "the number follows its unit");
        Argument* unit = _items + index;
        if (unit->Length != 2) return 0;
        int letters = *(ushort*)unit->Pointer | 0x2020;
        return letters == ('e' | 'x' << 8) ? UsualExpiry(index + 1, 1000) : letters == ('p' | 'x' << 8)
            ? UsualExpiry(index + 1, 1) : 0;
    }

    /// <summary>The next argument, a glob pattern.</summary>
    public ReadOnlySpan<byte> NextPattern()
    {
        var pattern = NextBytes();
        if (pattern.Length > GlobPattern.BytesMax) Fail(Errors.PatternTooLong);
        return pattern;
    }

    /// <summary>The next argument as a key for the store, with the hint if the look-ahead looked for this
    /// key.</summary>
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

    /// <summary>Adds any argument, as a key, to a list for the store; for commands on several keys.</summary>
    /// <param name="expectedBytes">The size of the value that will be written, where known.</param>
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

    /// <summary>The next argument, for a command that may go on in later turns.</summary>
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
        Debug.Assert(_blocks != null || !_items[index].IsInBlock, "an argument in a block is in one of the session's");
        _next = index + 1;
        if (_items[index].IsInBlock) block = _blocks!.Find(_items[index].Pointer);
        return new(_items[index].Pointer, _items[index].Length);
    }

    /// <summary>The holder of the arguments, if they are a large command's.</summary>
    public readonly LargeCommand? Large => _large;

    /// <summary>Keeps all arguments, for a command that runs or goes on in later turns. Blocks stay with the session,
    /// which keeps them until the command is done.</summary>
    /// <param name="store">Charged with the memory as long as it is held.</param>
    public readonly HeldCommand Keep(Store store) => new(_items, _count, store, _large);

    /// <summary>All arguments, for work that may go on in later turns.</summary>
    public readonly KeptArguments All(Store store) => new(store, _items, _count, _large);

    /// <summary>Whether an argument is one of the first <paramref name="count"/> after a word, in any case.</summary>
    /// <param name="upper">The word in upper case.</param>
    public readonly bool FollowsWord(int index, ReadOnlySpan<byte> upper, int count)
    {
        Debug.Assert(index < _count && count > 0, "it is an argument");
        for (int i = Math.Max(1, index - count); i < index; i++)
            if (CommandName.Equal(upper, this[i].Span)) return true;
        return false;
    }

    /// <summary>Any argument as a value, with its block as from <see cref="NextValue"/>.</summary>
    public readonly ReadOnlySpan<byte> ValueAt(int index, out Block block)
    {
        var argument = this[index];
        block = argument.IsInBlock ? _blocks!.Find(argument.Pointer) : default;
        return argument.Span;
    }

    public long NextInt64() => NextInt64(long.MinValue, long.MaxValue, Errors.NotAnInteger);

    /// <summary>The next argument, an integer within bounds.</summary>
    /// <param name="error">The error for anything else.</param>
    public long NextInt64(long min, long max, ReadOnlySpan<byte> error)
    {
        Debug.Assert(min <= max && !error.IsEmpty, "some number is right");
        var text = NextBytes();
        if (_failed) return 0;
        if (NumberText.TryParseInt64(text, out long value) && value >= min && value <= max) return value;
        Fail(error);
        return 0;
    }

    public int NextInt32() => NextInt32(int.MinValue, int.MaxValue, Errors.NotAnInteger);

    public int NextInt32(int min, int max, ReadOnlySpan<byte> error) => (int)NextInt64(min, max, error);

    /// <summary>The next argument, a number that is not NaN.</summary>
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
        Debug.Assert(!upper.ContainsAnyInRange((byte)'a', (byte)'z'), "a keyword is given in upper case");
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

    /// <summary>Passes over <paramref name="count"/> arguments.</summary>
    public void Skip(int count)
    {
        Debug.Assert(count >= 0, "arguments are not read twice");
        if (count > Remaining) SyntaxError();
        else _next += count;
    }

    public void SyntaxError() => Fail(Errors.Syntax);

    /// <summary>Refuses a command with more arguments left than anybody has a use for: it would occupy its worker for
    /// long.</summary>
    /// <param name="what">What the arguments are, for the error: "patterns of CONFIG GET".</param>
    public void RequireAtMost(int most, string what) => RequireAtMost(Remaining, most, what);

    /// <summary>Refuses a command with more arguments of some kind than anybody has a use for.</summary>
    /// <param name="count">How many there are.</param>
    public void RequireAtMost(long count, int most, string what)
    {
        Debug.Assert(count >= 0 && most > 0 || _failed, "arguments are counted");
        if (count > most)
            Fail(System.Text.Encoding.ASCII.GetBytes($"ERR too many {what}, at most {most} are taken at once"));
    }

    /// <summary>Remembers an error, unless there is one already.</summary>
    public void Fail(ReadOnlySpan<byte> error)
    {
        Debug.Assert(!error.IsEmpty, "an error has a text");
        if (_failed) return;
        _failed = true;
        _error = error;
    }

    /// <summary>Ends the reading: all arguments must have been read, and none may have been bad.</summary>
    /// <returns>False after writing an error; the handler then returns at once.</returns>
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
        Debug.Assert(reply.Owed == 1, "the error is the reply");
        reply.WriteError(_error);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private ReadOnlySpan<byte> MissingSlow()
    {
        SyntaxError();
        return default;
    }
}
