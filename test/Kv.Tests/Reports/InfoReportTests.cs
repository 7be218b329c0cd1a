using System.Globalization;
using Kv.Server.Reports;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Reports;

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
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        var fields = Parse(client.Ok("INFO everything").String);
        foreach (var (section, names) in ReadByTools)
        {
            foreach (string name in names.Split(' ')) Assert.Contains($"{section}/{name}", fields.Keys);
        }
    }

    // As redis-server 7.0.15 writes it: a colon would end the name.
    [Fact]
    public void An_error_that_a_script_has_made_up_is_one_field()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        byte[] script = [.. "return redis.error_reply('A:B#C\\27x y')"u8];
        Assert.True(client.Command([.. "EVAL"u8], script, [.. "0"u8]).IsError);
        Assert.Contains("\r\nerrorstat_A_B_C_x:count=1\r\n", client.Ok("INFO errorstats").String,
            StringComparison.Ordinal);
    }

    [Fact]
    public void Sections_come_in_one_order_whatever_the_order_of_asking()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        var titles = client.Ok("INFO cpu SERVER Keyspace").String.Split("\r\n").Where(line => line.StartsWith('#'));
        Assert.Equal(["# Server", "# CPU", "# Keyspace"], titles);
        Assert.Equal("", client.Ok("INFO nosuch").String);
    }

    [Fact]
    public void All_leaves_modules_out_and_default_leaves_command_statistics_out()
    {
        // Names of keys are shown to those only who ask for them.
        InfoSection[] ofKeys = [InfoSection.HotKeys, InfoSection.BigKeys];
        Assert.Equal([InfoSection.Modules, .. ofKeys], Missing(InfoSections.None.With("all")));
        Assert.Equal([InfoSection.CommandStats, InfoSection.LatencyStats, .. ofKeys],
            Missing(InfoSections.None.With("default")));
        Assert.Equal(ofKeys, Missing(InfoSections.None.With("everything")));
        Assert.Equal([InfoSection.HotKeys], Missing(InfoSections.None.With("everything").With("BigKeys")));

        static IEnumerable<InfoSection> Missing(InfoSections sections) =>
            Enum.GetValues<InfoSection>().Where(section => !sections.Has(section));
    }

    [Fact]
    public void Databases_commands_and_errors_have_a_line_each()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("CONFIG RESETSTAT");
        client.Ok("SET a 1");
        client.Ok("SET b 1 EX 1000");
        client.Ok("HSET h f 1 g 2");
        client.Ok("HEXPIRE h 1000 FIELDS 1 f");
        for (int i = 0; i < 4; i++) client.Ok("GET a");
        Assert.Contains("WRONGTYPE", client.Command("GET h").String, StringComparison.Ordinal);
        client.Command("GET a b");
        client.Ok("CLIENT ID");
        client.Ok("SELECT 9");
        client.Ok("SET c 1");
        var lines = client.Ok("INFO keyspace commandstats errorstats").String.Split("\r\n");
        Assert.Equal(["# Commandstats", "# Errorstats", "# Keyspace"], lines.Where(line => line.StartsWith('#')));
        Assert.Matches(@"^cmdstat_get:calls=5,usec=\d+,usec_per_call=\d+\.\d\d,rejected_calls=1,failed_calls=1$",
            lines.Single(line => line.StartsWith("cmdstat_get:", StringComparison.Ordinal)));
        Assert.Contains(lines, line => line.StartsWith("cmdstat_client|id:calls=1,", StringComparison.Ordinal));
        Assert.Equal(["errorstat_ERR:count=1", "errorstat_WRONGTYPE:count=1"],
            lines.Where(line => line.StartsWith("errorstat_", StringComparison.Ordinal)));
        Assert.Matches(@"^db0:keys=3,expires=1,avg_ttl=\d+,subexpiry=1$",
            lines.Single(line => line.StartsWith("db0:", StringComparison.Ordinal)));
        Assert.Contains("db9:keys=1,expires=0,avg_ttl=0,subexpiry=0", lines);
    }

    [Fact]
    public void Figures_of_one_report_agree_with_each_other()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("SET v " + new string('x', 3 << 20));
        var fields = Parse(client.Ok("INFO memory").String);
        long used = Number("used_memory"), peak = Number("used_memory_peak"), resident = Number("used_memory_rss");
        Assert.Equal(Shown(MetricValue.Size(used)), fields["Memory/used_memory_human"]);
        Assert.True(peak >= used && used >= 3 << 20, $"{used} of {peak}");
        Assert.Equal((100.0 * used / peak).ToString("F2", CultureInfo.InvariantCulture) + "%",
            fields["Memory/used_memory_peak_perc"]);
        Assert.Equal(((double)resident / used).ToString("F2", CultureInfo.InvariantCulture),
            fields["Memory/mem_fragmentation_ratio"]);
        Assert.Equal(resident - used, Number("mem_fragmentation_bytes"));
        Assert.Equal(Number("kv_mem_log") + Number("kv_mem_blocks"), Number("used_memory_dataset"));

        long Number(string name) => long.Parse(fields["Memory/" + name], CultureInfo.InvariantCulture);
    }

    /// <summary>In small commands, in values that are received where they stay, and while a client waits.</summary>
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_is_received_and_sent_is_counted(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        using var waiting = kv.Connect();
        client.Ok("CONFIG RESETSTAT");
        const int Bytes = 300_000;
        client.Ok("SET v " + new string('x', Bytes));
        client.Ok("GET v");
        waiting.Send(RespText.Encode("BLPOP l 0"));
        Eventually.Holds(() => client.Info("blocked_clients") == "1", () => "it does not wait");
        long received = Number("total_net_input_bytes"), receives = Number("total_reads_processed");
        waiting.Send([.. Enumerable.Repeat(RespText.Encode("PING"), 1000).SelectMany(bytes => bytes)]);
        Eventually.Holds(() => Number("total_net_input_bytes") >= received + 14_000,
            () => $"of {received} and 14,000 bytes there are {Number("total_net_input_bytes")}");
        Assert.InRange(received, Bytes, 2 * Bytes);
        Assert.True(receives >= 3, $"{receives} receives");
        Assert.True(Number("total_reads_processed") > receives);
        Assert.InRange(Number("total_net_output_bytes"), Bytes, 3 * Bytes);
        Assert.True(Number("total_writes_processed") >= 3);

        long Number(string name) => long.Parse(client.Info(name), CultureInfo.InvariantCulture);
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
        Assert.Equal(expected, Shown(MetricValue.Size(bytes)));
    }

    private static string Shown(MetricValue value)
    {
        var text = new System.Text.StringBuilder();
        value.AppendTo(text);
        return text.ToString();
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
