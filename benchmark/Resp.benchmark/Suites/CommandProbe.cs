using Kv.Protocol;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Suites;

/// <summary>Finds out whether a target has the commands of a panel, before it is loaded.</summary>
/// <remarks>Each command is sent once by its name alone: who lacks it says so, who has it misses its arguments, and nothing is changed.</remarks>
internal static class CommandProbe
{
    /// <returns>Why the panel cannot run there; null: it can.</returns>
    /// <exception cref="ConnectException">The target cannot be reached.</exception>
    public static string? Missing(Target target, RunVerb options)
    {
        var reader = new WorkloadReader(options);
        ShapedWorkload workload = reader.Workload(1);
        IEnumerable<CommandKind> kinds = workload.Kinds;
        if (options.Load != "none" && reader.Load() is { } load) kinds = kinds.Concat(load.Workload.Kinds);
        if (Missing(target, kinds.Select(kind => CommandOf(kind.Name)).Distinct()) is { } missing) return missing;
        using ControlConnection control = ControlConnection.Open(target);
        foreach (string script in workload.Scripts)
        {
            RespValue reply = control.Send("SCRIPT", "LOAD", script);
            if (reply.IsError) return $"scripts do not load: {reply.Text}";
        }

        return null;
    }

    /// <returns>The first command that is not known there, in words; null: all are.</returns>
    public static string? Missing(Target target, IEnumerable<string> commands)
    {
        using ControlConnection control = ControlConnection.Open(target);
        foreach (string name in commands)
        {
            RespValue reply = control.Send(name);
            if (reply.IsError && reply.Text.Contains("unknown command", StringComparison.OrdinalIgnoreCase)) return $"{name} is not known there";
        }

        return null;
    }

    /// <summary>The command of a kind, which reports call by its operation.</summary>
    public static string CommandOf(string kind) => kind switch
    {
        _ when kind.StartsWith("BITOP_", StringComparison.Ordinal) => "BITOP",
        _ when kind.StartsWith("BITFIELD_", StringComparison.Ordinal) => "BITFIELD",
        "MPFADD" => "PFADD",
        "SCRIPTSET" or "SCRIPTGET" or "SCRIPTRETKEY" => "EVALSHA",
        "PING_INLINE" or "PING_MBULK" => "PING",
        _ => kind,
    };
}
