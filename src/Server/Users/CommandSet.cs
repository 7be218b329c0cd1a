namespace Kv.Server.Users;

/// <summary>Which commands a selector allows: a bit for each row and subcommand, and words that some of the others may
/// have as first argument.</summary>
/// <remarks>Threads: changed while rules are read; then it never changes.</remarks>
internal sealed class CommandSet
{
    private readonly ulong[] _bits;
    private readonly int _count;
    private Dictionary<int, byte[][]> _firstArguments = [];

    public CommandSet(int count)
    {
        _count = count;
        _bits = new ulong[(count + 63) / 64];
    }

    private CommandSet(CommandSet other)
    {
        _count = other._count;
        _bits = [.. other._bits];
        _firstArguments = new(other._firstArguments);
    }

    /// <summary>Whether every command is allowed with any argument.</summary>
    public bool IsAll
    {
        get
        {
            for (int id = 0; id < _count; id++)
                if (!this[id]) return false;
            return true;
        }
    }

    public bool this[int id] => (_bits[id >> 6] >> id & 1) != 0;

    public CommandSet Copy() => new(this);

    public void SetAll(bool isAllowed)
    {
        Array.Fill(_bits, isAllowed ? ulong.MaxValue : 0);
        _firstArguments = [];
    }

    public void Set(int id, bool isAllowed)
    {
        if (isAllowed) _bits[id >> 6] |= 1UL << id;
        else _bits[id >> 6] &= ~(1UL << id);
        _firstArguments.Remove(id);
    }

    /// <param name="ids">A bit for each command.</param>
    public void Set(ReadOnlySpan<ulong> ids, bool isAllowed)
    {
        for (int i = 0; i < _bits.Length; i++) _bits[i] = isAllowed ? _bits[i] | ids[i] : _bits[i] & ~ids[i];
        foreach (int id in _firstArguments.Keys)
            if ((ids[id >> 6] >> id & 1) != 0) _firstArguments.Remove(id);      // allowed while enumerating
    }

    /// <summary>Allows a command with one more word as its first argument.</summary>
    /// <param name="word">In upper case.</param>
    public void AddFirstArgument(int id, byte[] word)
    {
        byte[][] words = _firstArguments.GetValueOrDefault(id) ?? [];
        if (!Array.Exists(words, each => each.AsSpan().SequenceEqual(word))) _firstArguments[id] = [.. words, word];
    }

    /// <summary>The words, in upper case, with which a command is allowed that is not allowed with any.</summary>
    public byte[][] FirstArgumentsOf(int id) => _firstArguments.GetValueOrDefault(id) ?? [];
}
