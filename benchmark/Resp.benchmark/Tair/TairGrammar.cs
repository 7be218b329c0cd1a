using RespBenchmark.CommandLine;

namespace RespBenchmark.Tair;

/// <summary>Runs a command line of Tair's resp-benchmark.</summary>
internal static class TairGrammar
{
    public static int Run(IReadOnlyList<string> arguments, Surroundings surroundings)
    {
        var options = TairParser.Parse(arguments);
        if (options.Help)
        {
            surroundings.Output.Write(TairHelp.Text);
            return ExitCode.Ok;
        }

        if (options.Version)
        {
            surroundings.Output.Write($"resp-benchmark 0.1.7 (Resp.benchmark {ProgramName.Version})\n");
            return ExitCode.Ok;
        }

        return new TairRunner(options, surroundings).Run();
    }
}
