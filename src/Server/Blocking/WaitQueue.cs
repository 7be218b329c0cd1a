using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Blocking;

//   lists      a ⇄ b ⇄ c         a ring for each type, by its last place: after the last comes the first
//   sets       d
//   streams    e ⇄ f

/// <summary>Who waits for one key, in the order in which they came: for a list, a sorted set, a stream.</summary>
/// <remarks>Threads: any, with the queue's <see cref="Guard"/>. Joining and leaving are O(1).</remarks>
internal sealed class WaitQueue
{
    private WaitPlace? _lastList, _lastSet, _lastStream;

    /// <summary>Held by whoever serves the key: taken before any key of the store is locked, and never two at
    /// once.</summary>
    public Lock Guard { get; } = new();

    /// <summary>How many here end with an error when the key is deleted (<see cref="BlockedCommand.EndsWithoutKey"/>).
    /// Changed under the guard.</summary>
    // Volatile: read without the guard, too.
    public int EndingWithoutKey { get => Volatile.Read(ref field); set => Volatile.Write(ref field, value); }

    /// <summary>Whether a key of a type, or its absence, may end a wait here.</summary>
    // Without the guard: who joins after this look finds the key by itself.
    public bool MayBeServed(DataType type) => type is DataType.List or DataType.SortedSet or DataType.Stream
        || EndingWithoutKey != 0;

    /// <summary>The last of those who wait for a type. Its <see cref="WaitPlace.Next"/> is the first.</summary>
    public ref WaitPlace? Last(DataType type)
    {
        Debug.Assert(type is DataType.List or DataType.SortedSet or DataType.Stream, "nobody waits for this type");
        if (type == DataType.List) return ref _lastList;
        return ref type == DataType.SortedSet ? ref _lastSet : ref _lastStream;
    }

    /// <summary>Adds a place after the others of its type.</summary>
    public void Add(WaitPlace place)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the links are under the queue's lock");
        Debug.Assert(place.Queue == this && place.Next == null, "a place joins its own queue, once");
        ref WaitPlace? last = ref Last(place.Type);
        if (last == null)
        {
            place.Next = place.Previous = place;
        }
        else
        {
            place.Next = last.Next;
            place.Previous = last;
            last.Next!.Previous = place;
            last.Next = place;
        }

        last = place;
    }

    /// <summary>Takes a place out of the queue, unless it is out already.</summary>
    public void Remove(WaitPlace place)
    {
        Debug.Assert(Guard.IsHeldByCurrentThread, "the links are under the queue's lock");
        if (place.Next == null) return;
        Debug.Assert(place.Queue == this, "a place leaves its own queue");
        ref WaitPlace? last = ref Last(place.Type);
        Debug.Assert(last != null, "the queue of a place is not empty");
        if (place.Next == place) last = null;
        else if (last == place) last = place.Previous;
        place.Previous!.Next = place.Next;
        place.Next.Previous = place.Previous;
        place.Next = place.Previous = null;
    }
}
