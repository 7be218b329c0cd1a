using System.Runtime.InteropServices;

namespace Kv.Server.Persistence;

/// <summary>Makes what was renamed in a folder last through a power cut, for which .NET has no call.</summary>
internal static partial class FolderSync
{
    private const int CloseOnExec = 0x80000;

    /// <summary>Waits until the names in a folder are on the disk. Elsewhere than on Linux it does nothing.</summary>
    /// <exception cref="IOException">They may not be.</exception>
    public static void Run(string folder)
    {
        if (!OperatingSystem.IsLinux()) return;
        int descriptor = open(folder, CloseOnExec);
        if (descriptor < 0) throw Failed(folder);
        try
        {
            if (fsync(descriptor) != 0) throw Failed(folder);
        }
        finally
        {
            _ = close(descriptor);
        }
    }

    private static IOException Failed(string folder) =>
        new($"the folder {folder} cannot be synchronized: {Marshal.GetLastPInvokeErrorMessage()}");

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags);

    [LibraryImport("libc", SetLastError = true)]
    private static partial int fsync(int descriptor);

    [LibraryImport("libc")]
    private static partial int close(int descriptor);
}
