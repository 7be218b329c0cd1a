namespace Kv.Server.Configuration;

/// <summary>Options that ask for something this server does not do, so that it must not start as if it did.</summary>
internal static class RefusedOptions
{
    private const string NoReplica = "the server cannot be a replica yet";

    internal static readonly Option[] Rows =
    [
        new Option<bool>("cluster-enabled", YesNoType.Instance, false)
        {
            Class = OptionClass.Refused, Reason = "cluster mode does not exist yet", Change = OptionChange.AtStart,
        },
        new Option<bool>("daemonize", YesNoType.Instance, false)
        {
            Class = OptionClass.Refused, Change = OptionChange.AtStart,
            Reason = "the server stays in the foreground: start it from systemd, a container or with '&'",
        },
        new Option<bool>("tls-replication", YesNoType.Instance, false)
        {
            Class = OptionClass.Refused, Reason = NoReplica,
        },
        new Option<bool>("tls-cluster", YesNoType.Instance, false)
        {
            Class = OptionClass.Refused, Reason = "cluster mode does not exist yet",
        },
        new Option<string>("replicaof", new PrimaryType(), "")
        {
            Class = OptionClass.Refused, Reason = NoReplica, Change = OptionChange.AtStart, Aliases = ["slaveof"],
        },
        new Option<long>("min-replicas-to-write", new NumberType(0, int.MaxValue), 0)
        {
            Class = OptionClass.Refused, Aliases = ["min-slaves-to-write"],
            Reason = "writes are not refused for want of replicas yet",
        },
    ];

    /// <summary>Lines of a file that are not options, and why they stop the start.</summary>
    internal static readonly Dictionary<string, string> Directives = new(StringComparer.OrdinalIgnoreCase)
    {
        ["loadmodule"] = "modules cannot be loaded",
        ["sentinel"] = "sentinel mode does not exist",
    };

    internal static (string Word, string Value)[] Same(params string[] words) =>
        Array.ConvertAll(words, word => (word, word));
}
