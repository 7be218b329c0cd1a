using System.Globalization;
using System.Net;
using RespBenchmark.Network;

namespace RespBenchmark.Saturation;

/// <summary>Finds the process that listens where a target is, if it is on this host.</summary>
internal static class ServerProcess
{
    private const string Listening = "0A";

    /// <summary>The listening process.</summary>
    /// <param name="claimed">The process that the server says it is; believed only if it holds the socket.</param>
    /// <returns>Null: it is on another host, or not this user's to look at.</returns>
    public static int? Find(Target target, int? claimed)
    {
        HashSet<string> sockets = SocketsOf(target);
        if (sockets.Count == 0) return null;
        if (claimed is { } process && Holds(process, sockets)) return process;
        foreach (string folder in Directory.EnumerateDirectories("/proc"))
            if (int.TryParse(Path.GetFileName(folder), NumberStyles.None, CultureInfo.InvariantCulture, out int other)
                && Holds(other, sockets))
                return other;
        return null;
    }

    /// <summary>Whether the target's address is one of this host's.</summary>
    public static bool IsHere(Target target)
    {
        if (target.UnixPath is not null) return true;
        try
        {
            IPAddress[] addresses = Dns.GetHostAddresses(target.Host);
            return addresses.Any(IPAddress.IsLoopback)
                || addresses.Intersect(Dns.GetHostAddresses(Dns.GetHostName())).Any();
        }
        catch (System.Net.Sockets.SocketException)
        {
            return false;
        }
    }

    /// <summary>The processors that a process may use.</summary>
    public static IReadOnlyList<int> CoresOf(int process)
    {
        try
        {
            string? line = File.ReadLines($"/proc/{process.ToString(CultureInfo.InvariantCulture)}/status")
                .FirstOrDefault(text => text.StartsWith("Cpus_allowed_list:", StringComparison.Ordinal));
            return line is null ? [] : CommandLine.CoreList.Parse("Cpus_allowed_list", line[18..].Trim());
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    /// <summary>"socket:[inode]" of each socket that listens at the target's port or path.</summary>
    private static HashSet<string> SocketsOf(Target target)
    {
        var found = new HashSet<string>();
        if (target.UnixPath is { } path)
        {
            // Num RefCount Protocol Flags Type St Inode Path
            foreach (string line in File.ReadLines("/proc/net/unix"))
            {
                string[] fields = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
                if (fields.Length >= 8 && fields[7] == path) found.Add($"socket:[{fields[6]}]");
            }

            return found;
        }

        if (!IsHere(target)) return found;
        string port = $":{target.Port:X4}";
        foreach (string table in (string[])["/proc/net/tcp", "/proc/net/tcp6"])
        {
            if (!File.Exists(table)) continue;
            foreach (string line in File.ReadLines(table).Skip(1))
            {
                // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
                string[] fields = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
                if (fields.Length > 9 && fields[3] == Listening && fields[1].EndsWith(port, StringComparison.Ordinal))
                    found.Add($"socket:[{fields[9]}]");
            }
        }

        return found;
    }

    private static bool Holds(int process, HashSet<string> sockets)
    {
        try
        {
            return Directory.EnumerateFiles($"/proc/{process.ToString(CultureInfo.InvariantCulture)}/fd")
                .Any(file => new FileInfo(file).LinkTarget is { } link && sockets.Contains(link));
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}
