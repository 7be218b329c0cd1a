using System.Globalization;

namespace Kv.Host;

/// <summary>Finds out who listens on a port, for the message that it is taken. Linux; silent where it may not
/// look.</summary>
internal static class PortOwner
{
    /// <returns>", held by process N (name)", or nothing.</returns>
    public static string Describe(int port)
    {
        try
        {
            return Find(port) is { } pid
                ? $", held by process {pid} ({File.ReadAllText($"/proc/{pid}/comm").Trim()})" : "";
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return "";
        }
    }

    private static int? Find(int port)
    {
        var inodes = ListeningInodes("/proc/net/tcp", port).Concat(ListeningInodes("/proc/net/tcp6", port))
            .Select(inode => $"socket:[{inode}]").ToHashSet();
        if (inodes.Count == 0) return null;
        foreach (string process in Directory.EnumerateDirectories("/proc"))
        {
            if (!int.TryParse(Path.GetFileName(process), NumberStyles.None, CultureInfo.InvariantCulture, out int pid))
                continue;
            try
            {
                foreach (string descriptor in Directory.EnumerateFileSystemEntries(Path.Combine(process, "fd")))
                    if (new FileInfo(descriptor).LinkTarget is { } target && inodes.Contains(target)) return pid;
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                // Ended meanwhile, or somebody else's.
            }
        }

        return null;
    }

    private static IEnumerable<string> ListeningInodes(string table, int port)
    {
        if (!File.Exists(table)) yield break;
        string suffix = string.Create(CultureInfo.InvariantCulture, $":{port:X4}");
        foreach (string line in File.ReadLines(table))
        {
            string[] fields = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (fields.Length > 9 && fields[3] == "0A" && fields[1].EndsWith(suffix, StringComparison.Ordinal))
                yield return fields[9];
        }
    }
}
