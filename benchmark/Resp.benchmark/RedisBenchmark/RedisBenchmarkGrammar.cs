using RespBenchmark.CommandLine;

namespace RespBenchmark.RedisBenchmark;

/// <summary>Runs a command line of redis-benchmark.</summary>
internal static class RedisBenchmarkGrammar
{
    public static int Run(IReadOnlyList<string> arguments, Surroundings surroundings)
    {
        RedisBenchmarkOptions options;
        try
        {
            options = RedisBenchmarkParser.Parse(arguments);
        }
        catch (UsageException bad)
        {
            surroundings.Output.Write($"{bad.Message}\n\n{RedisBenchmarkHelp.Text}");
            return bad.ExitCode;
        }

        if (options.Help)
        {
            surroundings.Output.Write(RedisBenchmarkHelp.Text);
            return ExitCode.Ok;
        }

        if (options.Version)
        {
            surroundings.Output.Write($"redis-benchmark 7.0.15 (Resp.benchmark {ProgramName.Version})\n");
            return ExitCode.Ok;
        }

        foreach (string warning in options.Warnings) surroundings.Note(warning);
        return new RedisBenchmarkRunner(options, surroundings).Run();
    }
}
