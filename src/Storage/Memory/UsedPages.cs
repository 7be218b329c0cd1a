using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Gives the pages of a reserved list back to the system, a piece at a time, as its content is used
/// up.</summary>
/// <remarks>To unmap megabytes at once can take long: 30 us a page on a virtual machine where the hypervisor has to
/// flush each.</remarks>
internal static unsafe class UsedPages
{
    /// <summary>What is used up in the order of the list: a piece, after all that came before it.</summary>
    public static void GiveBack(byte* start, byte* end) => GiveBackWhole(PageOf(start), PageOf(end));

    /// <summary>What is used up from the list's end on: a piece, after all that comes behind it.</summary>
    public static void GiveBackLast(byte* start, byte* end) => GiveBackWhole(PageAfter(start), PageAfter(end));

    private static void GiveBackWhole(byte* first, byte* end)
    {
        Debug.Assert(first <= end, "a range ends after it begins");
        if (first < end) VirtualMemory.GiveBack(first, (nuint)(end - first));
    }

    private static byte* PageOf(byte* place) => (byte*)((nuint)place & ~(VirtualMemory.PageBytes - 1));

    private static byte* PageAfter(byte* place) => PageOf(place + VirtualMemory.PageBytes - 1);
}
