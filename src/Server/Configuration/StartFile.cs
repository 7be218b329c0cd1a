using System.Globalization;
using System.Runtime.InteropServices;

namespace Kv.Server.Configuration;

/// <summary>A file that is read once, before anybody is served: it may be a pipe, but not one that nobody ever writes
/// to.</summary>
internal static partial class StartFile
{
    private const short Readable = 1;

    /// <summary>How long a pipe may say nothing.</summary>
    internal const int SilentMsMax = 5000;

    /// <summary>Opens a file, a pipe or a device.</summary>
    /// <exception cref="IOException">It cannot be opened. Reading it throws one, too, when nobody has written to it for
    /// five seconds.</exception>
    /// <exception cref="UnauthorizedAccessException">The system does not let this user read it.</exception>
    public static Stream Open(string path, int silentMsMax = SilentMsMax)
    {
        if (!File.Exists(path) || NonBlockingFile.TryOpen(path) is not { } file)
            return File.OpenRead(path);     // or says why not
        return file.CanSeek ? file : new PatientStream(file, silentMsMax);
    }

    /// <summary>Waits before each read, and not for ever.</summary>
    private sealed class PatientStream(FileStream file, int silentMsMax) : Stream
    {
        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => false;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override int Read(Span<byte> buffer)
        {
            int descriptor = (int)file.SafeFileHandle.DangerousGetHandle();
            var wanted = new PollEntry { Descriptor = descriptor, Events = Readable };
            long end = Environment.TickCount64 + silentMsMax;
            int found;
            // Ends: there is something, or the time is over. A signal makes it look once more.
            do found = poll(ref wanted, 1, (int)Math.Max(0, end - Environment.TickCount64));
            while (found < 0 && Environment.TickCount64 < end);
            if (found <= 0)
                throw new IOException(string.Create(CultureInfo.InvariantCulture,
                    $"it is a pipe to which nobody has written for {silentMsMax / 1000} s"));
            return file.Read(buffer);
        }

        public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            if (disposing) file.Dispose();
            base.Dispose(disposing);
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct PollEntry
    {
        public int Descriptor;
        public short Events, Found;
    }

    [LibraryImport("libc")]
    private static partial int poll(ref PollEntry entries, nuint count, int milliseconds);
}
