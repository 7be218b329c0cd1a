using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  a chunk:   | Argument 0 | Argument 1 | ... | bytes of these arguments | 8 bytes' room | the next command ...
//
//  Chunks double from 1 KB to 1 MB (from 128 KB on the C library takes them from the system, and gives them back when
// they are freed); a longer command has one of its own, a large one stays where it is. What is in a chunk never moves.

/// <summary>The commands of a transaction, copied, in the order in which they came.</summary>
/// <remarks>Threads: the session's own. Its memory is charged to the store. Arguments in blocks stay in their blocks,
/// which the queue takes over.</remarks>
internal sealed unsafe class CommandQueue(Store store) : IDisposable
{
    private const int FirstChunkBytes = 1024, ChunkBytesMax = 1024 * 1024, PieceCommands = 256;

    /// <summary>What parsers read beyond the end of an argument.</summary>
    private const int PaddingBytes = 8;

    // In pieces: one list would be copied whole each time it doubles, and stop everybody when it is collected.
    private readonly List<QueuedCommand[]> _commands = [];
    private readonly List<nint> _chunks = [];
    private readonly List<LargeCommand> _large = [];
    private byte* _next;
    private int _room, _chunkBytes = FirstChunkBytes;
    private long _charged, _chargedPlaces;

    public int Count { get; private set; }

    /// <summary>Arguments of all commands, their names included.</summary>
    public long Arguments { get; private set; }

    /// <summary>Whether no command changes its session.</summary>
    public bool SparesSession { get; private set; } = true;

    /// <summary>Bytes of the commands.</summary>
    public long Bytes { get; private set; }

    /// <summary>All flags of all commands.</summary>
    public CommandFlags Flags { get; private set; }

    public ref readonly QueuedCommand this[int index] => ref _commands[index / PieceCommands][index % PieceCommands];

    /// <summary>Bytes that a command would add to <see cref="Bytes"/>.</summary>
    /// <param name="large">The holder of a large command's arguments.</param>
    public static long BytesOf(Argument* items, int count, ReceivedBlocks? blocks, LargeCommand? large)
    {
        Debug.Assert(count > 0, "a command has a name");
        long bytes = PaddingBytes + sizeof(QueuedCommandSize) + (blocks?.Bytes ?? 0);
        if (large != null) return bytes + large.Bytes;
        bytes += (long)count * Argument.SizeBytes;
        for (int i = 0; i < count; i++)
            if (!items[i].IsInBlock) bytes += items[i].Length;
        return bytes;
    }

    /// <summary>Adds a command.</summary>
    /// <param name="blocks">Those of its large arguments; the queue owns them from now on.</param>
    /// <param name="large">The holder of a large command's arguments.</param>
    public void Add(Command command, Argument* items, int count, ReceivedBlocks? blocks, LargeCommand? large)
    {
        Debug.Assert(command.Handler != null, "what is queued can be called");
        Debug.Assert(large == null || large.Items == items, "a large command has its table to itself");
        Debug.Assert(blocks is not { IsFilling: true }, "what is queued has arrived");
        long bytes = BytesOf(items, count, blocks, large);
        if (large != null) Share(large);
        else items = Copy(items, count, bytes - (blocks?.Bytes ?? 0));
        if (Count == _commands.Count * PieceCommands) AddPiece();
        _commands[Count / PieceCommands][Count % PieceCommands] = new(command, items, count, blocks, large);
        Count++;
        Bytes += bytes;
        Arguments += count;
        SparesSession &= command.SparesSession;
        Flags |= command.Flags;
    }

    private void Share(LargeCommand large)
    {
        _large.Add(large);
        large.AddReference();
        store.Charge(large.Bytes);
        _charged += large.Bytes;
    }

    private Argument* Copy(Argument* items, int count, long bytes)
    {
        Debug.Assert(bytes < int.MaxValue - 7, "a command that is not large fits into a chunk");
        byte* text = Take((int)bytes);
        var copies = (Argument*)text;
        text += count * Argument.SizeBytes;
        for (int i = 0; i < count; i++)
        {
            copies[i] = items[i];
            if (items[i].IsInBlock) continue;
            copies[i].Pointer = text;
            items[i].Span.CopyTo(new Span<byte>(text, items[i].Length));
            text += items[i].Length;
        }

        *(ulong*)text = 0;
        Debug.Assert(text + PaddingBytes <= (byte*)copies + ((bytes + 7) & ~7L), "it is no longer than was taken");
        return copies;
    }

    /// <summary>Forgets all commands.</summary>
    public void Dispose()
    {
        for (int i = 0; i < Count; i++) this[i].Blocks?.Release(store);
        foreach (nint chunk in _chunks) NativeMemory.Free((void*)chunk);
        foreach (var large in _large) large.Release();
        _large.Clear();
        if (_commands.Count > 1) _commands.Clear();     // one huge transaction keeps nothing
        else if (_commands.Count > 0) Array.Clear(_commands[0], 0, Count);
        Count = 0;
        _chunks.Clear();
        _next = null;
        _room = 0;
        _chunkBytes = FirstChunkBytes;
        store.Charge(-_charged);
        store.ChargeManaged(-_chargedPlaces);
        _charged = _chargedPlaces = Bytes = Arguments = 0;
        Flags = CommandFlags.None;
        SparesSession = true;
    }

    private void AddPiece()
    {
        _commands.Add(new QueuedCommand[PieceCommands]);
        if (_commands.Count == 1) return;       // small, and kept by many sessions
        long bytes = (long)PieceCommands * sizeof(QueuedCommandSize);
        store.ChargeManaged(bytes);
        _chargedPlaces += bytes;
    }

    private byte* Take(int bytes)
    {
        bytes = (bytes + 7) & ~7;
        if (bytes <= _room)
        {
            byte* place = _next;
            _next += bytes;
            _room -= bytes;
            return place;
        }

        int chunkBytes = Math.Max(bytes, _chunkBytes);
        var chunk = (byte*)NativeMemory.Alloc((nuint)chunkBytes);
        _chunks.Add((nint)chunk);
        store.Charge(chunkBytes);
        _charged += chunkBytes;
        if (chunkBytes - bytes > _room)
        {
            _next = chunk + bytes;
            _room = chunkBytes - bytes;
        }

        _chunkBytes = Math.Min(_chunkBytes * 2, ChunkBytesMax);
        return chunk;
    }

    /// <summary>As large as a place in the list of commands.</summary>
    [StructLayout(LayoutKind.Sequential, Size = 40)]
    private struct QueuedCommandSize;
}

/// <summary>A command that waits for EXEC. Its checks are done.</summary>
internal readonly unsafe struct QueuedCommand(Command command, Argument* items, int count, ReceivedBlocks? blocks,
    LargeCommand? large)
{
    /// <summary>The row (of the subcommand, inside a container).</summary>
    public Command Command { get; } = command;

    public ReceivedBlocks? Blocks { get; } = blocks;

    /// <summary>The holder of a large command's arguments; work on them in steps takes a reference to it.</summary>
    public LargeCommand? Large { get; } = large;

    public Argument* Items { get; } = items;

    public int Count { get; } = count;
}
