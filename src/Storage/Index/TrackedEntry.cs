using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  entry, native:   | key bytes 32 | readers 32 | room 32 | (nothing) 32 | reader 64 | ... | key |
//                                    used         places                   room places, the used ones in order

/// <summary>A key of <see cref="TrackedKeys"/>, and the numbers of those who have read it.</summary>
/// <remarks>Threads: those of its owner: the stripe's lock, or who has taken it out.</remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct TrackedEntry
{
    public int KeyBytes;
    public int Count;
    public int Room;
    private readonly int _unused;

    /// <summary>What an entry takes in memory.</summary>
    public static long SizeOf(int keyBytes, int room) => sizeof(TrackedEntry) + ((long)room * sizeof(long)) + keyBytes;

    /// <summary>What this one takes.</summary>
    public readonly long Bytes => SizeOf(KeyBytes, Room);

    public static Span<long> ReadersOf(TrackedEntry* entry) => new(entry + 1, entry->Count);

    public static ReadOnlySpan<byte> KeyOf(TrackedEntry* entry) =>
        new((long*)(entry + 1) + entry->Room, entry->KeyBytes);

    /// <summary>Makes an entry with one reader. The caller owns it.</summary>
    public static TrackedEntry* New(ReadOnlySpan<byte> key, long reader)
    {
        var entry = Allocate(key, room: 1);
        entry->Count = 1;
        *(long*)(entry + 1) = reader;
        return entry;
    }

    /// <summary>Makes an entry with twice the room, and the same readers. The caller owns both.</summary>
    public static TrackedEntry* Grow(TrackedEntry* entry)
    {
        var grown = Allocate(KeyOf(entry), checked(entry->Room * 2));
        grown->Count = entry->Count;
        ReadersOf(entry).CopyTo(ReadersOf(grown));
        return grown;
    }

    /// <summary>Adds a reader that is not there. There is room.</summary>
    public static void Insert(TrackedEntry* entry, long reader)
    {
        Debug.Assert(entry->Count < entry->Room, "there is room for one more");
        int at = ~ReadersOf(entry).BinarySearch(reader);
        Debug.Assert(at >= 0, "a reader is there once");
        entry->Count++;
        var readers = ReadersOf(entry);
        readers[at..^1].CopyTo(readers[(at + 1)..]);
        readers[at] = reader;
    }

    /// <summary>Removes all readers but some.</summary>
    /// <returns>How many were removed.</returns>
    public static int Keep(TrackedEntry* entry, Func<long, bool> isKept)
    {
        var readers = ReadersOf(entry);
        int kept = 0;
        foreach (long reader in readers)
            if (isKept(reader)) readers[kept++] = reader;
        entry->Count = kept;
        return readers.Length - kept;
    }

    private static TrackedEntry* Allocate(ReadOnlySpan<byte> key, int room)
    {
        var entry = (TrackedEntry*)NativeMemory.Alloc((nuint)SizeOf(key.Length, room));
        *entry = new TrackedEntry { KeyBytes = key.Length, Room = room };
        key.CopyTo(new Span<byte>((long*)(entry + 1) + room, key.Length));
        return entry;
    }
}
