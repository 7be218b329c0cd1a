using System.Buffers.Text;
using Microsoft.Win32.SafeHandles;

namespace Kv.Server.Metrics;

/// <summary>What this process has of the machine's memory, as the system says.</summary>
/// <remarks>
/// Asked for eight times a second. The runtime's own answer opens a file of forty lines each time and allocates; this
/// is one call of the system, of a file that stays open. Threads: any.
/// </remarks>
internal static class ResidentMemory
{
    //  /proc/self/statm: pages, of the whole address space first, then resident: "66710 11573 9121 26 0 31044 0"
    private const string Path = "/proc/self/statm";

    private static readonly SafeFileHandle? File = Open();

    public static long Bytes => TryRead(out long pages) ? pages * Environment.SystemPageSize : Environment.WorkingSet;

    private static bool TryRead(out long pages)
    {
        pages = 0;
        if (File == null) return false;
        Span<byte> text = stackalloc byte[128];
        try
        {
            text = text[..RandomAccess.Read(File, text, fileOffset: 0)];
        }
        catch (IOException)
        {
            return false;
        }

        return Utf8Parser.TryParse(text[(text.IndexOf((byte)' ') + 1)..], out pages, out _);
    }

    private static SafeFileHandle? Open()
    {
        try
        {
            return OperatingSystem.IsLinux() ? System.IO.File.OpenHandle(Path) : null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
