using Kv.Server.Metrics;

namespace Kv.Tests.Metrics;

public class InfoReportTests
{
    /// <summary>What tools are known to read, by section.</summary>
    private static readonly Dictionary<string, string> ReadByTools = new()
    {
        ["Server"] = "redis_version redis_mode os arch_bits process_id run_id tcp_port uptime_in_seconds "
            + "uptime_in_days hz executable config_file io_threads_active multiplexing_api kv_version",
        ["Clients"] = "connected_clients maxclients blocked_clients tracking_clients pubsub_clients watching_clients "
            + "client_recent_max_input_buffer client_recent_max_output_buffer",
        ["Memory"] = "used_memory used_memory_human used_memory_rss used_memory_peak used_memory_overhead "
            + "used_memory_startup used_memory_dataset used_memory_lua used_memory_scripts maxmemory maxmemory_human "
            + "maxmemory_policy total_system_memory mem_fragmentation_ratio allocator_allocated allocator_active "
            + "allocator_resident mem_clients_normal mem_clients_slaves mem_aof_buffer mem_replication_backlog "
            + "mem_not_counted_for_evict mem_allocator number_of_cached_scripts lazyfree_pending_objects "
            + "lazyfreed_objects",
        ["Persistence"] = "loading async_loading rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time "
            + "rdb_last_bgsave_status rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec rdb_saves aof_enabled "
            + "aof_rewrite_in_progress aof_last_bgrewrite_status aof_last_write_status aof_current_size aof_base_size "
            + "aof_pending_bio_fsync aof_delayed_fsync",
        ["Stats"] = "total_connections_received total_commands_processed instantaneous_ops_per_sec "
            + "instantaneous_input_kbps instantaneous_output_kbps total_net_input_bytes total_net_output_bytes "
            + "rejected_connections expired_keys evicted_keys evicted_clients keyspace_hits keyspace_misses "
            + "pubsub_channels pubsub_patterns total_error_replies sync_full sync_partial_ok sync_partial_err "
            + "latest_fork_usec",
        ["Replication"] = "role connected_slaves master_replid master_replid2 master_repl_offset second_repl_offset "
            + "repl_backlog_active repl_backlog_size",
        ["CPU"] = "used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children",
        ["Cluster"] = "cluster_enabled",
    };

    [Fact]
    public void Every_field_that_tools_read_is_there_in_its_section()
    {
        var fields = Parse(InfoReport.Write(new ServerFigures(), InfoSections.Everything));
        foreach (var (section, names) in ReadByTools)
        {
            foreach (string name in names.Split(' ')) Assert.Contains($"{section}/{name}", fields.Keys);
        }
    }

    [Fact]
    public void No_two_metrics_share_a_name_and_each_has_a_summary()
    {
        Assert.Equal(MetricTable.Rows.Length, MetricTable.Rows.Select(row => row.Name).Distinct().Count());
        Assert.All(MetricTable.Rows, row => Assert.Matches("^[a-z0-9_]+$", row.Name));
        Assert.All(MetricTable.Rows, row => Assert.NotEmpty(row.Summary));
    }

    [Fact]
    public void Sections_come_in_one_order_whatever_the_order_of_asking()
    {
        var asked = InfoSections.None.With("cpu").With("SERVER").With("Keyspace");
        var titles = InfoReport.Write(new ServerFigures(), asked).Split("\r\n").Where(line => line.StartsWith('#'));
        Assert.Equal(["# Server", "# CPU", "# Keyspace"], titles);
    }

    [Fact]
    public void A_section_that_does_not_exist_adds_nothing()
    {
        Assert.Equal("", InfoReport.Write(new ServerFigures(), InfoSections.None.With("nosuch")));
    }

    [Fact]
    public void All_leaves_modules_out_and_default_leaves_command_statistics_out()
    {
        Assert.Equal([InfoSection.Modules], Missing(InfoSections.None.With("all")));
        Assert.Equal([InfoSection.CommandStats], Missing(InfoSections.None.With("default")));
        Assert.Empty(Missing(InfoSections.None.With("everything")));

        static IEnumerable<InfoSection> Missing(InfoSections sections) =>
            Enum.GetValues<InfoSection>().Where(section => !sections.Has(section));
    }

    [Fact]
    public void Databases_commands_and_errors_have_a_line_each()
    {
        var figures = new ServerFigures
        {
            Keyspace = [new(0, 12, 3, 4567, 2), new(9, 1, 0, 0, 0)],
            CommandCalls = [new("get", 4, 6, 0, 1), new("client|list", 2, 0, 3, 0)],
            Errors = [new("ERR", 7)],
        };
        string text = InfoReport.Write(figures,
            InfoSections.None.With("keyspace").With("commandstats").With("errorstats"));
        Assert.Equal(
            "# Commandstats\r\n" +
            "cmdstat_get:calls=4,usec=6,usec_per_call=1.50,rejected_calls=0,failed_calls=1\r\n" +
            "cmdstat_client|list:calls=2,usec=0,usec_per_call=0.00,rejected_calls=3,failed_calls=0\r\n" +
            "\r\n# Errorstats\r\nerrorstat_ERR:count=7\r\n" +
            "\r\n# Keyspace\r\ndb0:keys=12,expires=3,avg_ttl=4567,subexpiry=2\r\n"
            + "db9:keys=1,expires=0,avg_ttl=0,subexpiry=0\r\n",
            text);
    }

    [Fact]
    public void Used_memory_is_the_account_by_which_writes_are_refused()
    {
        var figures = new ServerFigures { StoreBytes = 3 << 20, LogBytes = 2 << 20, StorePeakBytes = 5 << 20,
            ManagedBytes = 1 << 20, ResidentBytes = 8 << 20 };
        var fields = Parse(InfoReport.Write(figures, InfoSections.None.With("memory")));
        Assert.Equal("3145728", fields["Memory/used_memory"]);
        Assert.Equal("3.00M", fields["Memory/used_memory_human"]);
        Assert.Equal("5242880", fields["Memory/used_memory_peak"]);
        Assert.Equal("60.00%", fields["Memory/used_memory_peak_perc"]);
        Assert.Equal("2.67", fields["Memory/mem_fragmentation_ratio"]);
    }

    [Theory]
    [InlineData(0, "0B")]
    [InlineData(1023, "1023B")]
    [InlineData(1024, "1.00K")]
    [InlineData(916408, "894.93K")]
    [InlineData(25276510208, "23.54G")]
    [InlineData(1L << 42, "4.00T")]
    public void Sizes_are_shown_with_two_digits_and_a_letter(long bytes, string expected)
    {
        var text = new System.Text.StringBuilder();
        MetricValue.Size(bytes).AppendTo(text);
        Assert.Equal(expected, text.ToString());
    }

    private static Dictionary<string, string> Parse(string info)
    {
        var fields = new Dictionary<string, string>();
        string section = "";
        foreach (string line in info.Split("\r\n", StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.StartsWith("# ", StringComparison.Ordinal)) section = line[2..];
            else fields.Add($"{section}/{line[..line.IndexOf(':')]}", line[(line.IndexOf(':') + 1)..]);
        }
        return fields;
    }
}
