using System.Runtime.InteropServices;

namespace Kv.Host;

/// <summary>Makes glibc's heap give back what is freed.</summary>
/// <remarks>
/// Large values and replies have memory of their own (Kv.Storage's extents). What is left for the heap (arguments,
/// input, what commands copy) may still be megabytes. glibc maps pieces over 128 KB, and unmaps them when they are
/// freed; but each time that it does, it raises this limit to what was freed, up to 32 MB, and from then on such pieces
/// stay in a heap that only shrinks from its end. A limit that is set explicitly stays. glibc also has up to eight such
/// heaps a processor, none of which gets smaller: the threads of the pool, which serve any client, filled sixteen of
/// them with 60 MB of holes. One heap for each processor is enough: no more threads than that run at once. All this
/// concerns the whole process, so it is done by the program, not by the library.
/// </remarks>
internal static class HeapLimits
{
    private const int TrimThreshold = -1, MapThreshold = -3, HeapsMax = -8;
    private const int MapFromBytes = 128 * 1024;

    // What a heap may have free at its end: the default, 128 KB, costs a system call and page faults for every other
    // command's scratch.
    private const int FreeAtEndBytes = 1024 * 1024;

    /// <summary>Before anything large is allocated. Does nothing where there is no glibc.</summary>
    public static void Set()
    {
        if (!OperatingSystem.IsLinux() || !NativeLibrary.TryLoad("libc.so.6", out nint libc)) return;
        if (!NativeLibrary.TryGetExport(libc, "mallopt", out nint address)) return;
        var set = Marshal.GetDelegateForFunctionPointer<SetOption>(address);
        set(MapThreshold, MapFromBytes);
        set(TrimThreshold, FreeAtEndBytes);
        set(HeapsMax, Math.Max(2, Environment.ProcessorCount));
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int SetOption(int option, int value);
}
