using System.Net;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Tests.Harness;

/// <summary>Kv in the test's own process, on a port of its own. The one file of the harness that knows
/// KvServer.</summary>
public sealed class KvInstance : TestServer
{
    /// <summary>KV_TLS=1: clients that <see cref="TestServer.Connect"/> makes speak TLS.</summary>
    private static readonly TlsInstead? Tls =
        Environment.GetEnvironmentVariable("KV_TLS") == "1" ? new TlsInstead() : null;

    private KvInstance(KvServer server)
    {
        Server = server;
        EndPoint = server.Endpoints[0];
    }

    /// <summary>Options of every server of tests. Where others use the processors, any command may be held up for 10
    /// ms: the memory of its entry in the slow log would be missing where a test counts bytes.</summary>
    private static readonly string[] Usual =
        ["--port", "0", "--bind", "127.0.0.1", "--slowlog-log-slower-than", "1000000000", "--save", ""];

    private static string[] UsualNow => [.. Usual, .. Tls?.NextOptions() ?? []];

    /// <summary>The server itself, for tests that look inside.</summary>
    public KvServer Server { get; }

    public override string Name => "Kv";

    public override EndPoint EndPoint { get; }

    /// <summary>Starts a server with options in the form of kv-server's command line: "--name", "value".</summary>
    public static KvInstance Start(params string[] options) =>
        new(KvServer.StartAsync(OptionsOf([.. UsualNow, .. options])).GetAwaiter()
            .GetResult());

    /// <summary>The same with files, as the program has them.</summary>
    public static KvInstance StartOnDisk(string directory, params string[] options)
    {
        var parsed = OptionsOf([.. UsualNow, "--dir", directory, .. options]);
        parsed.LoadsAtStart = true;
        return new KvInstance(KvServer.StartAsync(parsed).GetAwaiter().GetResult());
    }

    /// <summary>The same with a log.</summary>
    public static KvInstance Start(ILoggerFactory log, params string[] options) =>
        new(KvServer.StartAsync(OptionsOf([.. UsualNow, .. options]), log).GetAwaiter()
            .GetResult());

    /// <summary>The same by a clock of the test's.</summary>
    public static KvInstance Start(TimeProvider time, params string[] options) =>
        new(KvServer.StartAsync(OptionsOf([.. UsualNow, .. options]), log: null, time,
            AllCommands.Table, default).GetAwaiter().GetResult());

    /// <summary>The same with commands of the test's.</summary>
    internal static KvInstance Start(CommandTable commands, params string[] options) =>
        new(KvServer.StartAsync(OptionsOf([.. UsualNow, .. options]), log: null,
            TimeProvider.System, commands, default).GetAwaiter().GetResult());

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
    public void AwaitBlocked(int count, int timeoutMs = 60_000) =>
        Eventually.Holds(() => Server.Blocked.Count == count,
            () => $"{Server.Blocked.Count} clients are blocked, not {count}", timeoutMs);

    /// <summary>Waits until the store is whole: the keys of a client that has left in the middle are let go of by the
    /// store's thread.</summary>
    public void AwaitWhole() =>
        Eventually.Holds(() => Record.Exception(Server.Store.CheckIntegrity) == null,
            () => $"{Record.Exception(Server.Store.CheckIntegrity)}");

    /// <summary>What the server has of a client.</summary>
    internal Session SessionOf(RespClient client)
    {
        long id = client.Ok("CLIENT ID").Integer;
        return Server.Connections.Snapshot().Single(session => session.Id == id);
    }

    /// <summary>Waits until a client's worker has sent the messages that were left for it, or has left them where they
    /// are because the client has enough unread: on a busy machine publishers are far ahead of it.</summary>
    internal static void AwaitTaken(Session session) =>
        Eventually.Holds(
            () => session.Messages is not { Bytes: > 0 }
                || session.OutputBytes - session.Messages.Bytes >= ISessionOwner.MessageBytesAhead,
            () => $"{session.Messages?.Bytes} bytes wait");

    protected override RespClient Open(int timeoutMs) =>
        Tls?.Open(Server.Options.Tls.Port, timeoutMs) ?? base.Open(timeoutMs);

    public override void Dispose() => Server.DisposeAsync().AsTask().GetAwaiter().GetResult();
}
