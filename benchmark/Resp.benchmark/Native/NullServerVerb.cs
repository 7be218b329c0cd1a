using System.Globalization;
using System.Net.Sockets;
using global::CommandLine;
using RespBenchmark.CommandLine;
using RespBenchmark.NullServer;

namespace RespBenchmark.Native;

/// <summary>The verb that serves without working, until it is interrupted.</summary>
[Verb("null-server", HelpText =
    "Answer any command without work: the limit of a client, or a peer that fails as asked.")]
internal sealed class NullServerVerb
{
    [Option("host", Default = "127.0.0.1", HelpText = "Address to listen on.")]
    public string Host { get; set; } = "127.0.0.1";

    [Option('p', "port", Default = 6379, HelpText = "Port; 0: any free one, printed.")]
    public int Port { get; set; }

    [Option("unix", HelpText = "Unix socket instead of an address.")]
    public string? Unix { get; set; }

    [Option("threads", Default = 1, HelpText = "Threads that serve.")]
    public int Threads { get; set; }

    [Option("reply", HelpText =
        "One reply to everything: ok, pong, one, nil, empty, or RESP with \\r\\n. Default: by the command's name.")]
    public string? Reply { get; set; }

    [Option("value", Default = 8, HelpText = "Bytes of values in replies.")]
    public int Value { get; set; }

    [Option("elements", Default = 10, HelpText = "Elements of LRANGE's and the like's replies.")]
    public int Elements { get; set; }

    [Option("dbsize", Default = 0L, HelpText = "What DBSIZE says.")]
    public long Keys { get; set; }

    [Option("delay", Default = "0", HelpText = "Sleep before each turn's replies.")]
    public string Delay { get; set; } = "0";

    [Option("stall", HelpText = "1s/10s: sleep 1 s in every 10 s.")]
    public string? Stall { get; set; }

    [Option("bad", HelpText = "Fault at every N-th reply: errors|type|bytes|short|close|hang|value[:N], N = 1000.")]
    public string? Bad { get; set; }

    [Option("split", HelpText = "Send replies in pieces of 1 to 64 bytes.")]
    public bool Split { get; set; }

    /// <exception cref="UsageException">An option's value is off.</exception>
    public NullServerOptions ToOptions()
    {
        string[] stall = Stall?.Split('/') ?? ["0", "10s"];
        if (stall.Length != 2) throw new UsageException($"--stall takes two durations like 1s/10s, not '{Stall}'");
        string[] bad = Bad?.Split(':') ?? ["none"];
        int every = 1000;
        if (bad.Length > 2 || !Enum.TryParse(bad[0], ignoreCase: true, out NullFault fault)
            || char.IsAsciiDigit(bad[0][0])
            || (bad.Length == 2 && (!int.TryParse(bad[1], NumberStyles.None, CultureInfo.InvariantCulture, out every)
                || every < 1)))
            throw new UsageException(
                $"--bad takes errors, type, bytes, short, close, hang or value, with :N from 1, not '{Bad}'");
        if (Threads is < 1 or > 128) throw new UsageException($"--threads takes 1 to 128, not {Threads}");
        if (Value is < 0 or > 1 << 29) throw new UsageException($"--value takes 0 to 536870912 bytes, not {Value}");
        return new NullServerOptions
        {
            Host = Host, Port = Port, UnixPath = Unix, Threads = Threads, Reply = Reply, ValueBytes = Value,
                Elements = Elements, Keys = Keys,
            Delay = DurationText.Parse("--delay", Delay), Stall = DurationText.Parse("--stall", stall[0]),
            StallEvery = DurationText.Parse("--stall", stall[1]), Fault = fault, FaultEvery = every, Split = Split,
        };
    }

    /// <summary>Serves until it is interrupted.</summary>
    public int Run(Surroundings surroundings)
    {
        try
        {
            using var server = NullServer.NullServer.Start(ToOptions());
            surroundings.Note($"null server: pid {Environment.ProcessId}, {server.EndPoint}");
            surroundings.Interrupt.Wait(Timeout.InfiniteTimeSpan);
            surroundings.Note($"null server: {server.Answered} commands answered");
            return ExitCode.Ok;
        }
        catch (SocketException failure)
        {
            surroundings.Note($"cannot listen on {Unix ?? $"{Host}:{Port}"}: {failure.Message}");
            return ExitCode.RunError;
        }
    }
}
