using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Prefetches what the commands of a <see cref="CommandWindow"/> will look at inside their values: members,
/// ends, bits, registers.</summary>
/// <remarks>
/// Runs after the probe of the keys, whose hints it follows. Each step is made for all commands before the next, so
/// that they wait for memory together. What it finds is for the look-ahead alone.
/// </remarks>
internal static unsafe class MemberProbe
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run(WindowSlot* slots, WindowSlot* end, Argument* items, StoreSession store)
    {
        bool anyMember = false, anyEnd = false;
        for (var slot = slots; slot < end; slot++)
        {
            slot->Region = null;
            if (slot->Kind.Member == 0) continue;
            if (slot->Kind.MemberIs is MemberKind.Bit or MemberKind.Element)
            {
                ProbePlace(slot, items, store);
                continue;
            }

            slot->Region = store.LookAhead.Region(slot->Hint);
            bool isMember = slot->Kind.MemberIs == MemberKind.Item;
            anyMember |= isMember & slot->Region != null;
            anyEnd |= !isMember & slot->Region != null;
        }

        if (anyMember) ProbeMembers(slots, end, items, store);
        if (anyEnd) ProbeEnds(slots, end);
    }

    /// <summary>Prefetches, for members of large collections, the bucket and then the member.</summary>
    private static void ProbeMembers(WindowSlot* slots, WindowSlot* end, Argument* items, StoreSession store)
    {
        for (var slot = slots; slot < end; slot++)
        {
            if (slot->Region == null || slot->Kind.MemberIs != MemberKind.Item) continue;
            Argument* member = items + slot->First + slot->Kind.Member;
            slot->MemberHash = store.HashKey(member->Pointer, member->Length);
            slot->Place = MemberTable.PrefetchBucket(slot->Region, slot->MemberHash);
        }

        for (var slot = slots; slot < end; slot++)
        {
            if (slot->Region == null || slot->Kind.MemberIs != MemberKind.Item) continue;
            if (slot->Place != null) MemberTable.PrefetchItem(slot->Region, slot->Place, slot->MemberHash);
        }
    }

    /// <summary>Prefetches, for ends of large lists, the leaf's name, the leaf, its last slot, the end of its
    /// elements.</summary>
    private static void ProbeEnds(WindowSlot* slots, WindowSlot* end)
    {
        for (var slot = slots; slot < end; slot++)
            if (IsEnd(slot))
                slot->Place = ListLookAhead.PrefetchName(slot->Region, slot->Kind.MemberIs == MemberKind.LeftEnd);

        for (var slot = slots; slot < end; slot++)
            if (IsEnd(slot) && slot->Place != null) slot->Place = ListLookAhead.PrefetchLeaf(slot->Region, slot->Place);

        for (var slot = slots; slot < end; slot++)
            if (IsEnd(slot) && slot->Place != null) slot->Slot = ListLookAhead.PrefetchSlot(slot->Region, slot->Place);

        for (var slot = slots; slot < end; slot++)
            if (IsEnd(slot) && slot->Place != null && slot->Slot != null)
                ListLookAhead.PrefetchElement(slot->Place, slot->Slot);
    }

    private static bool IsEnd(WindowSlot* slot) => slot->Region != null && slot->Kind.MemberIs >= MemberKind.LeftEnd;

    /// <summary>Prefetches, for a bit or a register, the byte of the string that the command will look at.</summary>
    private static void ProbePlace(WindowSlot* slot, Argument* items, StoreSession store)
    {
        ReadOnlySpan<byte> member = items[slot->First + slot->Kind.Member].Span;
        long offset;
        if (slot->Kind.MemberIs == MemberKind.Element)
            offset = HyperLogLog.HeaderBytes + DenseRegisters.PlaceOf(HyperLogLog.Observe(member).Register);
        else if (NumberText.TryParseInt64(member, out long bit) && bit >= 0) offset = bit >> 3;
        else return;
        store.LookAhead.PrefetchByte(slot->Hint, offset);
    }
}
