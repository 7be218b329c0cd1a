using Kv.Storage;

namespace Kv.Server.Persistence;

/// <summary>Tells what the disk, or the system, did not do from faults of our own.</summary>
internal static class DiskError
{
    /// <summary>Whether an exception says that a file could not be read, written, made or renamed; or a test has had
    /// that happen.</summary>
    // The third is .NET's for a file that is as large as the system allows (EFBIG: ulimit -f, or the file system's own
    // limit), in each call that writes.
    public static bool Is(Exception exception) => exception is IOException or UnauthorizedAccessException
        or ArgumentOutOfRangeException { ParamName: "value" } or FaultException;
}
