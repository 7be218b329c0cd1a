using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Kv.Server.Execution;

//  lookup, open addressing, a power of two of at least 4 places a command:
//
//   key    name's first 8 bytes in upper case, the first one lowest    | mixed with the length -> place
//   place  { ulong key, int length, number, ... }                      longer names: compare the rest, too

/// <summary>The rows of commands, by name. Immutable.</summary>
internal sealed class CommandTable
{
    private const int NameBytesMax = 32;

    private readonly CommandEntry[] _entries;
    private readonly byte[][] _names;
    private readonly int _mask;
    private readonly ulong[]?[] _ofCategories = new ulong[32][];

    internal CommandTable(Command[] commands)
        : this(commands, static command => command.Name)
    {
    }

    /// <param name="nameOf">The upper-case name under which a command is found; empty: it is not.</param>
    private CommandTable(Command[] commands, Func<Command, string> nameOf)
    {
        All = commands;
        Reachable = [.. commands.Where(command => nameOf(command).Length > 0)];
        int size = 64;
        while (size < 4 * commands.Length) size *= 2;
        _mask = size - 1;
        _entries = new CommandEntry[size];
        _names = new byte[commands.Length][];
        int id = 0;
        for (int number = 0; number < commands.Length; number++)
        {
            commands[number].Number(ref id);
            _names[number] = Encoding.ASCII.GetBytes(nameOf(commands[number]));
            if (_names[number].Length > 0) Insert(commands[number], number);
        }

        Count = id;
    }

    /// <summary>The commands, without their subcommands, family by family.</summary>
    public Command[] All { get; }

    /// <summary>The commands that some name finds: all but those that rename-command has taken away.</summary>
    public Command[] Reachable { get; }

    /// <summary>Commands and subcommands; <see cref="Command.Id"/> is below.</summary>
    public int Count { get; }

    /// <summary>This table with other names for some commands; rows and numbers are the same.</summary>
    /// <param name="names">Old and new names, one after another; a new name may be empty: then nothing finds the
    /// command.</param>
    /// <param name="error">What is wrong with them, in the words of Redis.</param>
    public CommandTable? Rename(IEnumerable<(string Old, string New)> names, out string error)
    {
        var found = All.ToDictionary(command => command.Name, command => command);
        error = "";
        foreach (var (old, renamed) in names)
        {
            string name = renamed.ToUpperInvariant();
            if (!found.Remove(old.ToUpperInvariant(), out var command)) error = "No such command in rename-command";
            else if (name.Length == 0) continue;
            else if (name.Length > NameBytesMax || !Ascii.IsValid(name))
                error = $"A command's name has at most {NameBytesMax} characters of ASCII";
            else if (!found.TryAdd(name, command)) error = "Target command name already exists";
            if (error.Length > 0) return null;
        }

        var nameOf = found.ToDictionary(pair => pair.Value, pair => pair.Key);
        return new CommandTable(All, command => nameOf.GetValueOrDefault(command, ""));
    }

    /// <summary>The command of a name in any case; null when there is none.</summary>
    public unsafe Command? Find(ReadOnlySpan<byte> name)
    {
        // A copy with padding, as Find(byte*) loads a whole word.
        if (name.Length is 0 or > NameBytesMax) return null;
        byte* padded = stackalloc byte[NameBytesMax + 8];
        name.CopyTo(new Span<byte>(padded, NameBytesMax));
        ref readonly var entry = ref Find(padded, name.Length);
        return entry.IsNone ? null : All[entry.Number];
    }

    public Command? Find(string name) => Find(Encoding.Latin1.GetBytes(name));

    /// <summary>The commands that a user's rule for a category is about, a bit for each <see cref="Command.Id"/>: a
    /// command with all its subcommands, or those of them that are in the category.</summary>
    public ReadOnlySpan<ulong> OfCategory(AclCategories category)
    {
        // Volatile: whoever sees the array sees what is in it. Of two that find none both make the same.
        ref var known = ref _ofCategories[BitOperations.Log2((uint)category)];
        if (Volatile.Read(ref known) is { } ids) return ids;
        ids = new ulong[(Count + 63) / 64];
        foreach (var command in All)
        {
            bool isWhole = IsIn(command);
            if (isWhole) Add(command.Id);
            foreach (var subcommand in command.Subcommands)
                if (isWhole || IsIn(subcommand)) Add(subcommand.Id);
        }

        Volatile.Write(ref known, ids);
        return ids;

        bool IsIn(Command command) => (AclCategoryRules.Of(command) & category) != 0;

        void Add(int id) => ids[id >> 6] |= 1UL << id;
    }

    /// <summary>What the look-ahead needs of a name's command; none when there is no such command.</summary>
    /// <param name="name">Readable for 8 bytes.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal unsafe ref readonly CommandEntry Find(byte* name, int length)
    {
        ulong key = CommandName.Upper(*(ulong*)name & (ulong.MaxValue >> (64 - (8 * Math.Min(length, 8)))));
        ref var first = ref MemoryMarshal.GetArrayDataReference(_entries);
        for (int place = Place(key, length); ; place = (place + 1) & _mask)
        {
            // Ends: at least three of four places are empty.
            ref var entry = ref Unsafe.Add(ref first, place);
            if (entry.Key == key && entry.Length == length && (length <= 8 || SameTail(entry.Number, name, length)))
                return ref entry;
            if (entry.IsNone) return ref entry;
        }
    }

    private unsafe bool SameTail(int number, byte* name, int length) =>
        CommandName.Equal(_names[number], new ReadOnlySpan<byte>(name, length));

    private void Insert(Command command, int number)
    {
        byte[] name = _names[number];
        Debug.Assert(name.Length <= NameBytesMax && number < short.MaxValue,
            "a name is found by its bytes, and has a number");
        ulong key = CommandName.Head(name);
        int place = Place(key, name.Length);
        while (!_entries[place].IsNone) place = (place + 1) & _mask;
        _entries[place] = new CommandEntry
        {
            Key = key,
            Length = (byte)name.Length,
            NumberPlusOne = (short)(number + 1),
            FirstKey = (byte)command.FirstKey,
            Member = command.Member,
            MemberIs = command.MemberIs,
            EndsWindow = command.Handler == null || command.Subcommands.Length > 0
            || (command.Flags & CommandFlags.ChangesSession) != 0,
        };
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int Place(ulong key, int length) => (int)(((key + (uint)length) * 0x9E3779B97F4A7C15UL) >> 40) & _mask;
}

/// <summary>What the look-ahead needs of a command: 16 bytes, so that it never touches the row.</summary>
internal struct CommandEntry
{
    public ulong Key;
    public short NumberPlusOne;
    public byte Length;
    public byte FirstKey;

    /// <summary>Index of an argument that is a member of what is at the key; 0: none.</summary>
    public byte Member;

    public MemberKind MemberIs;

    /// <summary>Nothing is parsed ahead of the execution of this command.</summary>
    public bool EndsWindow;

    public readonly bool IsNone => NumberPlusOne == 0;

    /// <summary>Index in <see cref="CommandTable.All"/>.</summary>
    public readonly int Number => NumberPlusOne - 1;
}
