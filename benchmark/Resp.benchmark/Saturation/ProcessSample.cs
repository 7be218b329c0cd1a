using System.Globalization;

namespace RespBenchmark.Saturation;

/// <summary>What the kernel says of a process at one moment.</summary>
/// <param name="Cpu">ns on a processor, in steps of 10 ms: of all threads, those that have ended too.</param>
/// <param name="ThreadCpu">ns on a processor, by living thread.</param>
/// <param name="Rss">Resident bytes.</param>
/// <param name="Switches">Context switches of all threads.</param>
/// <param name="Faults">Page faults, minor and major.</param>
internal sealed record ProcessSample(long Cpu, IReadOnlyDictionary<int, long> ThreadCpu, long Rss, long Switches,
    long Faults)
{
    private const long ClockTickNs = 10_000_000;        // USER_HZ is 100 on every Linux that .NET runs on

    /// <summary>Looks at a process; null when there is none, or it is not this user's to look at.</summary>
    public static ProcessSample? Of(int processId)
    {
        string folder = $"/proc/{processId.ToString(CultureInfo.InvariantCulture)}";
        try
        {
            var threads = new Dictionary<int, long>();
            long switches = 0;
            foreach (string task in Directory.EnumerateDirectories($"{folder}/task"))
            {
                if (ThreadCpuOf(task) is not { } cpu) continue;
                threads[int.Parse(Path.GetFileName(task), CultureInfo.InvariantCulture)] = cpu;
                switches += SwitchesOf(task);
            }

            string[] stat = Fields($"{folder}/stat");
            return new ProcessSample((Number(stat[11]) + Number(stat[12])) * ClockTickNs, threads,
                Number(stat[21]) * Environment.SystemPageSize, switches, Number(stat[7]) + Number(stat[9]));
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>How often the kernel has moved the living threads of a process to another processor; null where it does
    /// not say.</summary>
    public static long? MigrationsOf(int processId)
    {
        const string field = "se.nr_migrations";
        try
        {
            long? sum = null;
            foreach (string task in Directory.EnumerateDirectories(
                $"/proc/{processId.ToString(CultureInfo.InvariantCulture)}/task"))
            {
                string path = $"{task}/sched";
                if (!File.Exists(path)) continue;
                string? line = File.ReadLines(path)
                    .FirstOrDefault(text => text.StartsWith(field, StringComparison.Ordinal));
                if (line is not null)
                    sum = (sum ?? 0) + Number(line[(line.IndexOf(':', StringComparison.Ordinal) + 1)..].Trim());
            }

            return sum;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>From schedstat, in ns; from stat, in clock ticks, where the kernel keeps none. Null: the thread is
    /// gone.</summary>
    private static long? ThreadCpuOf(string task)
    {
        try
        {
            string path = $"{task}/schedstat";
            if (File.Exists(path)) return Number(File.ReadAllText(path).Split(' ')[0]);
            string[] stat = Fields($"{task}/stat");
            return (Number(stat[11]) + Number(stat[12])) * ClockTickNs;
        }
        catch (IOException)
        {
            return null;
        }
    }

    private static long SwitchesOf(string task)
    {
        try
        {
            return File.ReadLines($"{task}/status")
                .Where(line => line.Contains("ctxt_switches:", StringComparison.Ordinal))
                .Sum(line => Number(line[(line.IndexOf(':', StringComparison.Ordinal) + 1)..].Trim()));
        }
        catch (IOException)
        {
            return 0;
        }
    }

    /// <summary>The fields of a stat file from the third on: behind the name, which may hold blanks and
    /// brackets.</summary>
    private static string[] Fields(string path)
    {
        string text = File.ReadAllText(path);
        return text[(text.LastIndexOf(')') + 2)..].Split(' ');
    }

    private static long Number(string text) =>
        long.Parse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
}
