using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using StackExchange.Redis;

namespace RespBenchmark.Garnet;

/// <summary>Sessions over StackExchange.Redis that do the online mix: one multiplexer for all of them, as its users run
/// it, or with <c>--pool</c> one each.</summary>
/// <remarks>Threads: one controls; sessions run on the thread pool.</remarks>
internal sealed class StackExchangeLoad : IDisposable
{
    private readonly GarnetOptions _options;
    private readonly ConnectionMultiplexer[] _connections;
    private readonly int _sessions;
    private readonly CancellationTokenSource _stop = new();
    private SharedRecorder[] _recorders = [];
    private Task[] _running = [];

    private StackExchangeLoad(GarnetOptions options, ConnectionMultiplexer[] connections, int sessions) =>
        (_options, _connections, _sessions) = (options, connections, sessions);

    public int Multiplexers => _connections.Length;

    public CancellationToken Stopping => _stop.Token;

    public SharedRecorder.Totals Totals =>
        _recorders.Aggregate(default(SharedRecorder.Totals), (sum, one) => sum + one.Sums);

    /// <summary>Connects.</summary>
    /// <param name="isBare">The target answers only what the mix sends, as a null server: the library asks it nothing
    /// about itself.</param>
    /// <exception cref="ConnectException">It could not be connected.</exception>
    public static StackExchangeLoad Connect(GarnetOptions options, Target target, int sessions, bool isBare = false)
    {
        var made = new List<ConnectionMultiplexer>();
        try
        {
            int count = options.Pool ? sessions : 1;
            // Ends: one connection each round.
            while (made.Count < count) made.Add(ConnectionMultiplexer.Connect(Configuration(options, target, isBare)));
            return new StackExchangeLoad(options, [.. made], sessions);
        }
        catch (RedisConnectionException failed)
        {
            foreach (ConnectionMultiplexer connection in made) connection.Dispose();
            throw new ConnectException(target.Address, failed.Message);
        }
    }

    /// <summary>Begins the sessions, which go on until <see cref="Stop"/>.</summary>
    public void Start()
    {
        _recorders = [.. Enumerable.Range(0, Math.Min(_sessions, Environment.ProcessorCount))
            .Select(_ => new SharedRecorder(_options.OpWorkload.Length))];
        _running =
        [
            .. Enumerable.Range(0, _sessions).Select(number => Task.Run(() => new StackExchangeSession(
                _options, _connections[number % _connections.Length].GetDatabase(),
                _recorders[number % _recorders.Length], number).Run(_stop.Token))),
        ];
    }

    /// <summary>Asks the sessions to begin nothing more. Any thread.</summary>
    public void Stop() => _stop.Cancel();

    /// <summary>Waits for what was begun. False: it did not end in time.</summary>
    public bool WaitForEnd(TimeSpan drain) => Task.WaitAll(_running, drain);

    /// <summary>Adds the latencies since the last call, by kind.</summary>
    public void TakeInterval(Histogram[] into)
    {
        foreach (SharedRecorder recorder in _recorders) recorder.TakeInterval(into);
    }

    public long OpsOf(int kind) => _recorders.Sum(recorder => recorder.OpsOf(kind));

    public List<ErrorClass> Errors() => ErrorClasses.Merge(_recorders.Select(recorder => recorder.ErrorClasses));

    public void Dispose()
    {
        foreach (ConnectionMultiplexer connection in _connections) connection.Dispose();
        _stop.Dispose();
    }

    private static ConfigurationOptions Configuration(GarnetOptions options, Target target, bool isBare)
    {
        const int patientMs = 60_000;
        bool secure = target.Tls is not null;
        var configuration = new ConfigurationOptions
        {
            ConnectTimeout = patientMs, SyncTimeout = patientMs, ResponseTimeout = patientMs, AbortOnConnectFail = true,
                Password = target.Password,
            Ssl = secure, SslHost = secure ? options.TlsHost : null,
        };
        configuration.EndPoints.Add(target.Host, target.Port);
        if (isBare)
        {
            configuration.TieBreaker = "";
            configuration.ConfigurationChannel = "";
            configuration.CommandMap =
                CommandMap.Create(new HashSet<string> { "ECHO", "CLIENT", "CLUSTER", "CONFIG", "INFO", "SUBSCRIBE",
                    "SENTINEL", "ROLE", "TIME", "HELLO" }, available: false);
        }

        if (options.Insecure) configuration.CertificateValidation += (_, _, _, _) => true;
        if (options.CertificateFile is { } file)
        {
            configuration.CertificateSelection += (_, _, _, _, _) =>
                System.Security.Cryptography.X509Certificates.X509CertificateLoader.LoadPkcs12FromFile(
                    file, options.CertificatePassword);
        }

        return configuration;
    }
}
