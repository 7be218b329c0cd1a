using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Configuration;

/// <summary>Opens what may be a pipe: the framework's own way waits until somebody writes to it, if ever.</summary>
internal static partial class NonBlockingFile
{
    private const int ReadOnly = 0, NonBlocking = 0x800, CloseOnExec = 0x80000;

    /// <summary>Opens a file, a pipe or a device to be read.</summary>
    /// <returns>Null when it cannot be opened so, or not on this system: <see cref="File.OpenRead"/> says
    /// why.</returns>
    public static FileStream? TryOpen(string path)
    {
        if (!OperatingSystem.IsLinux()) return null;
        int descriptor = open(path, ReadOnly | NonBlocking | CloseOnExec);
        if (descriptor < 0) return null;
        var handle = new SafeFileHandle(descriptor, ownsHandle: true);
        try
        {
            return new FileStream(handle, FileAccess.Read, bufferSize: 0);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            handle.Dispose();       // a folder
            return null;
        }
    }

    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int open(string path, int flags);
}
