using System.Globalization;
using Kv.Server.Configuration;

namespace Kv.Server.Reports;

/// <summary>Metrics of where memory is.</summary>
internal static class MemoryMetrics
{
    public static readonly Metric[] Rows =
    [
        new("used_memory", MetricKind.Gauge,
            "Store (index, log, blocks, clients' buffers, messages) and managed heap, in bytes", r => r.UsedBytes)
            { Page = "redis_memory_used_bytes" },
        new("used_memory_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.UsedBytes)),
        new("used_memory_rss", MetricKind.Gauge, "Resident memory of the process", r => r.ResidentBytes)
            { Page = "redis_memory_used_rss_bytes" },
        new("used_memory_rss_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.ResidentBytes)),
        new("used_memory_peak", MetricKind.Gauge, "The highest used_memory", r => r.PeakBytes)
            { Page = "redis_memory_used_peak_bytes" },
        new("used_memory_peak_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.PeakBytes)),
        new("used_memory_peak_perc", MetricKind.Gauge, "used_memory of used_memory_peak",
            r => Percent(r.UsedBytes, r.PeakBytes)),
        new("used_memory_overhead", MetricKind.Gauge, "All but the log and blocks: index, buffers, managed heap",
            r => r.UsedBytes - r.DatasetBytes) { Page = "redis_memory_used_overhead_bytes" },
        new("used_memory_startup", MetricKind.Gauge, "As kv_mem_managed: what an empty server uses",
            r => r.Use.HeapBytes) { Page = "redis_memory_used_startup_bytes" },
        new("used_memory_dataset", MetricKind.Gauge, "The log, with what is dead but not reclaimed, and blocks",
            r => r.DatasetBytes) { Page = "redis_memory_used_dataset_bytes" },
        new("used_memory_dataset_perc", MetricKind.Gauge, "used_memory_dataset of used_memory",
            r => Percent(r.DatasetBytes, r.UsedBytes)),
        new("allocator_allocated", MetricKind.Gauge, "As used_memory", r => r.UsedBytes)
            { Page = "redis_allocator_allocated_bytes" },
        new("allocator_active", MetricKind.Gauge, "As used_memory", r => r.UsedBytes)
            { Page = "redis_allocator_active_bytes" },
        new("allocator_resident", MetricKind.Gauge, "As used_memory_rss", r => r.ResidentBytes)
            { Page = "redis_allocator_resident_bytes" },
        new("total_system_memory", MetricKind.Gauge, "Of the machine", r => ProcessFigures.SystemBytes)
            { Page = "redis_total_system_memory_bytes" },
        new("total_system_memory_human", MetricKind.Gauge, "For people",
            r => MetricValue.Size(ProcessFigures.SystemBytes)),
        new("used_memory_lua", MetricKind.Gauge,
            "Machines of scripts, with the last one's garbage; a part of kv_mem_managed", r => r.ScriptMachineBytes)
            { Page = "redis_memory_used_lua_bytes" },
        new("used_memory_vm_eval", MetricKind.Gauge, "As used_memory_lua", r => r.ScriptMachineBytes)
            { Page = "redis_memory_used_vm_eval_bytes" },
        new("used_memory_lua_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.ScriptMachineBytes)),
        new("used_memory_scripts_eval", MetricKind.Gauge, "Scripts that are known", r => r.Server.Scripts.Cache.Bytes)
            { Page = "redis_memory_used_scripts_eval_bytes" },
        new("number_of_cached_scripts", MetricKind.Gauge, "Scripts that are known", r => r.Server.Scripts.Cache.Count)
            { Page = "redis_number_of_cached_scripts" },
        new("number_of_functions", MetricKind.Gauge, "Functions of all libraries",
            r => r.Server.Scripts.Functions.FunctionCount) { Page = "redis_number_of_functions" },
        new("number_of_libraries", MetricKind.Gauge, "Libraries of functions",
            r => r.Server.Scripts.Functions.All.Count) { Page = "redis_number_of_libraries" },
        new("used_memory_vm_functions", MetricKind.Gauge, "Functions run on the machines of scripts", r => 0)
            { Page = "redis_memory_used_vm_functions_bytes" },
        new("used_memory_vm_total", MetricKind.Gauge, "As used_memory_lua", r => r.ScriptMachineBytes)
            { Page = "redis_memory_used_vm_total" },
        new("used_memory_vm_total_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.ScriptMachineBytes)),
        new("used_memory_functions", MetricKind.Gauge, "Libraries of functions", r => r.Server.Scripts.Functions.Bytes)
            { Page = "redis_memory_used_functions_bytes" },
        new("used_memory_scripts", MetricKind.Gauge, "Scripts and libraries that are known",
            r => r.Server.Scripts.Cache.Bytes + r.Server.Scripts.Functions.Bytes)
            { Page = "redis_memory_used_scripts_bytes" },
        new("used_memory_scripts_human", MetricKind.Gauge, "For people",
            r => MetricValue.Size(r.Server.Scripts.Cache.Bytes + r.Server.Scripts.Functions.Bytes)),
        new("maxmemory", MetricKind.Gauge, "Limit of used_memory, 0 for none", r => r.Store.MaxMemoryBytes)
            { Page = "redis_memory_max_bytes" },
        new("maxmemory_human", MetricKind.Gauge, "For people", r => MetricValue.Size(r.Store.MaxMemoryBytes)),
        new("maxmemory_policy", MetricKind.Fact, "What happens at maxmemory",
            r => OptionTable.Find("maxmemory-policy")!.Read(r.Options)),
        new("allocator_frag_ratio", MetricKind.Gauge, "The store's account has no gap to what it holds",
            r => MetricValue.Fraction(1, 2)) { Page = "redis_allocator_frag_ratio" },
        new("allocator_frag_bytes", MetricKind.Gauge, "As allocator_frag_ratio", r => 0)
            { Page = "redis_allocator_frag_bytes" },
        new("allocator_rss_ratio", MetricKind.Gauge, "As mem_fragmentation_ratio",
            r => Ratio(r.ResidentBytes, r.UsedBytes)) { Page = "redis_allocator_rss_ratio" },
        new("allocator_rss_bytes", MetricKind.Gauge, "As mem_fragmentation_bytes", r => r.ResidentBytes - r.UsedBytes)
            { Page = "redis_allocator_rss_bytes" },
        new("rss_overhead_ratio", MetricKind.Gauge, "All is in mem_fragmentation_ratio",
            r => MetricValue.Fraction(1, 2)),
        new("rss_overhead_bytes", MetricKind.Gauge, "All is in mem_fragmentation_bytes", r => 0),
        new("mem_fragmentation_ratio", MetricKind.Gauge, "Resident memory to used_memory",
            r => Ratio(r.ResidentBytes, r.UsedBytes)) { Page = "redis_mem_fragmentation_ratio" },
        new("mem_fragmentation_bytes", MetricKind.Gauge, "Resident memory less used_memory",
            r => r.ResidentBytes - r.UsedBytes) { Page = "redis_mem_fragmentation_bytes" },
        new("mem_not_counted_for_evict", MetricKind.Gauge,
            "What clients hold, as far as no key is evicted for it, and kv_mem_feed",
            r => r.Store.Budget.UncountedBytes) { Page = "redis_mem_not_counted_for_eviction_bytes" },
        new("mem_replication_backlog", MetricKind.Gauge, "The part of the stream that is kept for replicas",
            r => r.Server.Replicas.KeptBytes)
            { Page = "redis_mem_replication_backlog_bytes" },
        new("mem_total_replication_buffers", MetricKind.Gauge, "The same, and what replicas have not read",
            r => r.Server.Replicas.KeptBytes + r.ReplicaBytes)
            { Page = "redis_mem_total_replication_buffers_bytes" },
        new("mem_clients_slaves", MetricKind.Gauge, "Of the stream beyond that part, what some replica has not read",
            r => r.ReplicaBytes)
            { Page = "redis_mem_clients_slaves" },
        new("mem_clients_normal", MetricKind.Gauge, "Input and output that clients' connections hold",
            r => r.Clients.Buffers) { Page = "redis_mem_clients_normal" },
        new("kv_mem_messages", MetricKind.Gauge, "Published messages that somebody has not been sent yet",
            r => r.Server.PubSub.MessageBytes) { Page = "kv_memory_messages_bytes" },
        new("kv_mem_state", MetricKind.Fact,
            "Within the last second: ok, evicting (keys go), or full (writes are refused)",
            r => r.Server.MemoryWatch.State.ToString().ToLowerInvariant()),
        new("kv_mem_largest", MetricKind.Fact,
            "Which of log, index, blocks, clients, feed, tables and managed is most of used_memory, their sum",
            r => MemoryWatch.Largest(r.Use)),
        new("kv_mem_index", MetricKind.Gauge, "The index", r => r.Use.IndexBytes) { Page = "kv_memory_index_bytes" },
        new("kv_mem_log", MetricKind.Gauge, "The segments of the log", r => r.Use.LogBytes)
            { Page = "kv_memory_log_bytes" },
        new("kv_mem_blocks", MetricKind.Gauge, "Values and large collections in memory of their own",
            r => r.Use.BlockBytes) { Page = "kv_memory_blocks_bytes" },
        new("kv_mem_clients", MetricKind.Gauge,
            "What clients hold and their commands work with: input, output, queues, messages, watched keys, "
            + "subscriptions",
            r => r.Use.ClientBytes) { Page = "kv_memory_clients_bytes" },
        new("kv_mem_feed", MetricKind.Gauge,
            "Changes on their way to the append-only file, until the disk has them, and to replicas; evicts no keys",
            r => r.Use.FeedBytes) { Page = "kv_memory_feed_bytes" },
        new("kv_mem_tables", MetricKind.Gauge, "What is remembered of keys for eviction", r => r.Use.TableBytes)
            { Page = "kv_memory_tables_bytes" },
        new("kv_mem_retired", MetricKind.Gauge,
            "Segments of the log that wait until nobody can be reading them, in no other figure but the resident ones",
            r => r.Use.RetiredBytes) { Page = "kv_memory_retired_bytes" },
        new("kv_mem_warm", MetricKind.Gauge,
            "Free memory that is not given back to the system yet, in no other figure but the resident ones",
            r => r.WarmBytes) { Page = "kv_memory_warm_bytes" },
        new("kv_mem_mappings", MetricKind.Gauge, "Mappings of addresses that the store has made",
            r => r.Memory.Mappings) { Page = "kv_memory_mappings" },
        new("kv_mem_mappings_max", MetricKind.Gauge,
            "The most that it makes, of what the system allows the process (vm.max_map_count)",
            r => r.Memory.MappingsMax) { Page = "kv_memory_mappings_max" },
        new("kv_mem_refusals", MetricKind.Counter, "Times that the system refused to take memory back",
            r => r.Memory.Failures) { Page = "kv_memory_refusals_total" },
        new("kv_mem_managed", MetricKind.Gauge,
            "Of the managed heap what was alive after its last full collection and is charged to nobody; 0 inside "
            + "another program",
            r => r.Use.HeapBytes) { Page = "kv_memory_managed_bytes" },
        new("kv_mem_collector", MetricKind.Gauge,
            "What the managed heap has of the system beside what is alive in it, as of its last collection",
            r => r.CollectorBytes) { Page = "kv_memory_collector_bytes" },
        new("kv_mem_program", MetricKind.Gauge,
            "used_memory_rss less used_memory, kv_mem_retired, kv_mem_warm and kv_mem_collector: code, stacks, "
            + "libraries",
            r => r.ProgramBytes) { Page = "kv_memory_program_bytes" },
        new("mem_cluster_links", MetricKind.Gauge, "No cluster here", r => 0)
            { Page = "redis_mem_cluster_links_bytes" },
        new("mem_aof_buffer", MetricKind.Gauge, "What may not be on the disk yet", r => r.Server.Aof.TailBytes)
            { Page = "redis_mem_aof_buffer_bytes" },
        new("mem_allocator", MetricKind.Fact, "Who hands out memory", r => "kv-segments"),
        new("active_defrag_running", MetricKind.Gauge, "Reclaim does that work, always", r => 0)
            { Page = "redis_active_defrag_running" },
        new("lazyfree_pending_objects", MetricKind.Gauge, "Segments, blocks and indexes that wait for readers",
            r => r.Stats.PendingFrees) { Page = "redis_lazyfree_pending_objects" },
        new("lazyfreed_objects", MetricKind.Counter, "Freed by epoch, not as objects", r => 0)
            { Page = "redis_lazyfreed_objects" },
    ];

    private static MetricValue Percent(long part, long whole) =>
        $"{(whole > 0 ? 100.0 * part / whole : 0).ToString("F2", CultureInfo.InvariantCulture)}%";

    private static MetricValue Ratio(long part, long whole) =>
        MetricValue.Fraction(whole > 0 ? (double)part / whole : 0, 2);
}
