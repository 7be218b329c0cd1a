using System.Runtime.InteropServices;

namespace Kv.Server.Persistence;

/// <summary>What share of the processors a thread gets while others want them, too.</summary>
/// <remarks>.NET's own priorities of threads have no effect on Linux.</remarks>
internal static partial class ThreadShare
{
    /// <summary>About a tenth of what a thread gets that nobody has lowered.</summary>
    private const int LowNice = 10;

    private const int OneThread = 0;        // PRIO_PROCESS; on Linux a number is a thread's, 0 the calling one

    /// <summary>Has the calling thread make way for those that serve clients: what is left of the processors it gets as
    /// before. Where the system refuses, it does not.</summary>
    public static void Lower()
    {
        if (OperatingSystem.IsLinux()) _ = setpriority(OneThread, 0, LowNice);
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial int setpriority(int which, uint who, int priority);
}
