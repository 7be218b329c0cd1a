using System.Globalization;

namespace Kv.Server.Configuration;

/// <summary>A file that an option names and that is read while clients are served: nobody may wait for it.</summary>
internal static class RegularFile
{
    /// <summary>Opens a file to be read.</summary>
    /// <remarks>Whoever opens a pipe waits until somebody writes to it, if ever.</remarks>
    /// <exception cref="IOException">It is none, cannot be read, or is a pipe or a terminal.</exception>
    /// <exception cref="UnauthorizedAccessException">The system does not let the server read it.</exception>
    public static FileStream Open(string path)
    {
        Check(path);
        return new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.Read, bufferSize: 0,
            FileOptions.SequentialScan);
    }

    /// <summary>All that a file has when it is opened: of a device, which has no end, nothing.</summary>
    /// <exception cref="IOException">As <see cref="Open"/>, or it is longer than allowed.</exception>
    /// <exception cref="UnauthorizedAccessException">Likewise.</exception>
    public static byte[] ReadAll(string path, int bytesMax)
    {
        using var file = Open(path);
        if (file.Length > bytesMax)
            throw new IOException(string.Create(CultureInfo.InvariantCulture, $"it is longer than {bytesMax} bytes"));
        byte[] bytes = new byte[file.Length];
        int count = file.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
        return bytes[..count];
    }

    private static void Check(string path)
    {
        using var file = NonBlockingFile.TryOpen(path);
        if (file is { CanSeek: false }) throw new IOException("it is a pipe or a terminal, not a file");
    }
}
