using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Gives reserved memory back to the system, a piece at a time, as its content is used up.</summary>
/// <remarks>To unmap megabytes at once can take long: 30 us a page on a virtual machine where the hypervisor has to
/// flush each.</remarks>
internal static unsafe class UsedPages
{
    /// <summary>Gives the whole pages of a range back; they are zeros then.</summary>
    public static void GiveBack(byte* start, byte* end)
    {
        Debug.Assert(start <= end, "a range ends after it begins");
        nuint page = VirtualMemory.PageBytes - 1;
        byte* first = (byte*)(((nuint)start + page) & ~page), last = (byte*)((nuint)end & ~page);
        if (first < last) VirtualMemory.GiveBack(first, (nuint)(last - first));
    }
}
