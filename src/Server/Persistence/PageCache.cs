using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Persistence;

/// <summary>Tells the system what need not stay in its page cache.</summary>
internal static partial class PageCache
{
    private const int DontNeed = 4;

    /// <summary>Says that a part of a file, all of which is on the disk, will not be read soon. Elsewhere than on Linux
    /// it does nothing.</summary>
    public static void Forget(SafeFileHandle file, long from, long bytes)
    {
        // It is advice: nothing hangs on whether it is taken.
        if (OperatingSystem.IsLinux()) _ = posix_fadvise(file, from, bytes, DontNeed);
    }

    [LibraryImport("libc")]
    private static partial int posix_fadvise(SafeFileHandle descriptor, long offset, long length, int advice);
}
