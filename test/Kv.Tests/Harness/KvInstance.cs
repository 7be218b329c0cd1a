using System.Net;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Families;
using Microsoft.Extensions.Logging;

namespace Kv.Tests.Harness;

/// <summary>Kv in the test's own process, on a port of its own. The one file of the harness that knows
/// KvServer.</summary>
public sealed class KvInstance : TestServer
{
    private KvInstance(KvServer server)
    {
        Server = server;
        EndPoint = server.Endpoints[0];
    }

    /// <summary>The server itself, for tests that look inside.</summary>
    public KvServer Server { get; }

    public override string Name => "Kv";

    public override EndPoint EndPoint { get; }

    /// <summary>Starts a server with options in the form of kv-server's command line: "--name", "value".</summary>
    public static KvInstance Start(params string[] options) =>
        new(KvServer.StartAsync(OptionsOf(["--port", "0", "--bind", "127.0.0.1", .. options])).GetAwaiter()
            .GetResult());

    /// <summary>The same with a log.</summary>
    public static KvInstance Start(ILoggerFactory log, params string[] options) =>
        new(KvServer.StartAsync(OptionsOf(["--port", "0", "--bind", "127.0.0.1", .. options]), log).GetAwaiter()
            .GetResult());

    /// <summary>The same by a clock of the test's.</summary>
    public static KvInstance Start(TimeProvider time, params string[] options) =>
        new(KvServer.StartAsync(OptionsOf(["--port", "0", "--bind", "127.0.0.1", .. options]), log: null, time,
            AllCommands.Table, default).GetAwaiter().GetResult());

    /// <summary>Options as kv-server reads them from its command line.</summary>
    public static ServerOptions OptionsOf(string[] arguments)
    {
        var options = new ServerOptions();
        for (int i = 0; i + 1 < arguments.Length; i += 2)
        {
            var option = OptionTable.Find(arguments[i][2..])
                ?? throw new ArgumentException($"no option {arguments[i]}");
            if (!option.TryParse(options, arguments[i + 1], out object value, out string error))
                throw new ArgumentException($"{arguments[i]} {arguments[i + 1]}: {error}");
            option.Write(options, value);
        }

        return options;
    }

    /// <summary>Sends a command and waits until its client is blocked.</summary>
    public void Block(RespClient client, string command)
    {
        int before = Server.Blocked.Count;
        client.Send(command);
        AwaitBlocked(before + 1);
    }

    /// <summary>Waits until so many clients are blocked.</summary>
    public void AwaitBlocked(int count, int timeoutMs = 30_000) =>
        Eventually.Holds(() => Server.Blocked.Count == count,
            () => $"{Server.Blocked.Count} clients are blocked, not {count}", timeoutMs);

    public override void Dispose() => Server.DisposeAsync().AsTask().GetAwaiter().GetResult();
}
