using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Server.Reports;

/// <summary>What is to be known of a server that an exception ends: for people, in lines.</summary>
/// <remarks>No secrets: no values of options that are passwords, no arguments of commands, no addresses.</remarks>
public static class CrashReport
{
    /// <summary>Clients whose last commands are named: those that did something last.</summary>
    private const int ClientsMax = 64;

    /// <summary>The part that needs nothing of the server: version, exception, options.</summary>
    public static string OfException(ServerOptions options, object exception, DateTimeOffset now)
    {
        ArgumentNullException.ThrowIfNull(options);
        var text = new StringBuilder();
        text.Append(CultureInfo.InvariantCulture, $"Kv {ServerVersion.KvVersion} (redis {ServerVersion.RedisVersion}) ")
            .Append(CultureInfo.InvariantCulture, $"crashed at {now:yyyy-MM-ddTHH:mm:ssZ}\n")
            .Append(CultureInfo.InvariantCulture, $".NET {Environment.Version}, ")
            .Append(CultureInfo.InvariantCulture,
                $"{RuntimeInformation.OSDescription}, {RuntimeInformation.OSArchitecture}, ")
            .Append(CultureInfo.InvariantCulture,
                $"{Environment.ProcessorCount} processors, pid {Environment.ProcessId}\n")
            .Append(CultureInfo.InvariantCulture,
                $"\nException in thread {Thread.CurrentThread.Name ?? "without a name"}:\n{exception}\n")
            .Append("\nOptions that are not the default:\n");
        var defaults = new ServerOptions();
        foreach (var option in OptionTable.Rows)
        {
            // Names that commands have been given may be as good as passwords.
            if (option.IsStartOnly || option.Read(options) == option.Read(defaults)) continue;
            string value = option.IsSecret ? "***" : ConfigLine.Printable(option.Read(options));
            text.Append(CultureInfo.InvariantCulture,
                $"  {option.Name} {value}  ({options.Origins.Of(option, isDefault: false)})\n");
        }

        return text.ToString();
    }

    /// <summary>The part that asks the server: clients' last commands, memory, threads.</summary>
    public static string OfServer(KvServer server)
    {
        ArgumentNullException.ThrowIfNull(server);
        var text = new StringBuilder();
        var memory = GC.GetGCMemoryInfo();
        text.Append(CultureInfo.InvariantCulture,
            $"\nUp for {(long)(server.Time.GetUtcNow() - server.Started).TotalSeconds} s, {server.Clients} clients, ")
            .Append(CultureInfo.InvariantCulture,
                $"{server.Workers} {server.Transport} workers\nMemory: store {server.Store.UsedBytes} bytes, ")
            .Append(CultureInfo.InvariantCulture,
                $"managed heap {memory.HeapSizeBytes}, process {Environment.WorkingSet}\n")
            .Append("\nLast commands of the clients that were active last:\n");
        long now = server.TickMs;
        foreach (var session in server.Connections.Snapshot().OrderByDescending(session => session.LastActiveTickMs)
            .Take(ClientsMax))
        {
            text.Append(CultureInfo.InvariantCulture,
                $"  client {session.Id}: {session.LastCommand?.FullName ?? "none"}, ")
                .Append(CultureInfo.InvariantCulture, $"{now - session.LastActiveTickMs} ms ago\n");
        }

        text.Append("\nThreads (name, state, CPU ticks in user and kernel, where in the kernel):\n");
        AddThreads(text);
        return text.ToString();
    }

    /// <summary>.NET shows no thread the stack of another one; the kernel says at least what each one does.</summary>
    private static void AddThreads(StringBuilder text)
    {
        const string Tasks = "/proc/self/task";
        if (!Directory.Exists(Tasks)) return;
        foreach (string folder in Directory.EnumerateDirectories(Tasks).Order(StringComparer.Ordinal))
        {
            try
            {
                string line = File.ReadAllText(Path.Combine(folder, "stat"));
                int end = line.LastIndexOf(')');
                string name = line[(line.IndexOf('(', StringComparison.Ordinal) + 1)..end];
                string[] fields = line[(end + 2)..].Split(' ');     // from the third field of proc(5) on
                string place = File.ReadAllText(Path.Combine(folder, "wchan"));
                text.Append(CultureInfo.InvariantCulture,
                    $"  {Path.GetFileName(folder)} {name} {fields[0]} {fields[11]} {fields[12]} {place}\n");
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                // It has ended, or the kernel does not say.
            }
        }
    }
}
