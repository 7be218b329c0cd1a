using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Server.Effects;

//  A chunk:    | entry | entry | ...       one after another, each whole in its chunk
//  An entry:   | ticket 64 | bytes 32 | flags 32 | effects, `bytes` of them (EffectBytes) |

/// <summary>What the commands of one session of the store have done, until the feed takes it.</summary>
/// <remarks>
/// Threads: one writes, that of the session; one reads, <c>kv-feed</c>. An entry is published by one release store of
/// the chunk's end. Cost: no locked instruction, but once a chunk.
/// </remarks>
internal sealed class FeedBuffer(Feed feed)
{
    /// <summary>An entry's effects stand between MULTI and EXEC.</summary>
    public const int IsWhole = 1;

    /// <summary>A chunk, but for that of a larger entry.</summary>
    public const int ChunkBytes = 64 * 1024;

    private const int EntryHead = 16;

    private Chunk? _head, _tail;
    private int _end;

    /// <summary>Changes of keys that its session has made while somebody asked.</summary>
    // Written by the session's thread, read by any: a late one is no harm.
    public long Changes;

    /// <summary>Begins an entry.</summary>
    /// <param name="bytes">Of its effects.</param>
    /// <returns>Where they go, before <see cref="End"/>.</returns>
    public Span<byte> Begin(int bytes)
    {
        int needed = checked(EntryHead + bytes);
        if (_tail == null || _tail.Bytes.Length - _tail.Written < needed) BeginChunk(needed);
        _end = _tail!.Written + needed;
        return _tail.Bytes.AsSpan(_tail.Written + EntryHead, bytes);
    }

    /// <summary>Publishes it.</summary>
    public void End(long ticket, int flags)
    {
        var chunk = _tail!;
        ref byte head = ref chunk.Bytes[chunk.Written];
        Debug.Assert(_end >= chunk.Written + EntryHead, "an entry was begun");
        Unsafe.WriteUnaligned(ref head, ticket);
        Unsafe.WriteUnaligned(ref Unsafe.Add(ref head, 8), _end - chunk.Written - EntryHead);
        Unsafe.WriteUnaligned(ref Unsafe.Add(ref head, 12), flags);
        Volatile.Write(ref chunk.Written, _end);        // release: the entry before its end
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
            var chunk = _read ??= Volatile.Read(ref _head);
            // Ends: with the last chunk.
            while (chunk != null)
            {
                if (chunk.Read < Volatile.Read(ref chunk.Written))
                    return Unsafe.ReadUnaligned<long>(ref chunk.Bytes[chunk.Read]);
                // Acquire: with the next one there, the end of this one is final; it may have come since the look.
                if (Volatile.Read(ref chunk.Next) is not { } next)
                {
                    FreeIfFull(chunk);
                    return 0;
                }

                if (chunk.Read < Volatile.Read(ref chunk.Written)) continue;
                feed.FreeChunk(chunk.Bytes);
                _read = chunk = next;
            }

            return 0;
        }
    }

    /// <summary>Lets go of a chunk that has been read to its end: nothing more can come in it, and a large entry would
    /// else count until its session writes again, which may wait for just that.</summary>
    // The writer looks at its length only, of which no room is left in either array.
    private void FreeIfFull(Chunk chunk)
    {
        if (chunk.Bytes.Length == 0 || chunk.Read != chunk.Bytes.Length) return;
        feed.FreeChunk(chunk.Bytes);
        chunk.Bytes = [];
    }

    private Chunk? _read;

    /// <summary>Takes the first entry.</summary>
    /// <returns>Its effects, until the next call of <see cref="FirstTicket"/>.</returns>
    public ReadOnlySpan<byte> Take(out int flags)
    {
        var chunk = _read!;
        Debug.Assert(chunk.Read < Volatile.Read(ref chunk.Written), "there is one");
        ref byte head = ref chunk.Bytes[chunk.Read];
        int bytes = Unsafe.ReadUnaligned<int>(ref Unsafe.Add(ref head, 8));
        flags = Unsafe.ReadUnaligned<int>(ref Unsafe.Add(ref head, 12));
        int start = chunk.Read + EntryHead;
        chunk.Read = start + bytes;
        return chunk.Bytes.AsSpan(start, bytes);
    }

    private sealed class Chunk(byte[] bytes)
    {
        /// <summary>Empty once it was full, and read.</summary>
        public byte[] Bytes = bytes;
        public Chunk? Next;
        public int Written;

        /// <summary>How far the reader is.</summary>
        public int Read;
    }
}
