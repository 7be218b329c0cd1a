using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>Runs a command line of Garnet's tool.</summary>
internal static class GarnetGrammar
{
    public static int Run(IReadOnlyList<string> arguments, Surroundings surroundings)
    {
        var options = GarnetParser.Parse(arguments);
        if (options.Help)
        {
            surroundings.Output.Write(GarnetHelp.Text);
            return ExitCode.Ok;
        }

        if (options.Version)
        {
            surroundings.Output.Write($"Resp.benchmark {ProgramName.Version} (grammar of Garnet's Resp.benchmark)\n");
            return ExitCode.Ok;
        }

        CheckOperations(options);
        if (options.Ignored.Count > 0)
            surroundings.Note($"accepted without effect: {string.Join(' ', options.Ignored)}");
        if (options.BatchSizeReplaced) surroundings.Output.Write(GarnetConfigurationText.BatchSizeReplaced + "\n");
        if (!WaitForServer(options, surroundings)) return ExitCode.RunError;
        using var saves = PeriodicSave.Start(options, surroundings);
        surroundings.Output.Write(GarnetConfigurationText.Of(options));
        surroundings.Output.Flush();
        return options switch
        {
            { Online: true, Client: GarnetClient.SERedis } => new StackExchangeOnline(options, surroundings).Run(),
            { Online: true } => new GarnetOnline(options, surroundings).Run(),
            _ => new GarnetThroughput(options, surroundings).Run(),
        };
    }

    /// <exception cref="UsageException">An operation is not known, or not in this mode.</exception>
    private static void CheckOperations(GarnetOptions options)
    {
        if (!options.Online)
        {
            if (GarnetOps.Find(options.Op) is null)
                throw new UsageException(
                    $"--op takes one of {string.Join(' ', GarnetOps.All.Select(op => op.Name))}, got '{options.Op}'");
            return;
        }

        foreach (string op in options.OpWorkload)
        {
            if (!GarnetOps.Online.Contains(op))
                throw new UsageException($"--op-workload takes {string.Join(' ', GarnetOps.Online)}, got '{op}'");
        }
    }

    /// <summary>Tries once a second, and says so, until a server listens.</summary>
    /// <returns>False: a signal came first.</returns>
    private static bool WaitForServer(GarnetOptions options, Surroundings surroundings)
    {
        // Ends: with a connection, or a signal.
        while (true)
        {
            try
            {
                using var control = ControlConnection.Open(options.Target);
                return true;
            }
            catch (ConnectException)
            {
                surroundings.Output.Write(GarnetThroughputText.Waiting(options.Target.Address));
                surroundings.Output.Flush();
                if (surroundings.Interrupt.Wait(TimeSpan.FromSeconds(1))) return false;
            }
        }
    }
}
