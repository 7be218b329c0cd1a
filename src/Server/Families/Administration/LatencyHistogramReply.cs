using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Metrics;

namespace Kv.Server.Families;

/// <summary>LATENCY HISTOGRAM: for each command its calls, and how many of them took up to how long.</summary>
internal static class LatencyHistogramReply
{
    /// <summary>Commands that one call names; there are not as many.</summary>
    private const int CommandsMax = 1024;

    /// <summary>The first bound is 1,024 nanoseconds.</summary>
    private const int FirstExponent = 10;

    public static void Write(ref CommandContext context)
    {
        context.Args.RequireAtMost(CommandsMax, "commands for LATENCY HISTOGRAM");
        var commands = new List<Command>();
        if (context.Args.Remaining == 0) commands.AddRange(context.Server.Commands.All.SelectMany(WithSubcommands));
        while (context.Args.Remaining > 0)
            commands.AddRange(Named(context.Server.Commands, context.Args.NextBytes()));
        if (!context.Args.Finish(context.Reply)) return;
        var counters = context.Server.Counters;
        // One for a command however often it is named, and only for those with calls: a histogram takes 4 KB, and a
        // name may stand for all of CLIENT.
        var called = commands.Distinct().Where(command => counters.SumOf(command).Calls > 0)
            .ToDictionary(command => command, counters.LatenciesOf);
        var shown = commands.Where(command => called.TryGetValue(command, out var its) && its.Total > 0).ToList();
        context.Reply.WriteMap(shown.Count);
        foreach (var command in shown) WriteEntry(context.Reply, command.FullName, called[command]);
    }

    private static void WriteEntry(ReplyWriter reply, string name, LatencyHistogram latencies)
    {
        var bounds = new List<(long Microseconds, long Count)>();
        long before = 0;
        foreach (var (exponent, count) in latencies.Cumulative(FirstExponent))
        {
            Debug.Assert(count >= before, "each count has those before it in it");
            if (count > before) bounds.Add((LatencyHistogram.ShownMicroseconds(exponent), count));
            before = count;
        }

        reply.WriteBulk(Encoding.ASCII.GetBytes(name));
        reply.WriteMap(2);
        reply.WriteBulk("calls"u8);
        reply.WriteInteger(before);
        reply.WriteBulk("histogram_usec"u8);
        reply.WriteMap(bounds.Count);
        foreach (var (microseconds, count) in bounds)
        {
            reply.WriteInteger(microseconds);
            reply.WriteInteger(count);
        }
    }

    /// <summary>A command with its subcommands, or one subcommand ("config|get"); none when there is no such
    /// command.</summary>
    private static IEnumerable<Command> Named(CommandTable table, ReadOnlySpan<byte> name)
    {
        int bar = name.IndexOf((byte)'|');
        if (bar < 0) return table.Find(name) is { } command ? WithSubcommands(command) : [];
        return table.Find(name[..bar])?.FindSubcommand(name[(bar + 1)..]) is { } subcommand ? [subcommand] : [];
    }

    private static IEnumerable<Command> WithSubcommands(Command command) => [command, .. command.Subcommands];
}
