using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

/// <summary>A bucket with the overflow buckets that hang on it, as the one who has it latched rewrites it.</summary>
internal sealed unsafe class BucketChains(OverflowBuckets overflow, DeferredActions deferred)
{
    public int Count(ulong* bucket, ulong control)
    {
        int count = 0;
        while (true)
        {
            count += BitOperations.PopCount(HashBucket.Used(bucket));
            uint next = HashBucket.OverflowOf(control);
            if (next == 0) return count;
            bucket = overflow[next];
            control = bucket[HashBucket.ControlIndex];
        }
    }

    /// <returns>How many entries there are.</returns>
    public int Gather(ulong* bucket, ulong control, Span<ulong> entries)
    {
        int count = 0;
        while (true)
        {
            for (uint used = HashBucket.Used(bucket); used != 0;)
                entries[count++] = bucket[HashBucket.TakeLowest(ref used)];
            uint next = HashBucket.OverflowOf(control);
            if (next == 0) return count;
            bucket = overflow[next];
            control = bucket[HashBucket.ControlIndex];
        }
    }

    /// <summary>Takes the overflow buckets that this many entries need, linked.</summary>
    /// <param name="entries">All entries of the chain.</param>
    /// <param name="first">The first overflow bucket; 0: the home bucket is enough.</param>
    /// <returns>False when there is no memory: none is taken.</returns>
    public bool TryTake(int entries, out uint first)
    {
        first = 0;
        for (int left = entries - HashBucket.Entries; left > 0; left -= HashBucket.Entries)
        {
            uint number = overflow.TryTake();
            if (number == 0)
            {
                Return(first);
                return false;
            }

            overflow[number][HashBucket.ControlIndex] = first;
            first = number;
        }

        return true;
    }

    /// <summary>Writes the entries of a bucket and of the overflow buckets that were taken for it.</summary>
    public void Fill(ulong* bucket, uint first, ReadOnlySpan<ulong> entries)
    {
        int done = 0;
        while (true)
        {
            for (int i = 0; i < HashBucket.Entries; i++)
                Volatile.Write(ref bucket[i], done < entries.Length ? entries[done++] : 0);
            if (first == 0) break;
            bucket = overflow[first];
            first = HashBucket.OverflowOf(bucket[HashBucket.ControlIndex]);
        }

        Debug.Assert(done == entries.Length, "the buckets have room for all entries");
    }

    /// <summary>Takes back a chain that nobody got to know.</summary>
    public void Return(uint number)
    {
        while (number != 0)
        {
            uint next = HashBucket.OverflowOf(overflow[number][HashBucket.ControlIndex]);
            overflow.Return(number);
            number = next;
        }
    }

    /// <summary>Takes back a chain that has been unlinked: readers may still walk it, so it is used again only after
    /// an epoch.</summary>
    public void Retire(uint number)
    {
        while (number != 0)
        {
            uint next = HashBucket.OverflowOf(overflow[number][HashBucket.ControlIndex]);
            overflow.Retire(number, deferred);
            number = next;
        }
    }
}
