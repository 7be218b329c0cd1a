using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>The commands of a cluster, which this server refuses: the error tells clients that there is none.</summary>
internal static class ClusterCommands
{
    internal static readonly Command[] Table =
    [
        new("ASKING", arity: 1, Refuse)
        {
            Summary = "Lets the next command use a slot that is being taken over.",
            Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
            Flags = CommandFlags.Fast,
            Categories = AclCategories.Connection,
        },
        new("CLUSTER", arity: -2, handler: null)
        {
            Summary = "Looks after the cluster; this server has none.",
            Complexity = "Depends on the subcommand.", Since = "3.0.0", Group = CommandGroup.Cluster,
            Subcommands =
            [
                new("ADDSLOTS", arity: -3, Refuse)
                {
                    Usage = "slot [slot ...]",
                    Summary = "Gives slots to this node.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("ADDSLOTSRANGE", arity: -4, Refuse)
                {
                    Usage = "start-slot end-slot [start-slot end-slot ...]",
                    Summary = "Gives ranges of slots to this node.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "7.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("BUMPEPOCH", arity: 2, Refuse)
                {
                    Summary = "Raises the configuration epoch of this node.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("COUNT-FAILURE-REPORTS", arity: 3, Refuse)
                {
                    Usage = "node-id",
                    Summary = "Counts the nodes that report a node as failing.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Admin | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("COUNTKEYSINSLOT", arity: 3, Refuse)
                {
                    Usage = "slot",
                    Summary = "Counts the keys of a slot on this node.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                },
                new("DELSLOTS", arity: -3, Refuse)
                {
                    Usage = "slot [slot ...]",
                    Summary = "Takes slots from this node.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("DELSLOTSRANGE", arity: -4, Refuse)
                {
                    Usage = "start-slot end-slot [start-slot end-slot ...]",
                    Summary = "Takes ranges of slots from this node.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "7.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("FAILOVER", arity: -2, Refuse)
                {
                    Usage = "[FORCE | TAKEOVER]",
                    Summary = "Makes a replica take the place of its primary.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("FLUSHSLOTS", arity: 2, Refuse)
                {
                    Summary = "Takes all slots from this node.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("FORGET", arity: 3, Refuse)
                {
                    Usage = "node-id",
                    Summary = "Removes a node from the table of nodes.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("GETKEYSINSLOT", arity: 4, Refuse)
                {
                    Usage = "slot count",
                    Summary = "Lists keys of a slot.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                HelpReply.Row("5.0.0", CommandGroup.Cluster),
                new("INFO", arity: 2, Refuse)
                {
                    Summary = "Describes the state of the cluster.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("KEYSLOT", arity: 3, Refuse)
                {
                    Usage = "key",
                    Summary = "Tells the slot of a key.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                },
                new("LINKS", arity: 2, Refuse)
                {
                    Summary = "Lists the connections to the other nodes.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "7.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("MEET", arity: -4, Refuse)
                {
                    Usage = "ip port [cluster-bus-port]",
                    Summary = "Makes two nodes know each other.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("MYID", arity: 2, Refuse)
                {
                    Summary = "Tells the id of this node.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                },
                new("MYSHARDID", arity: 2, Refuse)
                {
                    Summary = "Tells the id of the shard of this node.",
                    Complexity = "O(1)", Since = "7.2.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("NODES", arity: 2, Refuse)
                {
                    Summary = "Describes all nodes as this one sees them.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("REPLICAS", arity: 3, Refuse)
                {
                    Usage = "node-id",
                    Summary = "Lists the replicas of a node.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "5.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Admin | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("REPLICATE", arity: 3, Refuse)
                {
                    Usage = "node-id",
                    Summary = "Makes this node a replica of another.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("RESET", arity: -2, Refuse)
                {
                    Usage = "[HARD | SOFT]",
                    Summary = "Makes this node forget the cluster.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Admin | CommandFlags.Stale | CommandFlags.NoScript,
                },
                new("SAVECONFIG", arity: 2, Refuse)
                {
                    Summary = "Writes the configuration of the cluster to disk.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("SET-CONFIG-EPOCH", arity: 3, Refuse)
                {
                    Usage = "config-epoch",
                    Summary = "Sets the configuration epoch of a new node.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("SETSLOT", arity: -4, Refuse)
                {
                    Usage = "slot <IMPORTING importing | MIGRATING migrating | NODE node | STABLE>",
                    Summary = "Says who serves a slot, and who gives and takes it.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
                    Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.Stale,
                },
                new("SHARDS", arity: 2, Refuse)
                {
                    Summary = "Describes the shards and their slots.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "7.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Loading | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                },
                new("SLAVES", arity: 3, Refuse)
                {
                    Usage = "node-id",
                    Summary = "The old name of CLUSTER REPLICAS.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Admin | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                    DeprecatedSince = "5.0.0",
                },
                new("SLOTS", arity: 2, Refuse)
                {
                    Summary = "Tells which nodes serve which slots.",
                    Complexity = "O(N), N the slots, keys or nodes named", Since = "3.0.0",
                    Group = CommandGroup.Cluster,
                    Flags = CommandFlags.Loading | CommandFlags.Stale,
                    Tips = ["nondeterministic_output"],
                    DeprecatedSince = "7.0.0",
                },
            ],
        },
        new("READONLY", arity: 1, Refuse)
        {
            Summary = "Lets this connection read from a replica.",
            Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
            Flags = CommandFlags.Fast | CommandFlags.Loading | CommandFlags.Stale,
            Categories = AclCategories.Connection,
        },
        new("READWRITE", arity: 1, Refuse)
        {
            Summary = "Takes READONLY back.",
            Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Cluster,
            Flags = CommandFlags.Fast | CommandFlags.Loading | CommandFlags.Stale,
            Categories = AclCategories.Connection,
        },
    ];

    private static void Refuse(ref CommandContext context) => context.Fail(Errors.NoCluster);
}
