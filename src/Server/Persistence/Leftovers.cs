using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence;

/// <summary>Snapshots that a process was writing when it was killed: each is as large as the data, and nobody else
/// would ever take it away.</summary>
internal static partial class Leftovers
{
    /// <summary>Deletes those of processes that have ended. At the start, before a snapshot is begun.</summary>
    /// <remarks>
    /// What has the number of a process that is there stays, whatever that is; but for our own number, which was
    /// another one's before. A server in another container, whose number says nothing here, has its file locked as
    /// long as it writes.
    /// </remarks>
    public static void Delete(string folder, ILogger log)
    {
        try
        {
            foreach (string path in Directory.EnumerateFiles(folder, "temp-*.rdb"))
                if (NumberOf(path) is { } process && !IsAlive(process)) DeleteOne(path, log);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The start goes on: whether the folder can be used is found, and said, by those that need it.
            log.LogWarning("Snapshots of processes that were killed are not looked for: {Message}", exception.Message);
        }
    }

    private static void DeleteOne(string path, ILogger log)
    {
        try
        {
            long length;
            // No link is followed: of what we have made none is one.
            if (new FileInfo(path).LinkTarget != null) return;
            using (var file = new FileStream(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None))
                length = file.Length;
            File.Delete(path);
            log.LogInformation("Deleted {Path}, {Bytes} bytes: a snapshot that a process was writing when it was "
                + "killed", path, length);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            log.LogWarning("{Path} stays: {Message}", path, exception.Message);
        }
    }

    private static int? NumberOf(string path) =>
        Name().Match(Path.GetFileName(path)) is { Success: true } match
        && int.TryParse(match.Groups["process"].ValueSpan, NumberStyles.None, CultureInfo.InvariantCulture,
            out int number) ? number : null;

    private static bool IsAlive(int process)
    {
        if (process == Environment.ProcessId) return false;
        try
        {
            using var other = Process.GetProcessById(process);
            return true;
        }
        catch (ArgumentException)
        {
            return false;
        }
    }

    // As SnapshotFile and SyncFile give them, and as the first one did, which is how the reference does.
    [GeneratedRegex(@"^temp-((save-|replica-)?(?<process>[0-9]{1,10})-[0-9]+|(?<process>[0-9]{1,10}))\.rdb$",
        RegexOptions.CultureInvariant | RegexOptions.ExplicitCapture)]
    private static partial Regex Name();
}
