using System.Runtime.CompilerServices;
using System.Text;
using Kv.Server.Commands;

namespace Kv.Server.Dispatch;

//  lookup, open addressing, a power of two of at least 4 places a command:
//
//   key    name's first 8 bytes in upper case, the first one lowest    | mixed with the length -> place
//   place  { ulong key, int length, Command }                          longer names: compare the rest, too

/// <summary>The rows of all commands, by name. Immutable and the same for every server of the process.</summary>
internal sealed class CommandTable
{
    /// <summary>The families: one line each.</summary>
    private static readonly Command[][] Families =
    [
        CommandCommands.Table,
        StringCommands.Table,
        CounterCommands.Table,
        ExpiryCommands.Table,
    ];

    /// <summary>The one table.</summary>
    public static CommandTable Instance { get; } = new([.. Families.SelectMany(family => family)]);

    private readonly Entry[] _entries;
    private readonly int _mask;

    internal CommandTable(Command[] commands)
    {
        All = commands;
        int size = 64;
        while (size < 4 * commands.Length) size *= 2;
        _mask = size - 1;
        _entries = new Entry[size];
        int id = 0;
        foreach (var command in commands)
        {
            command.Number(ref id);
            Insert(command);
        }

        Count = id;
    }

    /// <summary>The commands, without their subcommands, family by family.</summary>
    public Command[] All { get; }

    /// <summary>Commands and subcommands; <see cref="Command.Id"/> is below.</summary>
    public int Count { get; }

    /// <summary>The command of a name in any case; null when there is none.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Command? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length is 0 or > 32) return null;
        ulong key = CommandName.Head(name);
        for (int place = Place(key, name.Length); ; place = (place + 1) & _mask)
        {
            // Ends: at least three of four places are empty.
            ref readonly var entry = ref _entries[place];
            if (entry.Key == key && entry.Length == name.Length && (name.Length <= 8 || CommandName.Equal(entry.Name, name))) return entry.Command;
            if (entry.Command == null) return null;
        }
    }

    public Command? Find(string name) => Find(Encoding.Latin1.GetBytes(name));

    private void Insert(Command command)
    {
        byte[] name = Encoding.ASCII.GetBytes(command.Name);
        ulong key = CommandName.Head(name);
        int place = Place(key, name.Length);
        while (_entries[place].Command != null) place = (place + 1) & _mask;
        _entries[place] = new Entry { Key = key, Length = name.Length, Name = name, Command = command };
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private int Place(ulong key, int length) => (int)(((key + (uint)length) * 0x9E3779B97F4A7C15UL) >> 40) & _mask;

    private struct Entry
    {
        public ulong Key;
        public int Length;
        public byte[] Name;
        public Command? Command;
    }
}
