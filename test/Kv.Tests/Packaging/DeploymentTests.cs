using System.Text.Json;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using Kv.Tests.Http;
using Kv.Tests.Reports;
using Kv.Tests.Tidy;

namespace Kv.Tests.Packaging;

/// <summary>What packaging has for systemd, Kubernetes and Grafana fits the server.</summary>
public sealed partial class DeploymentTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-deploy-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void The_options_of_the_service_are_good_ones()
    {
        Check(Repository.Read("packaging/systemd/kv.conf"));
        // With what is a comment there: users uncomment it.
        Check(UncommentedOption().Replace(Repository.Read("packaging/systemd/kv.conf"), "$1")
            .Replace("/etc/kv/users.acl", Write("users.acl", ""), StringComparison.Ordinal));
        string start = Repository.Read("packaging/systemd/kv.service").Split('\n')
            .Single(line => line.StartsWith("ExecStart=", StringComparison.Ordinal));
        string[] words = start.Replace("/var/lib/kv", _directory, StringComparison.Ordinal).Split(' ');
        Assert.Equal("/etc/kv/kv.conf", words[1]);
        Check("", words[2..]);
    }

    [Fact]
    public void The_units_are_understood_by_systemd()
    {
        if (!File.Exists("/usr/bin/systemd-analyze")) Assert.Skip("no systemd-analyze");
        foreach (string name in (string[])["kv.service", "kv.socket"])
        {
            // Its program is where the test has one.
            string text = Repository.Read($"packaging/systemd/{name}")
                .Replace("/opt/kv/kv-server", KvProcess.Program, StringComparison.Ordinal);
            Write(name, text);
        }

        var run = ChildProcess.Run("/usr/bin/systemd-analyze",
            ["verify", "--man=no", Path.Combine(_directory, "kv.service"), Path.Combine(_directory, "kv.socket")]);
        Assert.DoesNotContain(_directory, run.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain("Unknown", run.Errors, StringComparison.Ordinal);
    }

    [Fact]
    public void The_pods_options_are_good_ones_and_its_probes_are_answered()
    {
        string[] lines = Repository.Read("packaging/kubernetes/kv.yaml").Split('\n');
        int begin = Array.FindIndex(lines, line => line.EndsWith("kv.conf: |", StringComparison.Ordinal)) + 1;
        Check(string.Join('\n', lines[begin..].TakeWhile(line => line.StartsWith("    ", StringComparison.Ordinal))));
        using var server = new MetricsServer("--requirepass", "secret");
        var probes = lines.Select(line => Probe().Match(line)).Where(match => match.Success).ToList();
        Assert.Equal(["/healthz", "/readyz"], probes.Select(match => match.Groups[1].Value));
        Assert.All(probes, match =>
            Assert.EndsWith(" 200 OK", HttpTalk.Get(server.EndPoint, match.Groups[1].Value).StatusLine,
                StringComparison.Ordinal));
    }

    [Fact]
    public void Every_metric_of_the_dashboard_is_on_the_page()
    {
        using var server = new MetricsServer();
        var page = PrometheusPage.Parse(HttpTalk.Get(server.EndPoint, "/metrics").Body);
        string text = Repository.Read("packaging/grafana/kv.json");
        using var board = JsonDocument.Parse(text);
        var expressions = board.RootElement.GetProperty("panels").EnumerateArray()
            .Where(panel => panel.TryGetProperty("targets", out _))
            .SelectMany(panel => panel.GetProperty("targets").EnumerateArray())
            .Select(target => target.GetProperty("expr").GetString()!).ToList();
        var names = expressions.SelectMany(expression => MetricName().Matches(expression)).Select(match => match.Value)
            .Distinct().ToList();
        Assert.True(names.Count > 40, "the dashboard has lost its panels");
        Assert.Equal([], names.Except(page.Types.Keys));
        // Latency, memory, hot keys, the collector.
        Assert.Equal([], new[] { "redis_commands_latencies_usec_bucket", "redis_latency_spike_duration_seconds",
            "redis_memory_used_bytes", "kv_hottest_key_ratio", "kv_gc_pause_seconds_total" }.Except(names));
        // A rate is that of a counter.
        Assert.All(expressions.SelectMany(expression => Rate().Matches(expression)), match =>
            Assert.Equal("counter", page.Types[match.Groups[1].Value]));
        Assert.Contains("label_values(redis_up, instance)", text, StringComparison.Ordinal);
    }

    // Those that go on until somebody stops them have tests of their own (Clients).
    [Fact]
    public void Every_command_of_the_operations_page_works()
    {
        string cli = Requires.Tool("redis-cli");
        using var kv = KvProcess.Start();
        using var client = kv.Connect();
        client.Ok("SET key value");
        string port = ((System.Net.IPEndPoint)kv.EndPoint).Port.ToString();
        var commands = Repository.Read("docs/operations.md").Split('\n').Select(line => line.TrimStart())
            .Where(line => line.StartsWith("redis-cli ", StringComparison.Ordinal))
            .Where(line => !line.Contains("--latency", StringComparison.Ordinal)
                && !line.Contains("--stat", StringComparison.Ordinal)).ToList();
        Assert.True(commands.Count > 10, "the page has lost its commands");
        foreach (string command in commands)
        {
            var run = ChildProcess.Run("/bin/sh", ["-c", $"{cli} -p {port} {command["redis-cli ".Length..]}"]);
            Assert.True(run.ExitCode == 0 && !run.Output.StartsWith("ERR ", StringComparison.Ordinal)
                && run.Errors.Length == 0, $"{command}\n{run.Output}{run.Errors}");
        }
    }

    private void Check(string text, params string[] options)
    {
        string file = Write("kv.conf", text);
        var check = ChildProcess.Run(KvProcess.Program, ["--check", file, .. options]);
        Assert.Equal((0, ""), (check.ExitCode, check.Errors));
        Assert.DoesNotContain("warning:", check.Output, StringComparison.Ordinal);
    }

    private string Write(string name, string text)
    {
        string path = Path.Combine(_directory, name);
        File.WriteAllText(path, text);
        return path;
    }

    // A comment that is one option, as "# requirepass ...": no sentence.
    [GeneratedRegex("^# ([a-z-]+ [^ ]+)$", RegexOptions.Multiline)]
    private static partial Regex UncommentedOption();

    [GeneratedRegex(@"httpGet: \{path: (\S+), port: metrics\}")]
    private static partial Regex Probe();

    [GeneratedRegex(@"\b(redis|kv)_\w+")]
    private static partial Regex MetricName();

    [GeneratedRegex(@"rate\(((redis|kv)_\w+)")]
    private static partial Regex Rate();
}
