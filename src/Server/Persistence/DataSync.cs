using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Persistence;

/// <summary>Waits for what was written to a file, and its length, but not for its times: that is one write less than
/// .NET's own call makes.</summary>
internal static partial class DataSync
{
    private const int Interrupted = 4;

    /// <exception cref="IOException">It may not be on the disk, and never get there.</exception>
    public static void Run(SafeFileHandle file)
    {
        if (!OperatingSystem.IsLinux())
        {
            RandomAccess.FlushToDisk(file);
            return;
        }

        // Ends: a signal that interrupts the wait comes at most now and then. An error is final: what was written may
        // be lost, and another call would say that all is well.
        while (fdatasync(file) != 0)
        {
            if (Marshal.GetLastPInvokeError() != Interrupted)
                throw new IOException($"fdatasync failed: {Marshal.GetLastPInvokeErrorMessage()}");
        }
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial int fdatasync(SafeFileHandle descriptor);
}
