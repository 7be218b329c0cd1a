using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   stripe 0             stripe 1                         stripe 1023
//   | 0 | h | 0 | ...    | h | h | 0 | 0 | ...    ...     null: the walk has passed it
//
//   The stripe of a hash is its lowest ten bits, reversed: the order in which the walk comes by.

/// <summary>Which keys of one database a snapshot needs no more of: it has them as they were at its instant, or they
/// were not there.</summary>
/// <remarks>
/// Keys are known by their hashes of 64 bits. Of two keys with one hash the second would be taken for the first and
/// lost from the snapshot: with ten million keys that are all changed while it is written once in 400,000 snapshots;
/// accepted, as the record's version that wraps is (docs/concurrency.md).
/// Threads: any. A hash is added by the owner of its key's record, and looked up by the next owner: the stripe's lock
/// is the innermost.
/// Cost: 11 to 23 bytes a key that was changed ahead of the walk, given back stripe by stripe as the walk passes.
/// </remarks>
internal sealed unsafe class KeptKeys(MemoryBudget budget) : IDisposable
{
    private const int StripeBits = 10, StripeCount = 1 << StripeBits, PlacesMin = 8;

    private readonly Stripe[] _stripes = NewStripes();
    private int _passed;

    /// <summary>Whether a key has been kept. After the walk has passed it, always.</summary>
    public bool Has(ulong hash)
    {
        Stripe stripe = _stripes[StripeOf(hash)];
        lock (stripe) return stripe.IsPassed || *stripe.PlaceOf(hash) != 0;
    }

    /// <summary>Notes that a key has been kept.</summary>
    /// <exception cref="OutOfMemoryException">The system has no memory for it; it is not noted.</exception>
    public void Add(ulong hash)
    {
        Stripe stripe = _stripes[StripeOf(hash)];
        lock (stripe)
        {
            if (stripe.IsPassed) return;
            if (stripe.Count * 4L >= stripe.Capacity * 3L) Grow(stripe);
            Debug.Assert(stripe.Count < stripe.Capacity, "a place is free, so that looking for one ends");
            ulong* place = stripe.PlaceOf(hash);
            if (*place != 0) return;
            *place = Stripe.Named(hash);
            stripe.Count++;
        }
    }

    /// <summary>The walk has passed all keys whose hashes, reversed, are below this one: theirs need not be known any
    /// more.</summary>
    public void Pass(ulong reversedHash)
    {
        int end = (int)(reversedHash >> (64 - StripeBits));
        for (; _passed < end; _passed++) Free(_stripes[_passed]);
    }

    public void Dispose()
    {
        foreach (Stripe stripe in _stripes) Free(stripe);
    }

    private static int StripeOf(ulong hash) => (int)(IndexCursor.ReverseBits(hash) >> (64 - StripeBits));

    private static Stripe[] NewStripes()
    {
        var stripes = new Stripe[StripeCount];
        for (int i = 0; i < StripeCount; i++) stripes[i] = new Stripe();
        return stripes;
    }

    private void Grow(Stripe stripe)
    {
        Debug.Assert(Monitor.IsEntered(stripe), "the stripe is locked");
        int before = stripe.Capacity, capacity = Math.Max(PlacesMin, before * 2);
        ulong* old = stripe.Places;
        var places = (ulong*)NativeMemory.AllocZeroed((nuint)capacity, sizeof(ulong));
        budget.ChargeExternal(sizeof(ulong) * (long)(capacity - before));
        stripe.Places = places;
        stripe.Capacity = capacity;
        for (int i = 0; i < before; i++)
            if (old[i] != 0) *stripe.PlaceOf(old[i]) = old[i];
        NativeMemory.Free(old);
    }

    private void Free(Stripe stripe)
    {
        lock (stripe)
        {
            stripe.IsPassed = true;
            NativeMemory.Free(stripe.Places);
            budget.ChargeExternal(-sizeof(ulong) * (long)stripe.Capacity);
            stripe.Places = null;
            stripe.Capacity = 0;
        }
    }

    private sealed class Stripe
    {
        private static readonly ulong* None = (ulong*)NativeMemory.AllocZeroed(1, sizeof(ulong));

        public ulong* Places;
        public int Capacity, Count;
        public bool IsPassed;

        /// <summary>A hash as it stands in a place: 0 is a free one.</summary>
        public static ulong Named(ulong hash) => hash == 0 ? 1 : hash;

        /// <summary>The place of a hash, or the free one where it would be.</summary>
        public ulong* PlaceOf(ulong hash)
        {
            if (Capacity == 0) return None;
            ulong name = Named(hash), mask = (ulong)Capacity - 1;
            // Not the bits that all of the stripe have in common. Ends: a quarter of the places is free.
            for (ulong i = (name >> StripeBits) & mask; ; i = (i + 1) & mask)
                if (Places[i] == 0 || Places[i] == name) return Places + i;
        }
    }
}
