using System.Reflection;

namespace RespBenchmark.CommandLine;

/// <summary>Who we are: the name we were called by, and our version.</summary>
internal static class ProgramName
{
    public static string Version { get; } =
        typeof(ProgramName).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?
            .InformationalVersion.Split('+')[0] ?? "0";

    /// <summary>The first word of the process's command line, without folders: a symbolic link's name if there is one.
    /// Empty where the system does not say.</summary>
    public static string Called()
    {
        try
        {
            string line = File.ReadAllText("/proc/self/cmdline");
            int end = line.IndexOf('\0', StringComparison.Ordinal);
            return Path.GetFileName(end < 0 ? line : line[..end]);
        }
        catch (IOException)
        {
            return "";
        }
        catch (UnauthorizedAccessException)
        {
            return "";
        }
    }
}
