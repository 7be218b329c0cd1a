using RespBenchmark.Network;

namespace RespBenchmark.CommandLine;

/// <summary>Reads the grammar of a command line and runs it.</summary>
internal static class Entry
{
    /// <returns>The exit code.</returns>
    public static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        using var interrupt = Interrupt.Listen();
        var surroundings = new Surroundings
        {
            Output = output, Errors = errors, Input = Console.OpenStandardInput(), Interrupt = interrupt,
                IsTerminal = !Console.IsOutputRedirected,
            Words = arguments,
        };
        return Run(ProgramName.Called(), arguments, surroundings);
    }

    /// <summary>The same with everything around it given.</summary>
    public static int Run(string program, IReadOnlyList<string> words, Surroundings surroundings)
    {
        var detected = Detection.Read(program, words);
        if (detected.Problem is { } problem)
        {
            surroundings.Note(problem);
            return ExitCode.Usage;
        }

        if (detected.Guessed)
        {
            surroundings.Note(
                $"(reading this as {Detection.NameOf(detected.Grammar)}; --as native for the options of "
                + $"Resp.benchmark itself)");
        }

        try
        {
            return detected.Grammar switch
            {
                Grammar.Garnet => Garnet.GarnetGrammar.Run(detected.Arguments, surroundings),
                Grammar.RedisBenchmark => RedisBenchmark.RedisBenchmarkGrammar.Run(detected.Arguments, surroundings),
                Grammar.RespBenchmark => Tair.TairGrammar.Run(detected.Arguments, surroundings),
                _ => RunNative(detected.Arguments, surroundings),
            };
        }
        catch (UsageException bad)
        {
            surroundings.Note(bad.Message);
            return bad.ExitCode;
        }
        catch (ConnectException failed)
        {
            surroundings.Note(failed.Message);
            return ExitCode.RunError;
        }
        catch (TargetException refused)
        {
            surroundings.Note(refused.Message);
            return ExitCode.RunError;
        }
    }

    private static int RunNative(string[] arguments, Surroundings surroundings)
    {
        if (arguments is ["--version"])
        {
            surroundings.Output.Write($"Resp.benchmark {ProgramName.Version}\n");
            return ExitCode.Ok;
        }

        return Native.Verbs.Run(arguments, surroundings);
    }
}
