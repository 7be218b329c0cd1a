using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Finds the records of the first keys of the commands of a <see cref="CommandWindow"/>, whose buckets have
/// been fetched, and prefetches them; what is inside of their values is for <see cref="MemberProbe"/>.</summary>
internal static unsafe class KeyProbe
{
    /// <summary>Leaves the hints in the slots.</summary>
    public static void Run(WindowSlot* slots, WindowSlot* end, Argument* items, StoreSession store)
    {
        HashIndex? index = null;
        int database = -1;      // none
        bool chained = false;
        int members = 0;
        for (var slot = slots; slot < end; slot++)
        {
            members |= slot->Kind.Member;
            if (slot->Kind.Key == 0) continue;
            if (slot->Database != database)
            {
                database = slot->Database;
                index = store.LookAheadIndex(database);
            }

            if (index == null) continue;
            ulong hint = index.Probe(slot->Hash);
            slot->Hint = hint;
            chained |= hint == HashIndex.InChain;
        }

        if (chained) ProbeChains(slots, end, store);
        if (members != 0) MemberProbe.Run(slots, end, items, store);
    }

    /// <summary>Looks once more for the few keys in a hundred that are not in their first bucket: the second bucket has
    /// arrived meanwhile.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ProbeChains(WindowSlot* slots, WindowSlot* end, StoreSession store)
    {
        for (var slot = slots; slot < end; slot++)
        {
            if (slot->Hint == HashIndex.InChain)
                slot->Hint = store.LookAheadIndex(slot->Database)!.ProbeChain(slot->Hash);
        }
    }
}
