using System.Net;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Metrics;
using Kv.Storage;

namespace Kv.Server;

/// <summary>Gathers the figures of a server, from wherever they are kept, for INFO and whoever else reports.</summary>
/// <remarks>Cost: a pass over the connections, the workers' counters and the databases. No lock is held over
/// it.</remarks>
internal static class ServerReport
{
    public static ServerFigures Gather(KvServer server)
    {
        var options = server.Options;
        var store = server.Store;
        var stats = store.Stats;
        var rates = server.Rates.PerSecond;
        var clients = ClientTotals.Of(server);
        var cpu = Environment.CpuUsage;
        var memory = SystemMemory.Read();
        return new ServerFigures
        {
            RedisVersion = ServerVersion.RedisVersion,
            KvVersion = ServerVersion.KvVersion,
            RunId = server.RunId,
            Transport = server.Transport,
            ConfigFile = options.ConfigFile,
            TcpPort = server.Endpoints.OfType<IPEndPoint>().FirstOrDefault()?.Port ?? 0,
            Hz = options.Hz,
            Workers = server.Workers,
            UptimeSeconds = (server.TickMs - server.StartedTickMs) / 1000,
            UnixMicroseconds =
                (server.Time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond,

            ConnectedClients = server.Connections.Count,
            MaxClients = server.MaxClients,
            ReservedClients = clients.Reserved,
            LingeringConnections = server.Connections.Lingering,
            LogLinesDropped = (server.LogFactory as ILogFigures)?.DroppedLines ?? 0,
            LogLinesSuppressed = server.LogBrakes.Suppressed,
            BlockedClients = server.Blocked.Count + server.Pause.HeldCount,
            TimedClients = server.Blocked.TimedCount,
            PubSubClients = server.PubSub.SubscriberCount,
            WatchingClients = clients.Watching,
            WatchedKeys = server.Store.Watches.Count,
            AwaitedKeys = server.Store.Watches.AwaitedCount,
            KeysEndingWaits = server.Blocked.KeysEndingWaits,
            InputBytesMax = clients.InputMax,
            OutputBytesMax = clients.OutputMax,

            StoreBytes = store.UsedBytes,
            StorePeakBytes = store.PeakUsedBytes,
            IndexBytes = stats.IndexBytes,
            LogBytes = stats.LogBytes,
            BlockBytes = stats.BlockBytes,
            ClientBytes = clients.Buffers,
            MessageBytes = server.PubSub.MessageBytes,
            ManagedBytes = server.Store.Budget.HeapBytes,
            WarmBytes = memory.WarmBytes,
            Mappings = memory.Mappings,
            MappingsMax = memory.MappingsMax,
            MemoryRefusals = memory.Failures,
            ResidentBytes = Environment.WorkingSet,
            SystemBytes = ProcessFigures.SystemBytes,
            Scripts = server.Scripts.Cache.Count,
            ScriptBytes = server.Scripts.Cache.Bytes,
            ScriptMachineBytes = server.Scripts.MachineBytes,
            Functions = server.Scripts.Functions.FunctionCount,
            Libraries = server.Scripts.Functions.All.Count,
            LibraryBytes = server.Scripts.Functions.Bytes,
            ScriptsAlone = server.Scripts.Alone,
            MaxMemory = store.MaxMemoryBytes,
            UncountedBytes = store.Budget.UncountedBytes,
            MaxMemoryPolicy = OptionTable.Find("maxmemory-policy")!.Read(options),

            Connections = server.Connections.Accepted,
            Rejected = server.Connections.Rejected,
            Reserved = server.Connections.Reserved,
            Commands = server.Counters.Sum(c => c.Commands),
            InputBytes = server.Counters.Sum(c => c.BytesIn),
            OutputBytes = server.Counters.Sum(c => c.BytesOut),
            OpsPerSecond = (long)rates.Commands,
            InputKbps = rates.InputBytes / 1024,
            OutputKbps = rates.OutputBytes / 1024,
            ExpiredKeys = stats.ExpiredKeys - server.StatsAtReset.Stats.ExpiredKeys,
            EvictedKeys = stats.EvictedKeys - server.StatsAtReset.Stats.EvictedKeys,
            ExpiredFields = stats.ExpiredFields - server.StatsAtReset.Stats.ExpiredFields,
            KeyspaceHits = server.Counters.Sum(c => c.Hits),
            KeyspaceMisses = server.Counters.Sum(c => c.Misses),
            Channels = server.PubSub.ChannelCount,
            Patterns = server.PubSub.PatternCount,
            ShardChannels = server.PubSub.ShardChannelCount,
            ErrorReplies = server.Counters.Sum(c => c.Errors),
            OutputLimitCloses = server.Counters.OutputLimitCloses,
            EvictedClients = server.ClientMemory.Evicted,
            InputLimitCloses = server.Counters.InputLimitCloses,
            AuthTimeouts = server.Counters.AuthTimeouts,
            PendingFrees = stats.PendingFrees,
            ReclaimedSegments = stats.ReclaimedSegments - server.StatsAtReset.Stats.ReclaimedSegments,
            IndexGrowths = stats.IndexGrowths - server.StatsAtReset.Stats.IndexGrowths,
            Stalls = stats.Stalls - server.StatsAtReset.Stats.Stalls,

            ReplicationId = server.RunId,
            CpuSystem = cpu.PrivilegedTime,
            CpuUser = cpu.UserTime,
            Collections = GC.CollectionCount(0),
            FullCollections = GC.CollectionCount(GC.MaxGeneration),
            CollectionPause = GC.GetTotalPauseDuration(),

            Keyspace = Keyspace(server),
            CommandCalls = CommandCalls(server),
            Errors = [.. server.Counters.Errors.Select(error => new ErrorFigures(error.Code, error.Count))
                .OrderBy(error => error.Code, StringComparer.Ordinal)],
        };
    }

    private static List<KeyspaceFigures> Keyspace(KvServer server)
    {
        var all = new List<KeyspaceFigures>();
        for (int database = 0; database < server.Options.Databases; database++)
        {
            long keys = server.Store.Count(database);
            if (keys == 0) continue;
            all.Add(new(database, keys, server.Store.CountWithExpiry(database), server.Store.AverageTtlMs(database),
                server.Store.CountWithFieldExpiry(database)));
        }
        return all;
    }

    private static List<CommandFigures> CommandCalls(KvServer server)
    {
        var all = new List<CommandFigures>();
        foreach (var command in server.Commands.All)
        {
            Add(command);
            foreach (var subcommand in command.Subcommands) Add(subcommand);
        }
        return all;

        void Add(Command command)
        {
            var counts = server.Counters.SumOf(command);
            if (counts.Calls == 0 && counts.Rejected == 0) return;
            all.Add(new(command.FullName, counts.Calls, counts.Microseconds, counts.Rejected, counts.Failed));
        }
    }

    /// <summary>What the connections hold together, and the most that one holds.</summary>
    private readonly record struct ClientTotals(long Buffers, long InputMax, long OutputMax, long Reserved,
        long Watching)
    {
        public static ClientTotals Of(KvServer server)
        {
            long buffers = 0, inputMax = 0, outputMax = 0, reserved = 0, watching = 0;
            foreach (var session in server.Connections.Snapshot())
            {
                buffers += session.BufferBytes + (session.Transaction?.QueuedBytes ?? 0);
                inputMax = Math.Max(inputMax, session.QueryBytes);
                outputMax = Math.Max(outputMax, session.OutputBytes);
                if (session.IsReserved) reserved++;
                if (session.Transaction is { Watches.Count: > 0 }) watching++;
            }
            return new(buffers, inputMax, outputMax, reserved, watching);
        }
    }
}
