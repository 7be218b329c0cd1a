using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  slot i, 64 bytes of its own:  | announced epoch 64 | unused |        0 = offline: holds nothing
//
// Quiescent-state based. A session writes the global epoch into its slot when it holds no address of the store (at the
// top of a turn), and 0 before it sleeps. What is unlinked at epoch E is free once every online slot shows more than E.
//
// Announcing needs no fence: the session read the global epoch first (acquire), so it sees all that was unlinked before
// that number was reached, and its later reads of the index cannot find it. Coming online does: the slot's store must
// be visible before the first read of the index, or a scan that saw 0 could free what that read finds (store, load on
// both sides: each side has a full fence between its two, so at least one sees the other).

/// <summary>Who may still hold what: one announced epoch a session.</summary>
internal sealed unsafe class EpochTable : IDisposable
{
    /// <summary>No session's slot.</summary>
    public const int NoSlot = -1;

    private const int SlotBytes = 64;

    private readonly byte* _slots;
    private readonly int _slotsMax;
    private ulong _global = 1;
    private int _slotsUsed;     // slots from here on have never been online

    public EpochTable(int slotsMax)
    {
        Debug.Assert(slotsMax > 0, "there is room for a session");
        _slotsMax = slotsMax;
        _slots = (byte*)NativeMemory.AlignedAlloc((nuint)slotsMax * SlotBytes, SlotBytes);
        NativeMemory.Clear(_slots, (nuint)slotsMax * SlotBytes);
    }

    /// <summary>The epoch that things unlinked now belong to. Call with a full fence since the unlinking.</summary>
    public ulong Current => Volatile.Read(ref _global);

    /// <summary>The caller, online already, holds no address of the store at this moment.</summary>
    public void Announce(int slot)
    {
        Debug.Assert(IsOnline(slot), "only who is online announces: coming online takes a fence");
        Volatile.Write(ref Slot(slot), Volatile.Read(ref _global));
    }

    /// <summary>Online from here on.</summary>
    public void Enter(int slot)
    {
        Debug.Assert((uint)slot < (uint)_slotsMax, "it is a session's");
        if (slot >= Volatile.Read(ref _slotsUsed)) Use(slot);
        Volatile.Write(ref Slot(slot), Volatile.Read(ref _global));
        Interlocked.MemoryBarrier();    // the slot before any read of the index; pairs with the one in Advance
    }

    /// <summary>Offline: all reads of the store are done (release).</summary>
    public void Leave(int slot) => Volatile.Write(ref Slot(slot), 0);

    /// <summary>The epoch that a session shows; 0: it is offline.</summary>
    public ulong ShownBy(int slot) => Volatile.Read(ref Slot(slot));

    public bool IsOnline(int slot) => Volatile.Read(ref Slot(slot)) != 0;

    /// <summary>Begins a new epoch, so that the last one can pass.</summary>
    public void Advance() => Interlocked.Increment(ref _global);

    /// <summary>What was unlinked at a smaller epoch than this is out of everybody's reach.</summary>
    public ulong SafeBelow()
    {
        ulong safe = Volatile.Read(ref _global);
        int used = Volatile.Read(ref _slotsUsed);
        for (int slot = 0; slot < used; slot++)
        {
            ulong announced = Volatile.Read(ref Slot(slot));
            if (announced != 0 && announced < safe) safe = announced;
        }

        return safe;
    }

    /// <summary>Whether nobody but one session may hold anything.</summary>
    public bool IsOnlyOnline(int slot)
    {
        int used = Volatile.Read(ref _slotsUsed);
        for (int other = 0; other < used; other++)
            if (other != slot && IsOnline(other)) return false;
        return true;
    }

    /// <summary>The session that has stood still for longest: online, with the oldest epoch of all.</summary>
    /// <returns>Its slot; <see cref="NoSlot"/> when nobody shows an older epoch than the current one.</returns>
    public int FindSlowest(out ulong announced)
    {
        int slowest = NoSlot;
        announced = Volatile.Read(ref _global);
        int used = Volatile.Read(ref _slotsUsed);
        for (int slot = 0; slot < used; slot++)
        {
            ulong shown = Volatile.Read(ref Slot(slot));
            if (shown == 0 || shown >= announced) continue;
            announced = shown;
            slowest = slot;
        }

        return slowest;
    }

    public void Dispose() => NativeMemory.AlignedFree(_slots);

    // Before the slot's first epoch, and so before that session's fence: who does not see the one does not see the
    // other.
    private void Use(int slot)
    {
        // Ends: the number only grows, and each that fails has seen it grow.
        for (int used = Volatile.Read(ref _slotsUsed); used <= slot;)
            used = Interlocked.CompareExchange(ref _slotsUsed, slot + 1, used);
    }

    private ref ulong Slot(int slot)
    {
        Debug.Assert((uint)slot < (uint)_slotsMax, "a session has a slot of the table");
        return ref *(ulong*)(_slots + (long)slot * SlotBytes);
    }
}
