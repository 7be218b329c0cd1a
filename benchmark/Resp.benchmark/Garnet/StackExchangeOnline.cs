using System.Diagnostics;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using StackExchange.Redis;

namespace RespBenchmark.Garnet;

/// <summary>Online mode through StackExchange.Redis: what an application sees that shares one multiplexer among all its
/// sessions, or with <c>--pool</c> has one for each.</summary>
/// <remarks>Threads: one controls; sessions run on the thread pool.</remarks>
internal sealed class StackExchangeOnline(GarnetOptions options, Surroundings surroundings)
{
    private long _errors;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        surroundings.Output.Write(GarnetOnlineText.Runner(options.Client, options.InsideThread > 1));
        using var log = OnlineBlocks.OpenLog(options);
        if (options.RunTime == 0) return ExitCode.Ok;
        if (options.Extras.WritesFiles) surroundings.Note("# with --client SERedis no files are written: the cells are not the engine's");
        if (options.Extras.Calibrate || options.Extras.FailOnSaturation)
            surroundings.Note("accepted without effect: --calibrate --fail-on-saturation (with --client SERedis nobody is judged: the client is not the engine)");
        foreach (int sessions in OnlineBlocks.Sessions(options, surroundings)) RunBlock(sessions, log);
        return _errors > 0 ? ExitCode.RunError : ExitCode.Ok;
    }

    private void RunBlock(int sessions, TextWriter? log)
    {
        var connections = Connect(options.Pool ? sessions : 1);
        try
        {
            surroundings.Note($"# {sessions} sessions over {connections.Length} multiplexers of StackExchange.Redis");
            var recorders = Enumerable.Range(0, Math.Min(sessions, Environment.ProcessorCount)).Select(_ => new SharedRecorder()).ToArray();
            using var stop = new CancellationTokenSource();
            using var attached = surroundings.Interrupt.OnRequest(stop.Cancel);
            var rows = new OnlineRows(options, surroundings, log);
            long begun = Stopwatch.GetTimestamp();
            Task[] running = [.. Enumerable.Range(0, sessions).Select(number => Task.Run(() => new StackExchangeSession(
                options, connections[number % connections.Length].GetDatabase(), recorders[number % recorders.Length], number).Run(stop.Token)))];
            PrintRows(rows, recorders, begun, stop);
            if (!Task.WaitAll(running, options.Extras.Drain)) surroundings.Note("# replies were missing when the drain was over");
            var totals = Total(recorders);
            _errors += totals.Errors;
            rows.Summarize(Stopwatch.GetElapsedTime(begun), totals.Errors, totals.Nils, totals.Reads);
            foreach (var recorder in recorders)
                if (recorder.FirstError is { } text) surroundings.Note($"# first error: {text}");
        }
        finally
        {
            foreach (var connection in connections) connection.Dispose();
        }
    }

    private void PrintRows(OnlineRows rows, SharedRecorder[] recorders, long begun, CancellationTokenSource stop)
    {
        long last = begun, printed = 0;
        for (int row = 1; options.RunTime < 0 || row <= options.RunTime; row++)
        {
            stop.Token.WaitHandle.WaitOne(OnlineBlocks.Until(begun, row));
            long now = Stopwatch.GetTimestamp();
            var latencies = new Histogram();
            foreach (var recorder in recorders) recorder.TakeInterval(latencies);
            long ops = Total(recorders).Ops;
            rows.Add(latencies, ops - printed, Stopwatch.GetElapsedTime(last, now));
            (last, printed) = (now, ops);
            if (stop.IsCancellationRequested) return;
        }

        stop.Cancel();
    }

    private static SharedRecorder.Totals Total(SharedRecorder[] recorders)
    {
        var sum = default(SharedRecorder.Totals);
        foreach (var recorder in recorders) sum += recorder.Sums;
        return sum;
    }

    private ConnectionMultiplexer[] Connect(int count)
    {
        var made = new List<ConnectionMultiplexer>();
        try
        {
            // Ends: one connection each round.
            while (made.Count < count) made.Add(ConnectionMultiplexer.Connect(Configuration()));
            return [.. made];
        }
        catch (RedisConnectionException failed)
        {
            foreach (var connection in made) connection.Dispose();
            throw new Network.ConnectException(options.Target.Address, failed.Message);
        }
    }

    private ConfigurationOptions Configuration()
    {
        const int patientMs = 60_000;
        var configuration = new ConfigurationOptions
        {
            ConnectTimeout = patientMs, SyncTimeout = patientMs, ResponseTimeout = patientMs, AbortOnConnectFail = true, Password = options.Auth,
            Ssl = options.Tls, SslHost = options.Tls ? options.TlsHost : null,
        };
        configuration.EndPoints.Add(options.Host, options.Port);
        if (options.Insecure) configuration.CertificateValidation += (_, _, _, _) => true;
        if (options.CertificateFile is { } file)
        {
            configuration.CertificateSelection += (_, _, _, _, _) =>
                System.Security.Cryptography.X509Certificates.X509CertificateLoader.LoadPkcs12FromFile(file, options.CertificatePassword);
        }

        return configuration;
    }
}
