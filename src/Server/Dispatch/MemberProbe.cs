using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>Asks ahead for what the commands of a <see cref="CommandWindow"/> will look at inside their values: members, bits, registers.</summary>
/// <remarks>Behind the probe of the keys, whose hints it follows. What it finds is for the look-ahead alone.</remarks>
internal static unsafe class MemberProbe
{
    /// <summary>For members of large collections, each step for all of them before the next, so that their waits for memory are one.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run(WindowSlot* slots, WindowSlot* end, Argument* items, StoreSession store)
    {
        bool any = false;
        for (var slot = slots; slot < end; slot++)
        {
            slot->Region = null;
            if (slot->Kind.Member == 0) continue;
            if (slot->Kind.MemberIs != MemberKind.Item)
            {
                ProbePlace(slot, items, store);
                continue;
            }

            slot->Region = store.LookAhead.Region(slot->Hint);
            any |= slot->Region != null;
        }

        if (!any) return;
        for (var slot = slots; slot < end; slot++)
        {
            if (slot->Region == null) continue;
            Argument* member = items + slot->First + slot->Kind.Member;
            slot->MemberHash = store.HashKey(member->Pointer, member->Length);
            slot->Bucket = MemberTable.PrefetchBucket(slot->Region, slot->MemberHash);
        }

        for (var slot = slots; slot < end; slot++)
            if (slot->Region != null && slot->Bucket != null) MemberTable.PrefetchItem(slot->Region, slot->Bucket, slot->MemberHash);
    }

    /// <summary>For a bit or a register: the one byte of a string that the command will look at.</summary>
    private static void ProbePlace(WindowSlot* slot, Argument* items, StoreSession store)
    {
        ReadOnlySpan<byte> member = items[slot->First + slot->Kind.Member].Span;
        long offset;
        if (slot->Kind.MemberIs == MemberKind.Element) offset = HyperLogLog.HeaderBytes + DenseRegisters.PlaceOf(HyperLogLog.Observe(member).Register);
        else if (NumberText.TryParseInt64(member, out long bit) && bit >= 0) offset = bit >> 3;
        else return;
        store.LookAhead.PrefetchByte(slot->Hint, offset);
    }
}
