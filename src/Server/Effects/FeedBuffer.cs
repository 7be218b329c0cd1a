using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Server.Effects;

//  A chunk:    | run | run | ...           one after another, each begins at a multiple of 8
//  A run:      | ticket 64 | database 32 | kind 32 | bytes 32 | entries 32 | `bytes` bytes of entries |
//
//   Commands   entries of tickets that follow one another, each one command in RESP, all for one database
//   Effects    one entry: effects as EffectBytes has them, none or more
//   Whole      the same, between MULTI and EXEC
//
//  While no other session writes, a turn of thousands of commands is a few runs, which kv-feed takes as they are.

/// <summary>What is in a run of a <see cref="FeedBuffer"/>.</summary>
internal enum FeedRunKind
{
    Commands,
    Effects,
    Whole,
}

/// <summary>What the commands of one session of the store have done, until the feed takes it.</summary>
/// <remarks>
/// Threads: one writes, that of the session; one reads, <c>kv-feed</c>. An entry is published by one release store: of
/// the length and count of its run, or, where it begins one, of where the chunk's last run is. Cost: no locked
/// instruction, but once a chunk.
/// </remarks>
internal sealed class FeedBuffer(Feed feed)
{
    /// <summary>A chunk, but for that of a larger entry.</summary>
    public const int ChunkBytes = 64 * 1024;

    private const int DatabaseAt = 8, KindAt = 12, SizeAt = 16, RunHead = 24, None = -1;

    // The writer's: the last run, and where the next entry of it goes.
    private Chunk? _head, _tail;
    private long _next;
    private int _run, _end, _bytes, _entries, _database;
    private bool _joins, _isOfCommands;

    // The reader's: the run that it is in, and how much of that it has taken.
    private Chunk? _read;
    private int _readRun, _takenBytes, _takenEntries;

    /// <summary>Changes of keys that its session has made while somebody asked.</summary>
    // Written by the session's thread, read by any: a late one is no harm.
    public long Changes;

    /// <summary>Begins an entry.</summary>
    /// <param name="ticket">Later than that of the entry before.</param>
    /// <param name="database">Whose its command is; of effects each says so itself.</param>
    /// <param name="bytes">How long it is.</param>
    /// <returns>Where it goes, before <see cref="End"/>.</returns>
    public Span<byte> Begin(long ticket, FeedRunKind kind, int database, int bytes)
    {
        Debug.Assert(kind != FeedRunKind.Commands || bytes > 0, "a command has a name");
        _joins = ticket == _next && kind == FeedRunKind.Commands && _isOfCommands && database == _database
            && bytes < _tail!.Bytes.Length - _end;
        if (!_joins) BeginRun(ticket, kind, database, bytes);
        _next = ticket + 1;
        return _tail!.Bytes.AsSpan(_end, bytes);
    }

    /// <summary>Publishes it.</summary>
    /// <param name="bytes">As long as it was begun.</param>
    public void End(int bytes)
    {
        var chunk = _tail!;
        _end += bytes;
        _bytes += bytes;
        _entries++;
        // Aligned, so its two halves change at once. Release: the entry before its length.
        Volatile.Write(ref Unsafe.As<byte, ulong>(ref chunk.Bytes[_run + SizeAt]), Size(_bytes, _entries));
        if (!_joins) Volatile.Write(ref chunk.LastRun, _run);       // release: the run before its place
    }

    /// <summary>Adds an entry of several effects, or none.</summary>
    public void Add(long ticket, EffectBytes effects, bool isWhole)
    {
        int bytes = effects.Span.Length;
        var kind = isWhole ? FeedRunKind.Whole : FeedRunKind.Effects;
        effects.Span.CopyTo(Begin(ticket, kind, EffectBytes.NoDatabase, bytes));
        End(bytes);
    }

    private void BeginRun(long ticket, FeedRunKind kind, int database, int bytes)
    {
        int needed = checked(RunHead + bytes);
        int start = (_end + 7) & ~7;
        if (_tail == null || needed > _tail.Bytes.Length - start)
        {
            BeginChunk(needed);
            start = 0;
        }

        ref byte head = ref _tail!.Bytes[start];
        Unsafe.WriteUnaligned(ref head, ticket);
        Unsafe.WriteUnaligned(ref Unsafe.Add(ref head, DatabaseAt), database);
        Unsafe.WriteUnaligned(ref Unsafe.Add(ref head, KindAt), (int)kind);
        (_run, _end, _bytes, _entries) = (start, start + RunHead, 0, 0);
        (_database, _isOfCommands) = (database, kind == FeedRunKind.Commands);
    }

    private void BeginChunk(int needed)
    {
        var chunk = new Chunk(feed.NewChunk(Math.Max(needed, ChunkBytes)));
        // Release: what was written to the chunk of before is there before the next one is seen.
        if (_tail == null) Volatile.Write(ref _head, chunk);
        else Volatile.Write(ref _tail.Next, chunk);
        _tail = chunk;
    }

    /// <summary>The ticket of the first entry that was not taken; 0: there is none. By the reader, as all that
    /// follows.</summary>
    public long FirstTicket
    {
        get
        {
            var chunk = _read ??= TakeHead();
            // Ends: each round gets to the next run, the next chunk, or to the end of what is there.
            while (chunk != null)
            {
                if (HasMore(chunk))
                    return Unsafe.ReadUnaligned<long>(ref chunk.Bytes[_readRun]) + _takenEntries;
                // Acquire: with something later there, this run is final; it may have grown since the look.
                var next = Volatile.Read(ref chunk.Next);
                bool hasLaterRun = Volatile.Read(ref chunk.LastRun) > _readRun;
                if (next == null && !hasLaterRun)
                {
                    FreeIfFull(chunk);
                    return 0;
                }

                if (HasMore(chunk)) continue;
                if (hasLaterRun)
                {
                    NextRun(TakenEnd);
                    continue;
                }

                feed.FreeChunk(chunk.Bytes);
                _read = chunk = next;
                NextRun(0);
            }

            return 0;
        }
    }

    /// <summary>The first chunk, which the buffer does not refer to any more: all later ones hang on it, those that
    /// were read, too.</summary>
    // The writer has written it once, before its first entry, and never looks at it.
    private Chunk? TakeHead()
    {
        var head = Volatile.Read(ref _head);
        if (head != null) _head = null;
        return head;
    }

    /// <summary>Takes the first entry, and those of its run that are there, too, up to a mark.</summary>
    /// <param name="ticket">That of the entry before.</param>
    /// <param name="mark">The last ticket that may be taken.</param>
    /// <param name="entries">How many they are; 0: the mark is at <paramref name="ticket"/>.</param>
    /// <param name="database">Whose commands they are; of effects each says so itself.</param>
    /// <returns>The entries, until the next call of <see cref="FirstTicket"/>.</returns>
    public ReadOnlySpan<byte> Take(long ticket, in long mark, out int entries, out FeedRunKind kind, out int database)
    {
        var chunk = _read!;
        Debug.Assert(HasMore(chunk), "there is one");
        ulong size = SizeOf(chunk, _readRun);
        // Acquire: the entries before the mark. Who sees an entry of after a pause sees the mark that was set in it.
        // A mark that was read earlier may be of before the pause: then entries beyond the new one would be taken.
        long most = Volatile.Read(in mark) - ticket;
        Debug.Assert(most >= 0, "nothing is taken beyond a mark");
        database = Unsafe.ReadUnaligned<int>(ref chunk.Bytes[_readRun + DatabaseAt]);
        kind = (FeedRunKind)Unsafe.ReadUnaligned<int>(ref chunk.Bytes[_readRun + KindAt]);
        entries = EntriesOf(size) - _takenEntries;
        var taken = chunk.Bytes.AsSpan(_readRun + RunHead + _takenBytes, BytesOf(size) - _takenBytes);
        if (entries > most)
        {
            Debug.Assert(kind == FeedRunKind.Commands || most == 0, "others are one to a run");
            entries = (int)most;
            taken = taken[..LengthOf(taken, entries)];
        }

        _takenBytes += taken.Length;
        _takenEntries += entries;
        return taken;
    }

    /// <summary>Lets go of a chunk that has been read to its end: nothing more can come in it, and a large entry would
    /// else count until its session writes again, which may wait for just that.</summary>
    // The writer looks at its length only, of which no room is left in either array: an entry joins a run only where
    // that does not fill the chunk.
    private void FreeIfFull(Chunk chunk)
    {
        if (TakenEnd != chunk.Bytes.Length || HasMore(chunk)) return;
        feed.FreeChunk(chunk.Bytes);
        chunk.Bytes = [];
        NextRun(TakenEnd);
    }

    /// <summary>Where what was taken of the run ends.</summary>
    private int TakenEnd => _readRun + RunHead + _takenBytes;

    /// <summary>Whether something of the run can be seen that was not taken.</summary>
    private bool HasMore(Chunk chunk) =>
        Volatile.Read(ref chunk.LastRun) >= _readRun && EntriesOf(SizeOf(chunk, _readRun)) > _takenEntries;

    /// <summary>Bytes of the first of several commands.</summary>
    private static int LengthOf(ReadOnlySpan<byte> commands, int count)
    {
        int at = 0;
        for (; count > 0; count--)
        {
            var frame = new CommandFrame(commands[at..]);
            var status = frame.Read();
            Debug.Assert(status == CommandFrameStatus.Whole, "each entry is one command");
            at += frame.Length;
        }

        return at;
    }

    private void NextRun(int end) => (_readRun, _takenBytes, _takenEntries) = ((end + 7) & ~7, 0, 0);

    private static ulong Size(int bytes, int entries) => (uint)bytes | ((ulong)(uint)entries << 32);

    private static int BytesOf(ulong size) => (int)size;

    private static int EntriesOf(ulong size) => (int)(size >> 32);

    private static ulong SizeOf(Chunk chunk, int run) =>
        Volatile.Read(ref Unsafe.As<byte, ulong>(ref chunk.Bytes[run + SizeAt]));

    private sealed class Chunk(byte[] bytes)
    {
        /// <summary>Empty once it was full, and read.</summary>
        public byte[] Bytes = bytes;
        public Chunk? Next;

        /// <summary>Where its last run begins.</summary>
        public int LastRun = None;
    }
}
