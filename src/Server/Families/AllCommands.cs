using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>Every command; one table for all servers of the process.</summary>
internal static class AllCommands
{
    /// <summary>The families: one line each.</summary>
    private static readonly Command[][] Families =
    [
        CommandCommands.Table,
        ConnectionCommands.Table,
        ClientCommands.Table,
        ServerCommands.Table,
        SnapshotCommands.Table,
        ConfigCommands.Table,
        AclCommands.Table,
        PubSubCommands.Table,
        TransactionCommands.Table,
        EvalCommands.Table,
        ScriptCommands.Table, FunctionCommands.Table,
        ClusterCommands.Table,
        StringCommands.Table,
        BitmapCommands.Table,
        HyperLogLogCommands.Table,
        CounterCommands.Table,
        ListCommands.Table,
        BlockingCommands.Table,
        HashCommands.Table,
        HashExpiryCommands.Table,
        SetCommands.Table,
        SortedSetCommands.Table,
        SortedSetCombinationCommands.Table,
        GeoCommands.Table,
        StreamCommands.Table,
        StreamGroupCommands.Table,
        ExpiryCommands.Table,
        KeyCommands.Table,
        DumpCommands.Table,
        MigrateCommand.Table,
        SortCommand.Table,
        ScanCommands.Table,
        LcsCommand.Table,
        MemoryCommands.Table, KeyReportCommands.Table,
        SlowLogCommands.Table,
        LatencyCommands.Table,
        MonitorCommand.Table,
        ReplicationCommands.Table,
        DebugCommands.Table,
    ];

    public static CommandTable Table { get; } = new([.. Families.SelectMany(family => family)]);
}
