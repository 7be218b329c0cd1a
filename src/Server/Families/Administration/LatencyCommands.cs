using System.Diagnostics;
using System.Text;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>LATENCY: what has kept clients waiting, and when.</summary>
internal static class LatencyCommands
{
    private const CommandFlags Flags =
        CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale;

    /// <summary>Events that one RESET names; there are not as many.</summary>
    private const int EventsMax = 1024;

    private static readonly string[] Tips =
        ["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"];

    internal static readonly Command[] Table =
    [
        new("LATENCY", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell what took long.",
            Complexity = "Depends on the subcommand.", Since = "2.8.13", Group = CommandGroup.Server,
            Subcommands =
            [
                new("DOCTOR", arity: 2, Doctor)
                {
                    Summary = "Says in words what took long, and what can be done about it.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server, Flags = Flags, Tips = Tips,
                },
                new("GRAPH", arity: 3, Graph)
                {
                    Usage = "event",
                    Summary = "Draws how long an event took, and when.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server, Flags = Flags, Tips = Tips,
                },
                HelpReply.Row("2.8.13", CommandGroup.Server),
                new("HISTOGRAM", arity: -2, LatencyHistogramReply.Write)
                {
                    Usage = "[COMMAND [COMMAND ...]]",
                    Summary = "Returns how many calls of some commands, or of all, took up to how many microseconds.",
                    Complexity = "O(N), N the commands", Since = "7.0.0", Group = CommandGroup.Server, Flags = Flags,
                    Tips = Tips,
                },
                new("HISTORY", arity: 3, History)
                {
                    Usage = "event",
                    Summary = "Returns the last samples of an event: Unix times and milliseconds.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server, Flags = Flags, Tips = Tips,
                },
                new("LATEST", arity: 2, Latest)
                {
                    Summary = "Returns each event with its last time, its last and its worst milliseconds.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server, Flags = Flags, Tips = Tips,
                },
                new("RESET", arity: -2, Reset)
                {
                    Usage = "[event [event ...]]",
                    Summary = "Forgets the samples of some events, or of all; returns of how many there were any.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "response_policy:agg_sum"],
                },
            ],
        },
    ];

    private static void Doctor(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var server = context.Server;
        string report = LatencyReport.Write(server.Latency.All(), server.Options, NowUnixSeconds(server));
        context.Reply.WriteVerbatim(Encoding.ASCII.GetBytes(report));
    }

    private static void Graph(ref CommandContext context)
    {
        byte[] name = context.Args.NextBytes().ToArray();
        if (!context.Args.Finish(context.Reply)) return;
        var server = context.Server;
        if (Find(name) is not { } cause
            || server.Latency.All().FirstOrDefault(s => s.Event == cause) is not { Samples: not null } series)
        {
            context.Fail([.. "ERR No samples available for event '"u8, .. name, .. "'"u8]);
            return;
        }

        context.Reply.WriteVerbatim(Encoding.ASCII.GetBytes(LatencyGraph.Draw(series, NowUnixSeconds(server))));
    }

    private static void History(ref CommandContext context)
    {
        var cause = Find(context.Args.NextBytes());
        if (!context.Args.Finish(context.Reply)) return;
        var samples = cause == null ? [] : context.Server.Latency.SamplesOf(cause.Value);
        var reply = context.Reply;
        reply.WriteArray(samples.Length);
        foreach (var sample in samples)
        {
            reply.WriteArray(2);
            reply.WriteInteger(sample.UnixSeconds);
            reply.WriteInteger(sample.Milliseconds);
        }
    }

    private static void Latest(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var all = context.Server.Latency.All();
        var reply = context.Reply;
        reply.WriteArray(all.Length);
        foreach (var series in all)
        {
            Debug.Assert(series.Samples.Length > 0, "a cause is known by its samples");
            reply.WriteArray(4);
            reply.WriteBulk(Encoding.ASCII.GetBytes(series.Name));
            reply.WriteInteger(series.Samples[^1].UnixSeconds);
            reply.WriteInteger(series.Samples[^1].Milliseconds);
            reply.WriteInteger(series.WorstMilliseconds);
        }
    }

    private static void Reset(ref CommandContext context)
    {
        var latency = context.Server.Latency;
        context.Args.RequireAtMost(EventsMax, "events for LATENCY RESET");
        var named = new List<LatencyEvent>();
        bool isAll = context.Args.Remaining == 0;
        while (context.Args.Remaining > 0)
            if (Find(context.Args.NextBytes()) is { } cause) named.Add(cause);
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger((isAll ? [.. Enum.GetValues<LatencyEvent>()] : named).Count(latency.Reset));
    }

    private static LatencyEvent? Find(ReadOnlySpan<byte> name) =>
        LatencyEvents.Find(Encoding.Latin1.GetString(name));

    private static long NowUnixSeconds(KvServer server) => server.Time.GetUtcNow().ToUnixTimeSeconds();
}
