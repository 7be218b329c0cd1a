using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Blocking;

//   lists      a ⇄ b ⇄ c         the last one of each, in a ring: behind the last comes the first
//   sets       d
//   streams    e ⇄ f

/// <summary>Who waits at one key, in the order in which they came: those for a list, a sorted set, a stream.</summary>
/// <remarks>Threads: any, with the queue's <see cref="Guard"/>. Joining and leaving are O(1).</remarks>
internal sealed class WaitQueue
{
    private WaitPlace? _lastList, _lastSet, _lastStream;

    /// <summary>Held by who serves the key: before any key of the store, and never two at once.</summary>
    public Lock Guard { get; } = new();

    /// <summary>How many here also learn that the key has gone (<see cref="BlockedCommand.EndsWithoutKey"/>). With the
    /// guard.</summary>
    public int EndingWithoutKey { get; set; }

    /// <summary>The last one of those who wait for a type. Its <see cref="WaitPlace.Next"/> is the first.</summary>
    public ref WaitPlace? Last(DataType type)
    {
        Debug.Assert(type is DataType.List or DataType.SortedSet or DataType.Stream, "nobody waits for this type");
        if (type == DataType.List) return ref _lastList;
        return ref type == DataType.SortedSet ? ref _lastSet : ref _lastStream;
    }

    /// <summary>Adds one behind the others.</summary>
    public void Add(WaitPlace place)
    {
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

    /// <summary>Takes one out, unless it is out.</summary>
    public void Remove(WaitPlace place)
    {
        if (place.Next == null) return;
        ref WaitPlace? last = ref Last(place.Type);
        if (place.Next == place) last = null;
        else if (last == place) last = place.Previous;
        place.Previous!.Next = place.Next;
        place.Next.Previous = place.Previous;
        place.Next = place.Previous = null;
    }
}
