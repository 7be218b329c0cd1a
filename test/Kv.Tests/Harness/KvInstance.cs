using System.Net;
using Kv.Server;
using Kv.Server.Configuration;

namespace Kv.Tests.Harness;

/// <summary>Kv in the test's own process, on a port of its own. The one file of the harness that knows KvServer.</summary>
public sealed class KvInstance : TestServer
{
    private KvInstance(KvServer server)
    {
        Server = server;
        if (server.Endpoints.Count == 0)
        {
            Dispose();
            Assert.Skip("no transport of Kv listens yet");
        }

        EndPoint = server.Endpoints[0];
    }

    /// <summary>The server itself, for tests that look inside.</summary>
    public KvServer Server { get; }

    public override string Name => "Kv";

    public override EndPoint EndPoint { get; }

    /// <summary>Starts a server with options in the form of kv-server's command line: "--name", "value".</summary>
    public static KvInstance Start(params string[] options) =>
        new(StartServer(["--port", "0", "--bind", "127.0.0.1", .. options]));

    private static KvServer StartServer(string[] options)
    {
        try
        {
            return KvServer.StartAsync(OptionsOf(options)).GetAwaiter().GetResult();
        }
        catch (Exception e) when (e is NullReferenceException or NotImplementedException or NotSupportedException)
        {
            Assert.Skip($"Kv does not start yet: {e.GetType().Name}");
            throw;
        }
    }

    /// <summary>Options as kv-server reads them from its command line.</summary>
    public static ServerOptions OptionsOf(string[] arguments)
    {
        var options = new ServerOptions();
        for (int i = 0; i + 1 < arguments.Length; i += 2)
        {
            var option = OptionTable.Find(arguments[i][2..]) ?? throw new ArgumentException($"no option {arguments[i]}");
            if (!option.TryParse(options, arguments[i + 1], out object value, out string error))
                throw new ArgumentException($"{arguments[i]} {arguments[i + 1]}: {error}");
            option.Write(options, value);
        }

        return options;
    }

    /// <summary>Skips the test while Kv cannot start.</summary>
    public static void RequireServer() => Start().Dispose();

    public override void Dispose() => Server.DisposeAsync().AsTask().GetAwaiter().GetResult();
}
