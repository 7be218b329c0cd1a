using System.Diagnostics;
using System.Globalization;
using Kv.Server.Diagnostics;
using Kv.Server.Reports;
using Kv.Tests.Harness;
using Kv.Tests.Http;

namespace Kv.Tests.Reports;

/// <summary>The page for Prometheus: redis_exporter's names, INFO's figures.</summary>
public class MetricsPageTests
{
    /// <summary>The names of redis_exporter 1.x that dashboards and alerts go by: what its published dashboards ask for
    /// first, then what it makes of INFO, SLOWLOG and CONFIG of a lone server.</summary>
    private const string Exporter = """
        redis_up redis_uptime_in_seconds redis_connected_clients redis_blocked_clients redis_memory_used_bytes
        redis_memory_max_bytes redis_memory_used_rss_bytes redis_commands_total redis_commands_duration_seconds_total
        redis_commands_processed_total redis_keyspace_hits_total redis_keyspace_misses_total
        redis_net_input_bytes_total redis_net_output_bytes_total redis_db_keys redis_db_keys_expiring
        redis_expired_keys_total redis_evicted_keys_total redis_connected_slaves

        redis_slowlog_length redis_slowlog_last_id redis_last_slow_execution_duration_seconds redis_instance_info
        redis_start_time_seconds redis_process_id redis_io_threads_active redis_hz redis_configured_hz
        redis_config_maxclients redis_config_maxmemory redis_config_io_threads redis_commands_rejected_calls_total
        redis_commands_failed_calls_total redis_errors_total redis_db_avg_ttl_seconds
        redis_max_clients redis_tracking_clients redis_clients_in_timeout_table redis_pubsub_clients
        redis_watching_clients redis_total_watched_keys redis_total_blocking_keys redis_total_blocking_keys_on_nokey
        redis_client_recent_max_output_buffer_bytes redis_client_recent_max_input_buffer_bytes
        redis_allocator_active_bytes redis_allocator_allocated_bytes redis_allocator_resident_bytes
        redis_allocator_frag_ratio redis_allocator_frag_bytes redis_allocator_rss_ratio redis_allocator_rss_bytes
        redis_memory_used_peak_bytes redis_memory_used_lua_bytes redis_memory_used_vm_eval_bytes
        redis_memory_used_scripts_eval_bytes redis_memory_used_overhead_bytes redis_memory_used_startup_bytes
        redis_memory_used_dataset_bytes redis_number_of_cached_scripts redis_number_of_functions
        redis_number_of_libraries redis_memory_used_vm_functions_bytes redis_memory_used_scripts_bytes
        redis_memory_used_functions_bytes redis_memory_used_vm_total redis_mem_fragmentation_ratio
        redis_mem_fragmentation_bytes redis_mem_clients_slaves redis_mem_clients_normal redis_mem_cluster_links_bytes
        redis_mem_aof_buffer_bytes redis_mem_replication_backlog_bytes redis_expired_stale_percentage
        redis_mem_not_counted_for_eviction_bytes redis_mem_total_replication_buffers_bytes
        redis_total_system_memory_bytes redis_lazyfree_pending_objects redis_lazyfreed_objects
        redis_active_defrag_running redis_migrate_cached_sockets_total redis_defrag_hits redis_defrag_misses
        redis_defrag_key_hits redis_defrag_key_misses redis_loading_dump_file redis_async_loading
        redis_rdb_changes_since_last_save redis_rdb_bgsave_in_progress redis_rdb_last_save_timestamp_seconds
        redis_rdb_last_bgsave_status redis_rdb_last_bgsave_duration_sec redis_rdb_current_bgsave_duration_sec
        redis_rdb_saves_total redis_rdb_last_cow_size_bytes redis_rdb_last_load_expired_keys
        redis_rdb_last_load_loaded_keys redis_aof_enabled redis_aof_rewrite_in_progress redis_aof_rewrite_scheduled
        redis_aof_last_rewrite_duration_sec redis_aof_current_rewrite_duration_sec redis_aof_last_cow_size_bytes
        redis_aof_current_size_bytes redis_aof_base_size_bytes redis_aof_pending_rewrite redis_aof_buffer_length
        redis_aof_pending_bio_fsync redis_aof_delayed_fsync redis_aof_last_bgrewrite_status
        redis_aof_last_write_status redis_module_fork_in_progress redis_module_fork_last_cow_size
        redis_current_eviction_exceeded_time_ms redis_pubsub_channels redis_pubsub_patterns
        redis_pubsubshard_channels redis_latest_fork_seconds redis_tracking_total_keys redis_tracking_total_items
        redis_tracking_total_prefixes redis_replication_backlog_bytes redis_repl_backlog_is_active
        redis_repl_backlog_first_byte_offset redis_repl_backlog_history_bytes redis_master_repl_offset
        redis_second_repl_offset redis_slave_expires_tracked_keys redis_replica_resyncs_full
        redis_replica_partial_resync_accepted redis_replica_partial_resync_denied redis_cluster_enabled
        redis_connections_received_total redis_rejected_connections_total redis_net_repl_input_bytes_total
        redis_net_repl_output_bytes_total redis_expired_subkeys_total redis_expired_time_cap_reached_total
        redis_expire_cycle_cpu_time_ms_total redis_evicted_clients_total redis_eviction_exceeded_time_ms_total
        redis_cpu_sys_seconds_total redis_cpu_user_seconds_total redis_cpu_sys_children_seconds_total
        redis_cpu_user_children_seconds_total redis_unexpected_error_replies redis_total_error_replies
        redis_dump_payload_sanitizations redis_total_reads_processed redis_total_writes_processed
        redis_io_threaded_reads_processed redis_io_threaded_writes_processed
        redis_client_query_buffer_limit_disconnections_total redis_client_output_buffer_limit_disconnections_total
        redis_reply_buffer_shrinks_total redis_reply_buffer_expands_total redis_acl_access_denied_auth_total
        redis_acl_access_denied_cmd_total redis_acl_access_denied_key_total redis_acl_access_denied_channel_total
        redis_latency_percentiles_usec redis_commands_latencies_usec_bucket redis_commands_latencies_usec_sum
        redis_commands_latencies_usec_count redis_latency_spike_last redis_latency_spike_duration_seconds
        """;

    [Fact]
    public void Every_name_of_redis_exporter_is_there_and_all_others_are_our_own()
    {
        using var server = new MetricsServer();
        var page = Scrape(server);
        string[] known = Exporter.Split((char[])[' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal([], known.Except(page.Types.Keys));
        Assert.All(page.Types.Keys.Except(known), name => Assert.StartsWith("kv_", name, StringComparison.Ordinal));
        Assert.All(page.Types, family =>
        {
            if (family.Key.StartsWith("kv_", StringComparison.Ordinal))
                Assert.Equal(family.Value == "counter", family.Key.EndsWith("_total", StringComparison.Ordinal));
        });
    }

    [Fact]
    public void Latencies_are_those_of_LATENCY_and_INFO()
    {
        using var server = new MetricsServer();
        using var client = server.Kv.Connect();
        client.Ok("CONFIG SET latency-monitor-threshold 1");
        client.Ok("CONFIG SET latency-tracking-info-percentiles \"50 99.9\"");
        for (int i = 0; i < 1000; i++) client.Ok("GET k");
        server.Kv.Server.Latency.Note(LatencyEvent.GcPause, Stopwatch.Frequency / 4);
        string shown = client.Info("latency_percentiles_usec_get");
        var histogram = client.Ok("LATENCY HISTOGRAM get").Items![1].Items!;
        var page = Scrape(server);
        const string name = "redis_commands_latencies_usec";
        Assert.Equal(1000, page[name + "_count{cmd=\"get\"}"]);
        Assert.Equal(1000, page[name + "_bucket{cmd=\"get\",le=\"+Inf\"}"]);
        Assert.Equal(page["redis_commands_duration_seconds_total{cmd=\"get\"}"] * 1e6,
            page[name + "_sum{cmd=\"get\"}"], 1e-3);
        var bounds = histogram[3].Items!;
        Assert.NotEmpty(bounds);
        for (int i = 0; i < bounds.Count; i += 2)
            if (bounds[i].Integer < 1_000_000)
                Assert.Equal(bounds[i + 1].Integer, page[$"{name}_bucket{{cmd=\"get\",le=\"{bounds[i].Integer}\"}}"]);
        foreach (string figure in shown.Split(','))
        {
            string[] pair = figure[1..].Split('=');
            Assert.Equal(double.Parse(pair[1], CultureInfo.InvariantCulture),
                page[$"redis_latency_percentiles_usec{{cmd=\"get\",quantile=\"{pair[0]}\"}}"], 1e-3);
        }

        Assert.Equal(0.25, page["redis_latency_spike_duration_seconds{event_name=\"gc-pause\"}"]);
        var latest = client.Ok("LATENCY LATEST").Items!.Single(of => of.Items![0].String == "gc-pause");
        Assert.Equal(latest.Items![1].Integer, page["redis_latency_spike_last{event_name=\"gc-pause\"}"]);
        client.Ok("CONFIG SET latency-tracking no");
        Assert.DoesNotContain(Scrape(server).Samples, sample => sample.StartsWith(name, StringComparison.Ordinal));
    }

    /// <summary>So that a new metric of ours is not forgotten.</summary>
    [Fact]
    public void Every_number_of_our_own_is_on_the_page()
    {
        using var kv = KvInstance.Start();
        var reading = new ServerReading(kv.Server);
        Assert.Equal([], MetricTable.Rows.Where(row => row.Name.StartsWith("kv_", StringComparison.Ordinal)
            && row.Page == null && !row.Read(reading).IsText).Select(row => row.Name));
    }

    [Fact]
    public void Figures_are_those_of_info()
    {
        using var server = new MetricsServer();
        using var client = server.Kv.Connect();
        client.Ok("SET a 1");
        client.Ok("SET b 1 EX 1000");
        client.Ok("GET a");
        client.Ok("GET none");
        client.Command("NOSUCH");
        // The list of large keys is of the last walk: nothing changes it any more.
        Eventually.Holds(() => server.Kv.Server.Store.BigKeys.Walks > 0, () => "no walk ends");
        var memory = MetricTable.RowsOf(InfoSection.Memory);
        // INFO is itself the longest input of a client while it runs.
        var left = MetricTable.Rows.Where(row => row.Page != null && row.Name != "client_recent_max_input_buffer")
            .ToList();
        Eventually.Holds(() =>
        {
            var before = Fields(client);
            var page = Scrape(server);
            var after = Fields(client);
            left.RemoveAll(row =>
            {
                double first = Number(before[row.Name]) * row.PageScale, last = Number(after[row.Name]) * row.PageScale;
                // INFO has some of the digits; and what the process takes comes and goes with each look.
                double slack = 0.011 + (Array.IndexOf(memory, row) < 0 ? 0
                    : (Math.Abs(first) / 2) + (row.Page!.EndsWith("_bytes", StringComparison.Ordinal) ? 32 << 20 : 0));
                return page[row.Page!] >= Math.Min(first, last) - slack
                    && page[row.Page!] <= Math.Max(first, last) + slack;
            });
            return left.Count == 0;
        }, () => $"{string.Join(' ', left.Select(row => row.Name))} never agree");
    }

    /// <summary>What INFO and the page show of one reading is the same number.</summary>
    [Fact]
    public void A_row_has_one_number_for_both()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("SET v " + new string('x', 3 << 20));
        var reading = new ServerReading(kv.Server);
        Assert.All(MetricTable.RowsOf(InfoSection.Memory).Where(row => row.Name.StartsWith("used_memory",
            StringComparison.Ordinal) && row.Page != null), row =>
            Assert.Equal(Number(row.Read(reading).ToString()), row.ReadForPage(reading)));
        Assert.True(MetricTable.Rows.Single(row => row.Name == "used_memory").ReadForPage(reading) >= 3 << 20);
    }

    [Fact]
    public void Commands_databases_and_errors_are_lists()
    {
        using var server = new MetricsServer("--databases", "20");
        using var client = server.Kv.Connect();
        client.Ok("CONFIG RESETSTAT");
        client.Ok("SET a 1");
        client.Ok("SET b 1 EX 1000");
        client.Ok("HSET h f 1");
        client.Ok("HEXPIRE h 1000 FIELDS 1 f");
        for (int i = 0; i < 3; i++) client.Ok("GET a");
        Assert.True(client.Command("GET h").IsError);
        Assert.True(client.Command("GET a b").IsError);
        client.Ok("CLIENT ID");
        client.Ok("SELECT 18");
        client.Ok("SET c 1");
        var page = Scrape(server);
        Assert.Equal(4, page["redis_commands_total{cmd=\"get\"}"]);
        Assert.Equal(1, page["redis_commands_failed_calls_total{cmd=\"get\"}"]);
        Assert.Equal(1, page["redis_commands_rejected_calls_total{cmd=\"get\"}"]);
        Assert.Equal(1, page["redis_commands_total{cmd=\"client|id\"}"]);
        Assert.True(page["redis_commands_duration_seconds_total{cmd=\"get\"}"] is >= 0 and < 60);
        Assert.Equal(1, page["redis_errors_total{err=\"ERR\"}"]);
        Assert.Equal(1, page["redis_errors_total{err=\"WRONGTYPE\"}"]);
        Assert.Equal(3, page["redis_db_keys{db=\"db0\"}"]);
        Assert.Equal(1, page["redis_db_keys_expiring{db=\"db0\"}"]);
        Assert.InRange(page["redis_db_avg_ttl_seconds{db=\"db0\"}"], 900, 1001);
        Assert.Equal(1, page["kv_db_keys_with_expiring_fields{db=\"db0\"}"]);
        Assert.Equal(0, page["redis_db_keys{db=\"db15\"}"]);
        Assert.Equal(1, page["redis_db_keys{db=\"db18\"}"]);
        Assert.DoesNotContain("redis_db_keys{db=\"db19\"}", page.Samples);
        Assert.Equal(1, page["kv_memory_state{state=\"ok\"}"]);
        Assert.Equal(0, page["kv_memory_state{state=\"full\"}"]);
        string info = Assert.Single(page.Samples, sample => sample.StartsWith("redis_instance_info{",
            StringComparison.Ordinal));
        Assert.Contains($"run_id=\"{server.Kv.Server.RunId}\"", info, StringComparison.Ordinal);
        Assert.Contains("role=\"master\",redis_version=\"7.4.0\"", info, StringComparison.Ordinal);
    }

    [Fact]
    public void The_slow_log_shows_its_newest_entry()
    {
        using var server = new MetricsServer("--slowlog-log-slower-than", "-1");
        using var client = server.Kv.Connect();
        Assert.Equal((0.0, 0.0), Slow(Scrape(server)));
        client.Ok("CONFIG SET slowlog-log-slower-than 0");
        client.Ok("SET a 1");
        client.Ok("SET a 2");
        client.Ok("CONFIG SET slowlog-log-slower-than -1");
        var newest = client.Ok("SLOWLOG GET 1").Items![0].Items!;
        var page = Scrape(server);
        Assert.Equal(((double)client.Ok("SLOWLOG LEN").Integer, (double)newest[0].Integer), Slow(page));
        Assert.Equal(newest[2].Integer / 1e6, page["redis_last_slow_execution_duration_seconds"], 9);
        client.Ok("SLOWLOG RESET");
        Assert.Equal((0.0, 0.0), Slow(Scrape(server)));

        static (double, double) Slow(PrometheusPage page) =>
            (page["redis_slowlog_length"], page["redis_slowlog_last_id"]);
    }

    private static PrometheusPage Scrape(MetricsServer server) =>
        PrometheusPage.Parse(HttpTalk.Get(server.EndPoint, "/metrics").Body);

    private static double Number(string text) =>
        text == "ok" ? 1 : double.Parse(text, NumberStyles.Float, CultureInfo.InvariantCulture);

    private static Dictionary<string, string> Fields(RespClient client) =>
        client.Ok("INFO everything hotkeys bigkeys").String.Split("\r\n", StringSplitOptions.RemoveEmptyEntries)
            .Where(line => line.Contains(':')).ToDictionary(line => line[..line.IndexOf(':')],
                line => line[(line.IndexOf(':') + 1)..]);
}
