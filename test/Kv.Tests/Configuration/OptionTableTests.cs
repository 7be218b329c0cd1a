using System.Globalization;
using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public class OptionTableTests
{
    /// <summary>Options that CONFIG SET may change in a server where every handler is in place and files are
    /// allowed.</summary>
    public static TheoryData<string> Changeable =>
        [.. OptionTable.Rows.Where(o => o.Change != OptionChange.AtStart && !o.IsStartOnly).Select(o => o.Name)];

    public static TheoryData<string> All => [.. OptionTable.Rows.Where(o => !o.IsStartOnly).Select(o => o.Name)];

    [Theory]
    [MemberData(nameof(Changeable))]
    public void Known_G01_config_set_accepts_or_refuses_and_a_refusal_changes_nothing(string name)
    {
        var options = Permissive();
        var option = OptionTable.Find(name)!;
        string[] probes =
        [
            "", "junk", "-1", "0", "1", "16", "yes", "no", "NO", " 1", "+1", "01", "1 ", "1.5", "1kb", "50%",
            "101%", "a/b",
            "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
            "99999999999999999999999999", "60 1", "normal 0 0 0", "\u0001", "ü", "a\0b", new string('x', 70_000),
        ];
        foreach (string probe in probes)
        {
            string before = option.Read(options);
            var result = OptionTable.TrySet(options, [(name, probe)]);
            string after = option.Read(options);
            if (result.IsOk)
            {
                Assert.True(OptionTable.TrySet(options, [(name, after)]).IsOk,
                    $"{name} does not take back its own '{after}'");
                Assert.Equal(after, option.Read(options));
            }
            else
            {
                Assert.StartsWith($"ERR CONFIG SET failed (possibly related to argument '{name}') - ", result.Error);
                Assert.Equal(before, after);
            }
        }
    }

    [Theory]
    [MemberData(nameof(Changeable))]
    public void Known_G01_numbers_end_at_the_ends_of_their_range(string name)
    {
        var option = OptionTable.Find(name)!;
        if (!TryReadRange(option.Expects, out long min, out long max)) return;
        var options = Permissive();
        string byDefault = option.Read(options);
        Assert.Equal(option.Promises(Text(min), byDefault), !OptionTable.TrySet(options, [(name, Text(min))]).IsOk);
        if (option.Class == OptionClass.Honoured)
        {
            Assert.Equal(Text(min), option.Read(options));
            Assert.Null(OptionTable.TrySet(options, [(name, Text(max))]).Error);
            Assert.Equal(Text(max), option.Read(options));
        }

        string range = $"ERR CONFIG SET failed (possibly related to argument '{name}') - argument must be between "
            + $"{min} and {max} inclusive";
        bool isBytes = option.Expects.StartsWith("bytes", StringComparison.Ordinal);
        if (max < long.MaxValue) Assert.Equal(range, OptionTable.TrySet(options, [(name, Text(max + 1))]).Error);
        if (min > (isBytes ? 0 : long.MinValue))
            Assert.Equal(range, OptionTable.TrySet(options, [(name, Text(min - 1))]).Error);
    }

    [Theory]
    [MemberData(nameof(All))]
    public void Every_default_is_a_value_its_own_row_accepts(string name)
    {
        var options = new ServerOptions();
        var option = OptionTable.Find(name)!;
        string text = option.Read(options);
        Assert.True(option.TryParse(options, text, out object value, out string error), $"{name} '{text}': {error}");
        Assert.Equal(text, option.Format(value));
        Assert.False(option.Refuses(text, text));
    }

    [Fact]
    public void Every_name_is_there_once_and_every_refusal_has_a_reason()
    {
        string[] names = [.. OptionTable.Rows.SelectMany(o => (string[])[o.Name, .. o.Aliases, .. o.Switches])];
        Assert.Equal(names.Length, names.Distinct(StringComparer.OrdinalIgnoreCase).Count());
        Assert.All(OptionTable.Rows, o => Assert.False(o.Class == OptionClass.Refused && o.Reason.Length == 0, o.Name));
        Assert.All(OptionTable.Rows, o => Assert.False(o.Class == OptionClass.Honoured
            && o.Summary.Length == 0, o.Name));
        Assert.All(names, name => Assert.Equal(name.ToLowerInvariant(), name));
    }

    // The texts are those of a real server of version 7.0.15, asked on the wire.
    [Theory]
    [InlineData("foo 1", "ERR Unknown option or number of arguments for CONFIG SET - 'foo'")]
    [InlineData("timeout 1|FoO 2", "ERR Unknown option or number of arguments for CONFIG SET - 'FoO'")]
    [InlineData("timeout 4|TIMEOUT 5",
        "ERR CONFIG SET failed (possibly related to argument 'TIMEOUT') - duplicate parameter")]
    [InlineData("databases 5|foo 1",
        "ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config")]
    [InlineData("timeout x|databases 1",
        "ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config")]
    [InlineData("dir /", "ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config")]
    [InlineData("timeout x",
        "ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer")]
    [InlineData("maxmemory -1",
        "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")]
    [InlineData("maxmemory 1.5gb",
        "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")]
    [InlineData("activedefrag maybe",
        "ERR CONFIG SET failed (possibly related to argument 'activedefrag') - argument must be 'yes' or 'no'")]
    [InlineData("appendfsync x",
        "ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the "
        + "following: everysec, always, no")]
    [InlineData("save 60 1 300",
        "ERR CONFIG SET failed (possibly related to argument 'save') - Invalid save parameters")]
    [InlineData("save 0 1", "ERR CONFIG SET failed (possibly related to argument 'save') - Invalid save parameters")]
    [InlineData("maxmemory-clients 101%",
        "ERR CONFIG SET failed (possibly related to argument 'maxmemory-clients') - percentage argument must be less "
        + "or equal to 100")]
    [InlineData("notify-keyspace-events Q",
        "ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class "
        + "character. Use 'Ag$lshzxeKEtmdn'.")]
    [InlineData("oom-score-adj-values 1 2",
        "ERR CONFIG SET failed (possibly related to argument 'oom-score-adj-values') - wrong number of arguments")]
    [InlineData("latency-tracking-info-percentiles 50 101",
        "ERR CONFIG SET failed (possibly related to argument 'latency-tracking-info-percentiles') - "
        + "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")]
    [InlineData("client-output-buffer-limit normal 1 2",
        "ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments "
        + "in buffer limit configuration.")]
    [InlineData("client-output-buffer-limit foo 1 2 3",
        "ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Invalid client class "
        + "specified in buffer limit configuration.")]
    [InlineData("client-output-buffer-limit normal 0 0 -5",
        "ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Error in hard, soft or "
        + "soft_seconds setting in buffer limit configuration.")]
    public void Config_set_refuses_in_the_words_clients_know(string pairs, string error)
    {
        var parsed = pairs.Split('|').Select(p => p.Split(' ', 2)).Select(p => (p[0], p[1])).ToList();
        Assert.Equal(error, OptionTable.TrySet(new ServerOptions(), parsed).Error);
    }

    [Fact]
    public void Config_set_of_several_is_all_or_nothing()
    {
        var options = new ServerOptions();
        Assert.False(OptionTable.TrySet(options, [("timeout", "3"), ("maxmemory", "1gb"), ("hz", "x")]).IsOk);
        Assert.Equal((0, 0L), (options.Timeout, options.MaxMemory));
        Assert.True(OptionTable.TrySet(options,
            [("timeout", "3"), ("maxmemory", "1gb"), ("tcp-keepalive", "600")]).IsOk);
        Assert.Equal((3, 1L << 30, 600), (options.Timeout, options.MaxMemory, options.TcpKeepAlive));
    }

    [Fact]
    public void A_handler_that_refuses_puts_every_value_back_and_sees_it_before_others_have_run()
    {
        var options = new ServerOptions();
        var seen = new List<string>();
        options.OnChange("timeout", o => { seen.Add($"timeout {o.Timeout}"); return null; });
        options.OnChange("port", o =>
            { seen.Add($"port {o.Port}"); return o.Port == 1 ? "Unable to listen on this port" : null; },
            mayRefuse: true);
        var result = OptionTable.TrySet(options, [("timeout", "9"), ("port", "1"), ("tcp-keepalive", "20")]);
        Assert.Equal("ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port",
            result.Error);
        Assert.Equal((0, 6379, 300), (options.Timeout, options.Port, options.TcpKeepAlive));
        Assert.Equal(["port 1", "port 6379"], seen);
        Assert.True(OptionTable.TrySet(options, [("timeout", "9"), ("port", "2")]).IsOk);
        Assert.Equal(["port 2", "timeout 9"], seen[2..]);
    }

    [Fact]
    public void The_port_cannot_move_while_nothing_would_move_it() => Assert.EndsWith(
        "can't set immutable config", OptionTable.TrySet(new ServerOptions(), [("port", "7000")]).Error);

    [Fact]
    public void Two_names_of_one_option_may_both_be_set_and_the_later_wins()
    {
        var options = new ServerOptions();
        Assert.True(OptionTable.TrySet(options,
            [("hash-max-ziplist-entries", "7"), ("hash-max-listpack-entries", "8")]).IsOk);
        Assert.Equal([("hash-max-ziplist-entries", "8")], OptionTable.Match(options, ["hash-max-ziplist-entries"]));
        Assert.False(OptionTable.TrySet(options,
            [("hash-max-ziplist-entries", "5"), ("hash-max-listpack-entries", "6"), ("hz", "x")]).IsOk);
        Assert.Equal([("hash-max-listpack-entries", "8")], OptionTable.Match(options, ["hash-max-listpack-entries"]));
    }

    [Fact]
    public void Config_get_answers_under_the_name_asked_for_and_each_name_once()
    {
        var options = new ServerOptions();
        Assert.Equal([("slave-read-only", "yes")], OptionTable.Match(options, ["slave-read-only", "SLAVE-READ-ONLY"]));
        Assert.Equal([("TIMEOUT", "0")], OptionTable.Match(options, ["TIMEOUT", "timeout"]));
        Assert.Equal([("io-threads", "0")], OptionTable.Match(options, ["io-threads"]));
        Assert.Equal(["replica-read-only", "slave-read-only"],
            OptionTable.Match(options, ["*-READ-only"]).Select(p => p.Name));
        Assert.Empty(OptionTable.Match(options, ["nothing", "auth", "x*y", "password"]));
    }

    [Theory]
    [InlineData("slave-read-only", "no", "yes", null)]
    [InlineData("cluster-migration-barrier", "11", "1", null)]
    public void CONFIG_SET_of_an_option_without_effect_takes_only_what_is_so_anyway(
        string name, string value, string harmless, string? reason)
    {
        var options = new ServerOptions();
        string before = OptionTable.Find(name)!.Read(options);
        string error = $"ERR CONFIG SET failed (possibly related to argument '{name}') - the option has no effect "
            + $"yet{(reason is null ? "" : $": {reason}")}";
        Assert.Equal(error, OptionTable.TrySet(options, [("timeout", "5"), (name, value)]).Error);
        Assert.Equal((before, 0), (OptionTable.Find(name)!.Read(options), options.Timeout));
        Assert.Null(OptionTable.TrySet(options, [(name, harmless)]).Error);
        Assert.Null(OptionTable.TrySet(options, [(name, before)]).Error);
        Assert.Null(OptionTable.TrySet(options, [(name, before)]).Error);
    }

    // How well or how hard something is to be done; it is done as well whatever they say.
    [Theory]
    [InlineData("maxmemory-samples", "10", "0")]
    [InlineData("maxmemory-eviction-tenacity", "100", "101")]
    [InlineData("active-expire-effort", "10", "11")]
    public void Options_of_how_well_something_is_done_take_any_value(string name, string value, string outside)
    {
        var options = new ServerOptions();
        Assert.Null(OptionTable.TrySet(options, [(name, value)]).Error);
        Assert.Equal(value, OptionTable.Find(name)!.Read(options));
        Assert.NotNull(OptionTable.TrySet(options, [(name, outside)]).Error);
        Assert.Empty(OptionParser.Parse([$"--{name}", value]).Warnings);
    }

    // A tool that writes back what CONFIG GET answered is not refused, nor one that goes back to the default.
    [Fact]
    public void CONFIG_SET_takes_the_present_value_of_an_option_without_effect()
    {
        var options = OptionParser.Parse(["--activerehashing", "no", "--lazyfree-lazy-expire", "yes", "--hz", "20"]);
        Assert.Equal(
            ["option 'activerehashing' has no effect",
                "option 'hz' has no effect: background work goes by its own clock"],
            options.Warnings);
        Assert.Null(OptionTable.TrySet(options.Options!,
            [("activerehashing", "no"), ("hz", "20"), ("timeout", "5")]).Error);
        Assert.Null(OptionTable.TrySet(options.Options!, [("hz", "10")]).Error);
        Assert.EndsWith("the option has no effect yet: background work goes by its own clock",
            OptionTable.TrySet(options.Options!, [("hz", "20")]).Error);
    }

    // The files that come with 7.2 and 7.4 have a line of the first.
    [Theory]
    [InlineData("locale-collate", "")]
    [InlineData("cluster-announce-human-nodename", "")]
    [InlineData("hide-user-data-from-log", "no")]
    [InlineData("max-new-connections-per-cycle", "10")]
    [InlineData("max-new-tls-connections-per-cycle", "1")]
    [InlineData("server-cpulist", "")]
    public void Options_that_came_after_7_0_are_known(string name, string byDefault)
    {
        Assert.Equal(byDefault, OptionTable.Find(name)!.Read(new ServerOptions()));
        Assert.Null(OptionParser.Parse([$"--{name}", byDefault]).Error);
    }

    [Fact]
    public void What_is_not_built_is_refused_with_its_reason_and_its_harmless_value_is_not()
    {
        var options = new ServerOptions();
        Assert.StartsWith(
            "ERR CONFIG SET failed (possibly related to argument 'tls-cluster') - cluster mode does not exist yet",
            OptionTable.TrySet(options, [("tls-cluster", "yes")]).Error);
        Assert.True(OptionTable.TrySet(options, [("tls-replication", "no"), ("tls-cluster", "no")]).IsOk);
    }

    [Theory]
    [InlineData(AllowedFor.No, true, false)]
    [InlineData(AllowedFor.Local, true, true)]
    [InlineData(AllowedFor.Local, false, false)]
    [InlineData(AllowedFor.Yes, false, true)]
    public void Known_G04_options_that_name_files_need_permission(AllowedFor allowed, bool isLocal, bool mayset)
    {
        foreach (string name in (string[])["dir", "dbfilename", "tls-key-file", "tls-cert-file", "tls-ca-cert-dir"])
        {
            var options = new ServerOptions { EnableProtectedConfigs = allowed };
            string value = OptionTable.Find(name)!.Read(options);      // some have no effect yet: no other may be set
            Assert.Equal(mayset, OptionTable.TrySet(options, [(name, value)], isLocal).IsOk);
        }

        foreach (string name in (string[])["logfile", "aclfile", "pidfile", "unixsocket"])
            Assert.False(OptionTable.TrySet(Permissive(), [(name, "x")], isLocal).IsOk);
        Assert.False(OptionTable.TrySet(Permissive(), [("dbfilename", "../x")]).IsOk);
    }

    [Fact]
    public void Buffer_limits_keep_the_classes_that_were_not_named()
    {
        var options = new ServerOptions();
        Assert.True(OptionTable.TrySet(options,
            [("client-output-buffer-limit", "normal 1kb 2 3 pubsub 1mb 2 3")]).IsOk);
        Assert.Equal(
            [("client-output-buffer-limit", "normal 1024 2 3 slave 268435456 67108864 60 pubsub 1048576 2 3")],
            OptionTable.Match(options, ["client-output-buffer-limit"]));
        Assert.Equal(new OutputBufferLimit(1024, 2, 3), options.ClientOutputBufferLimit.Normal);
    }

    [Fact]
    public void A_copy_shares_nothing_with_its_original()
    {
        var options = OptionParser.Parse(["--port", "7000", "--save", "60 1"]).Options!;
        var copy = options.Copy();
        Assert.Null(OptionTable.TrySet(options, [("save", ""), ("timeout", "5")]).Error);
        Assert.Equal([("save", "60 1"), ("timeout", "0"), ("port", "7000")],
            OptionTable.Match(copy, ["save", "timeout", "port"]));
    }

    [Fact]
    public void Values_assigned_from_code_are_checked_on_request()
    {
        Assert.Null(new ServerOptions().Validate());
        Assert.Equal(
            "option 'port' (0..65535): argument must be between 0 and 65535 inclusive, got '70000'",
            new ServerOptions { Port = 70_000 }.Validate());
    }

    private static ServerOptions Permissive()
    {
        var options = new ServerOptions { EnableProtectedConfigs = AllowedFor.Yes };
        options.OnChange("port", _ => null);
        options.OnChange("tls-port", _ => null);
        options.OnChange("bind", _ => null);
        options.OnChange("tcp-backlog", _ => null);
        return options;
    }

    private static bool TryReadRange(string expects, out long min, out long max)
    {
        string[] ends = expects.Replace("bytes, ", "", StringComparison.Ordinal).Split(',')[0].Split("..");
        (min, max) = (0, 0);
        return ends.Length == 2 && long.TryParse(ends[0], out min) && long.TryParse(ends[1], out max);
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
